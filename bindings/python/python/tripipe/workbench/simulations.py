"""What `tripipe simulate` predicts: docs/simulate.md."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from numpy.typing import NDArray

from ._result import Report
from ._schema import Change, Counter, Prediction, Refusal, Traffic

__all__ = ["Change", "Counter", "Prediction", "Refusal", "SimulationReport", "Traffic"]


@dataclass(frozen=True)
class SimulationReport(Report):
    """The result of :func:`tripipe.simulate`: one prediction for each kernel and GPU that can run it."""

    predictions: tuple[Prediction, ...]
    refusals: tuple[Refusal, ...]
    outputs: Mapping[int | str, NDArray[Any]] = field(default_factory=dict, compare=False, repr=False)
    """With `outputs=True`: what the kernel writes, by the positions of the arguments and by their names."""
    printed: str = ""
    """With `outputs=True`: the output of `printf`."""

    @property
    def ok(self) -> bool:
        """Whether all GPUs can run the kernel."""
        return not self.refusals

    @property
    def only(self) -> Prediction:
        """The only prediction.

        :raises ValueError: if there is another number of them.
        """
        if len(self.predictions) != 1:
            names = ", ".join(f"{each.kernel} on {each.gpu}" for each in self.predictions)
            raise ValueError(f"there are {len(self.predictions)} predictions ({names}); choose one of `predictions`")
        return self.predictions[0]

    @property
    def seconds(self) -> float:
        """The predicted time of the only prediction, in seconds."""
        return self.only.seconds

    def _rows(self) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = [
            {
                "kernel": each.kernel,
                "gpu": each.gpu,
                "family": each.family,
                "global_size": each.global_size,
                "local_size": each.local_size,
                "change": None,
                "gain": None,
                "seconds": each.seconds,
                "seconds_low": each.error_band[0] if each.error_band else math.nan,
                "seconds_high": each.error_band[1] if each.error_band else math.nan,
                "cycles": each.cycles,
                "limiter": each.limiter,
                "occupancy": each.occupancy,
                "registers": each.registers,
                "spill_bytes": each.spill_bytes,
                **{f"busy_{name}": share for name, share in each.shares.items()},
                **{counter.name: counter.value for counter in each.counters},
                "error": None,
            }
            for each in self.predictions
        ]
        rows += [
            {
                "kernel": each.kernel,
                "gpu": each.gpu,
                "family": each.family,
                "global_size": each.global_size,
                "local_size": change.local_size or each.local_size,
                "change": change.change,
                "gain": change.gain,
                "seconds": change.seconds,
                "seconds_low": change.error_band[0] if change.error_band else math.nan,
                "seconds_high": change.error_band[1] if change.error_band else math.nan,
                "cycles": change.cycles,
                "limiter": change.limiter,
                "error": change.error,
            }
            for each in self.predictions
            for change in each.what_if
        ]
        return rows + [{"kernel": each.kernel, "gpu": each.gpu, "error": each.error} for each in self.refusals]
