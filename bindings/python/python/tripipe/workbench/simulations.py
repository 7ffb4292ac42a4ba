"""What `tripipe simulate` predicts: docs/simulate.md."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from numpy.typing import NDArray

from ._result import Report


@dataclass(frozen=True)
class Traffic:
    """Cache lines that were requested and that hit, bytes of DRAM, and translations, of the groups that were played."""

    l1_accesses: int
    l1_hits: int
    texture_accesses: int
    texture_hits: int
    l2_accesses: int
    l2_hits: int
    dram_read_bytes: int
    dram_written_bytes: int
    tlb_misses: int


@dataclass(frozen=True)
class Counter:
    """A counter under the name of the GPU's vendor."""

    name: str
    title: str
    group: str
    unit: str
    value: float | None
    basis: str
    """`exact`, `approximated`, `constant` or `equation`: docs/counters.md."""


@dataclass(frozen=True)
class Change:
    """What a change would gain: the time before divided by the time after."""

    change: str
    gain: float | None = None
    results: float | None = None
    """The results that it computes, as a share of those without the change."""
    seconds: float | None = None
    limiter: str | None = None
    error: str | None = None
    """Why the GPU cannot run it then."""


@dataclass(frozen=True)
class Prediction:
    """The predicted time of a launch on a GPU, without the host's launch; all times in seconds."""

    program: str
    kernel: str
    gpu: str
    family: str
    guessed: bool
    """Whether memory and missing arguments are guessed."""
    seconds: float
    error_band: tuple[float, float]
    """The lowest and highest time at which a measurement is expected."""
    cycles: float
    launch_seconds: float
    watchdog_seconds: float
    """The time after which drivers stop a launch."""
    limiter: str
    sentence: str
    """What limits the launch, and what that means."""
    shares: Mapping[str, float]
    """The share of the time that each ceiling is busy, 0 to 1."""
    registers: int
    register_bits: int
    spill_bytes: int
    threads: int
    max_threads: int
    occupancy: float
    groups: int
    played_groups: int
    sampling_error: float
    played_traffic: Traffic
    local_chosen_by: str
    left_out: tuple[str, ...]
    what_if: tuple[Change, ...]
    global_size: tuple[int, int, int]
    local_size: tuple[int, int, int]
    counters: tuple[Counter, ...] = ()

    def counter(self, name: str) -> float:
        """The value of a counter.

        :raises KeyError: if there is none of this name with a value.
        """
        for each in self.counters:
            if each.name == name and each.value is not None:
                return each.value
        raise KeyError(name if self.counters else f"{name}: simulate with counters=True")


@dataclass(frozen=True)
class Refusal:
    """A GPU that cannot run the kernel, and why."""

    kernel: str
    gpu: str
    error: str


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
                "seconds": each.seconds,
                "seconds_low": each.error_band[0],
                "seconds_high": each.error_band[1],
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
        return rows + [{"kernel": each.kernel, "gpu": each.gpu, "error": each.error} for each in self.refusals]
