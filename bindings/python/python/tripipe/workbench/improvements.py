"""What `tripipe improve` makes of a kernel: docs/improve.md."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from ._result import Report
from ._schema import Improved, ImprovementStep, RefusedRewrite

__all__ = ["Improved", "ImprovementReport", "ImprovementStep", "RefusedRewrite"]


@dataclass(frozen=True)
class ImprovementReport(Report):
    """The result of :func:`tripipe.improve`: one ladder for all GPUs, or one for each."""

    ladders: tuple[Improved, ...]

    @property
    def only(self) -> Improved:
        """The only ladder.

        :raises ValueError: if there is another number of them.
        """
        if len(self.ladders) != 1:
            names = ", ".join(" and ".join(each.gpus) for each in self.ladders)
            raise ValueError(f"there are {len(self.ladders)} ladders ({names}); choose one of `ladders`")
        return self.ladders[0]

    @property
    def source(self) -> str:
        """The new source of the only ladder; the original if nothing gains."""
        return self.only.source

    @property
    def speedup(self) -> float:
        """The predicted speed-up of the only ladder; 1 if nothing gains."""
        return self.only.speedup

    def _rows(self) -> list[dict[str, Any]]:
        return [
            {
                "kernel": ladder.kernel,
                "step": step.name,
                "gpu": step.gpu,
                "seconds": step.seconds,
                "seconds_low": step.error_band[0] if step.error_band else math.nan,
                "seconds_high": step.error_band[1] if step.error_band else math.nan,
                "speedup": step.speedup,
                "registers": step.registers,
                "spill_bytes": step.spill_bytes,
                "limiter": step.limiter,
                "verified": step.verified,
                "why": step.why,
            }
            for ladder in self.ladders
            for step in ladder.steps
        ]
