"""What `tripipe analyze` estimates: docs/analyze.md."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ._result import Report
from ._schema import (
    Advice,
    Analysis,
    Cost,
    ImageUse,
    LaunchBound,
    Line,
    Loop,
    MemoryAccess,
    NextStep,
    PathCost,
    QuickPrediction,
    Registers,
)

__all__ = [
    "Advice",
    "Analysis",
    "AnalysisReport",
    "Cost",
    "ImageUse",
    "LaunchBound",
    "Line",
    "Loop",
    "MemoryAccess",
    "NextStep",
    "PathCost",
    "QuickPrediction",
    "Registers",
]


@dataclass(frozen=True)
class AnalysisReport(Report):
    """The result of :func:`tripipe.analyze`: one analysis for each kernel and GPU."""

    analyses: tuple[Analysis, ...]

    @property
    def advice(self) -> tuple[Advice, ...]:
        """The advice of all analyses."""
        return tuple(advice for analysis in self.analyses for advice in analysis.advice)

    @property
    def ok(self) -> bool:
        """Whether no advice is an error, such as a work-group that is too large for the GPU."""
        return all(advice.severity != "error" for advice in self.advice)

    def _rows(self) -> list[dict[str, Any]]:
        return [
            {
                "kernel": each.kernel,
                "gpu": each.gpu,
                "family": each.family,
                "bound": each.bound,
                **{f"cycles_{column}": cost for column, cost in each.longest_path.columns.items()},
                "registers": each.registers.used,
                "spill_bytes": each.registers.spill_bytes,
                "threads": each.registers.threads,
                "local_bytes": each.local_bytes,
                "seconds": each.prediction.seconds if each.prediction else None,
                "advice": ", ".join(sorted({advice.code for advice in each.advice})),
            }
            for each in self.analyses
        ]
