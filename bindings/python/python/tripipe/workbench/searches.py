"""What `tripipe tune` finds: docs/tune.md."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ._result import Report
from ._schema import Search, Trial

__all__ = ["Search", "Trial", "TuneReport"]


@dataclass(frozen=True)
class TuneReport(Report):
    """The result of :func:`tripipe.tune`: one search for each problem and device."""

    searches: tuple[Search, ...]

    @property
    def only(self) -> Search:
        """The only search.

        :raises ValueError: if there is another number of them.
        """
        if len(self.searches) != 1:
            names = ", ".join(f"{each.subject} on {each.device}" for each in self.searches)
            raise ValueError(f"there are {len(self.searches)} searches ({names}); choose one of `searches`")
        return self.searches[0]

    @property
    def best(self) -> Trial:
        """The fastest candidate of the only search."""
        return self.only.best

    @property
    def trials(self) -> tuple[Trial, ...]:
        """The candidates of all searches."""
        return tuple(trial for search in self.searches for trial in search.trials)

    def _rows(self) -> list[dict[str, Any]]:
        return [
            {
                "subject": search.subject,
                "device": search.device,
                "parameters": trial.parameters,
                "seconds": trial.seconds,
                "min_seconds": trial.min_seconds,
                "runs": trial.runs,
                "of_reference": trial.of_reference,
                "operations_per_second": trial.operations_per_second,
                "estimate": trial.estimate,
                "reason": trial.reason,
            }
            for search in self.searches
            for trial in search.trials
        ]
