"""What `tripipe analyze` estimates: docs/analyze.md."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Union

from ._result import Report

Cost = Union[float, str]
"""Cycles of a core for a work-item: a number, or a text such as `12 + 7 n` where a trip count is not known."""


@dataclass(frozen=True)
class PathCost:
    """The cost of a path through the kernel by column, such as `A` and `LS`."""

    columns: Mapping[str, Cost]
    messages: Cost
    bound: str
    """The columns that take longest."""


@dataclass(frozen=True)
class NextStep:
    """How many registers fewer allow how many threads."""

    fewer: int
    threads: int


@dataclass(frozen=True)
class Registers:
    """Registers of a work-item, and the threads of a core that they allow."""

    used: int
    needed: int
    """Without spilling."""
    max: int
    width_bits: int
    uniform: int
    spill_bytes: int
    peak_line: int | None
    threads: int
    max_threads: int
    next_step: NextStep | None


@dataclass(frozen=True)
class Loop:
    """A loop, and the cost of one iteration by column."""

    line: int | None
    depth: int
    trips: Cost | None
    symbol: str | None
    follows_from: str | None
    iteration: Mapping[str, Cost]


@dataclass(frozen=True)
class Line:
    """The cost of a line of the source by column."""

    file: str
    line: int
    text: str | None
    columns: Mapping[str, Cost]


@dataclass(frozen=True)
class MemoryAccess:
    """A load or store: strides and alignment in bytes; `lines` are cache lines that a warp touches."""

    file: str | None
    line: int | None
    called_from: int | None
    memory: str | None
    space: str
    writes: bool
    bytes: int
    stride_bytes: int | None
    iteration_stride_bytes: int | None
    lines: float
    lines_known: bool
    used: float
    """The share of these lines that the warp uses."""
    coalesced: bool
    align: int


@dataclass(frozen=True)
class LaunchBound:
    """What a launch has to do; with a prediction, a lower bound of its time, and how busy each resource is."""

    work_items: int
    milliseconds: float | None
    dram_bytes: float | None
    busy: Mapping[str, float]


@dataclass(frozen=True)
class QuickPrediction:
    """The predicted time, as :func:`tripipe.simulate` predicts it."""

    seconds: float
    error_band: tuple[float, float]
    cycles: float
    limiter: str
    local_size: tuple[int, int, int]


@dataclass(frozen=True)
class Advice:
    """What to change; `gain` is a share of the cycles, `seconds` the predicted time if it is followed."""

    code: str
    severity: str
    file: str | None
    line: int | None
    called_from: int | None
    message: str
    fix: str
    gain: float | None
    gain_together: float | None
    seconds: float | None

    def __str__(self) -> str:
        where = f"{self.file}:{self.line}: " if self.line else ""
        return f"{where}{self.severity}[{self.code}]: {self.message}"


@dataclass(frozen=True)
class Analysis:
    """What a kernel costs on a GPU."""

    program: str
    kernel: str
    gpu: str
    family: str
    emitted: Mapping[str, int]
    """Words, tuples or instructions of each pipe."""
    total: PathCost
    shortest_path: PathCost
    longest_path: PathCost
    registers: Registers
    narrow_arithmetic: float
    idle_lanes: float
    stack_bytes: int
    local_bytes: int
    uniform_instructions: int
    loops: tuple[Loop, ...]
    lines: tuple[Line, ...]
    accesses: tuple[MemoryAccess, ...]
    launch: LaunchBound | None
    prediction: QuickPrediction | None
    prediction_missing: str | None
    advice: tuple[Advice, ...]
    left_out: tuple[str, ...]

    @property
    def bound(self) -> str:
        """The pipe that bounds the most expensive path."""
        return self.longest_path.bound


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
