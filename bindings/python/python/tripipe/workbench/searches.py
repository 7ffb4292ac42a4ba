"""What `tripipe tune` finds: docs/tune.md."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ._result import Report


@dataclass(frozen=True)
class Trial:
    """A candidate that was tried; times in seconds, None where there is none, for a `reason`."""

    parameters: str
    seconds: float | None
    """The median."""
    interval: tuple[float, float] | None
    """The 95 % confidence interval of the median."""
    min_seconds: float | None
    runs: int | None
    of_reference: float | None
    """The time relative to that of the library's own choice, which ran in turns with it."""
    operations_per_second: float | None
    estimate: float | None
    """The estimate before it was tried."""
    dropped: bool
    reason: str | None


@dataclass(frozen=True)
class Search:
    """The search for one problem on one device."""

    family: str
    subject: str
    device: str
    predicted: bool
    """Whether times are predicted."""
    strategy: str
    combinations: int
    points: int
    """Valid sets of parameters."""
    not_tried: int
    complete: bool
    stopped: str
    trials: tuple[Trial, ...]
    """In the order of their times."""

    @property
    def best(self) -> Trial:
        """The fastest candidate.

        :raises ValueError: if none has a time.
        """
        for trial in self.trials:
            if trial.seconds is not None:
                return trial
        raise ValueError(f"{self.subject} on {self.device}: no candidate has a time")


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
