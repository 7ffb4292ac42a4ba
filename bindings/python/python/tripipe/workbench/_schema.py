"""Results of the command `tripipe`. Written by `cargo xtask results` from docs/results.schema.json."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Union

from ._methods import (
    AdviceMethods,
    AnalysisMethods,
    CheckReportMethods,
    FindingMethods,
    PredictionMethods,
    SearchMethods,
)

KEYS: dict[str, dict[str, str]] = {
    "Change": {"local_size": "local"},
    "CheckedLaunch": {"global_size": "global", "local_size": "local"},
    "Improved": {"global_size": "global"},
    "ImprovementStep": {"local_size": "local"},
    "Prediction": {"global_size": "global", "local_size": "local"},
    "QuickPrediction": {"local_size": "local"},
    "Refusal": {"global_size": "global"},
    "Search": {"trials": "candidates"},
    "WorkItem": {"id": "global"},
}
"""The keys of each class's fields that have another name."""


@dataclass(frozen=True)
class CheckedLaunch:
    """A launch that was run with checks."""

    kernel: str
    """The kernel."""
    global_size: tuple[int, int, int]
    """Work-items in each dimension."""
    local_size: tuple[int, int, int]
    """Work-items of a work-group in each dimension."""
    seconds: float | None
    """How long the checks took, in seconds: all orders together, without compiling and loading."""


@dataclass(frozen=True)
class Location:
    """A location in a source."""

    file: str
    """The file."""
    line: int
    """The line, from 1."""
    column: int | None
    """The column in bytes, from 1."""
    text: str | None
    """The text of the line."""
    first_line: int | None
    """The number of the first of `lines`."""
    lines: tuple[str, ...]
    """The line with up to two lines on either side."""


@dataclass(frozen=True)
class WorkItem:
    """A work-item: `get_global_id`, `get_local_id` and `get_group_id`, each of x, y and z."""

    id: tuple[int, int, int]
    """Its global ID."""
    local: tuple[int, int, int]
    """Its ID in its work-group."""
    group: tuple[int, int, int]
    """The ID of its work-group."""


@dataclass(frozen=True)
class Memory:
    """The memory that a finding is about; sizes and offsets in bytes."""

    object: str
    """The argument or variable."""
    space: str
    """Its address space: `private`, `local`, `global`, `constant` or `generic`."""
    object_bytes: int
    """Its size in bytes."""
    offset: int
    """The start of the access in the object, in bytes; negative before its start."""
    bytes: int
    """Bytes of the access."""


@dataclass(frozen=True)
class Related:
    """A further location, such as the other side of a race."""

    message: str
    """What happened there."""
    location: Location | None
    """Where that is."""
    work_item: WorkItem | None
    """The work-item that executed it."""


@dataclass(frozen=True)
class Finding(FindingMethods):
    """Something wrong with an instruction, however often it occurred."""

    code: str
    """The code of its rule."""
    severity: str
    """`error`, `warning` or `note`."""
    message: str
    """What is wrong."""
    fix: str
    """How to fix it; may be empty."""
    kernel: str
    """The kernel."""
    location: Location | None
    """Where it is."""
    instruction: str | None
    """The instruction in the text form of the IR."""
    count: int
    """How often it occurred."""
    work_item: WorkItem | None
    """The first work-item that it occurred in."""
    memory: Memory | None
    """The memory that it is about."""
    related: tuple[Related, ...]
    """Further locations, such as the other side of a race."""


@dataclass(frozen=True)
class CheckReport(CheckReportMethods):
    """What is wrong with launches."""

    launches: tuple[CheckedLaunch, ...]
    """The launches that were run, in order."""
    checks: tuple[str, ...]
    """The codes that were looked for."""
    left_out: tuple[str, ...]
    """What could not be checked, one sentence each."""
    errors: int
    """The number of findings that are errors: undefined by the specification."""
    warnings: int
    """The number of findings that are warnings: probably unintended, or correct on some devices only."""
    notes: int
    """The number of findings that are notes."""
    findings: tuple[Finding, ...]
    """The findings, the most severe first."""

Cost = Union[float, str]
"""Cycles of a core for a work-item: a number, or a text such as `12 + 7 n` where a trip count is not known."""


@dataclass(frozen=True)
class PathCost:
    """The cost of a path through the kernel by column, such as `A` and `LS`."""

    columns: Mapping[str, Cost]
    """Cycles by column."""
    messages: Cost
    """Messages of the load-store unit, each counted once whatever its lines."""
    bound: str
    """The columns that take longest, separated by commas."""


@dataclass(frozen=True)
class NextStep:
    """How many registers fewer allow how many threads."""

    fewer: int
    """Registers fewer."""
    threads: int
    """Threads of a core then."""


@dataclass(frozen=True)
class Registers:
    """Registers of a work-item, and the threads of a core that they allow."""

    used: int
    """Registers that the compiler uses."""
    needed: int
    """Registers that it would need without spilling."""
    max: int
    """The most that a work-item can have."""
    width_bits: int
    """Bits of a register."""
    uniform: int
    """Registers of values that all work-items share."""
    spill_bytes: int
    """Bytes that a work-item spills."""
    peak_line: int | None
    """The line where most registers are in use."""
    threads: int
    """Threads that fit a core."""
    max_threads: int
    """Threads that would fit with fewer registers."""
    next_step: NextStep | None
    """What fewer registers would allow."""

TripCount = Union[int, str]
"""How often a loop runs: a number, or a text such as `n - 1`."""


@dataclass(frozen=True)
class Loop:
    """A loop, and the cost of one iteration by column."""

    line: int | None
    """The first line of its header."""
    depth: int
    """The number of loops around it, and itself."""
    trips: TripCount | None
    """How often it runs: a number, or a text such as `n - 1`; the most where work-items differ."""
    least_trips: int | None
    """The fewest times that it runs."""
    symbol: str | None
    """The symbol for a number of times that is not known."""
    follows_from: str | None
    """What that number depends on, if that is a sum of several values."""
    iteration: Mapping[str, Cost]
    """Cycles of one iteration by column."""


@dataclass(frozen=True)
class Line:
    """The cost of a line of the source by column."""

    file: str
    """The file."""
    line: int
    """The line, from 1."""
    text: str
    """Its text; empty if it is not available."""
    columns: Mapping[str, Cost]
    """Cycles by column."""


@dataclass(frozen=True)
class MemoryAccess:
    """A load or store: strides and alignment in bytes; `lines` are cache lines that a warp touches."""

    file: str | None
    """The file."""
    line: int | None
    """The line, from 1."""
    called_from: int | None
    """The line of the call, for code of a function that the kernel calls."""
    memory: str
    """The argument or variable."""
    space: str
    """Its address space."""
    writes: bool
    """Whether it is a store."""
    bytes: int
    """Bytes of a work-item."""
    stride_bytes: int | None
    """Bytes from one work-item to the next, if that is a constant."""
    stride_argument: str | None
    """The argument that the stride is a multiple of."""
    lines_if_one: int | None
    """Cache lines of a warp if that argument is 1."""
    iteration_stride_bytes: int | None
    """Bytes from one iteration of the innermost loop to the next, if that is a constant."""
    lines: int
    """Cache lines that a warp touches."""
    lines_known: bool
    """Whether that number is known, not assumed."""
    used: float
    """The share of these lines that the warp uses."""
    coalesced: bool
    """Whether the accesses of a warp are as few as its bytes allow."""
    align: int
    """The alignment of the address in bytes."""


@dataclass(frozen=True)
class ImageUse:
    """A read or write of an image."""

    line: int | None
    """The line, from 1."""
    image: str
    """The argument."""
    writes: bool
    """Whether it is a write."""


@dataclass(frozen=True)
class LaunchBound:
    """What a launch has to do; with a prediction, a lower bound of its time, and how busy each resource is."""

    work_items: int
    """Work-items."""
    milliseconds: float | None
    """The lower bound in milliseconds."""
    dram_bytes: int
    """Bytes of buffers that are read or written, each counted once."""
    busy: Mapping[str, float]
    """The share of the time that each resource is busy, 0 to 1."""


@dataclass(frozen=True)
class QuickPrediction:
    """The predicted time, as `tripipe simulate` predicts it."""

    local_size: tuple[int, int, int]
    """Work-items of a work-group in each dimension."""
    seconds: float
    """Seconds, without the host's launch."""
    error_band: tuple[float, float] | None
    """The lowest and the highest time at which a measurement is expected, in seconds; `null` if no measurement of the GPU's family is published, so that it is not known."""
    cycles: float
    """Clocks of the GPU."""
    limiter: str
    """What limits it: a resource, `latency` or `launch`."""
    local_chosen_by: str
    """Who chose the work-group: `launch`, `kernel` or `driver`."""
    warning: str | None
    """What a driver may do with a work-group of more work-items than the registers of this model allow; `null` for all others."""


@dataclass(frozen=True)
class AdviceRewrite:
    """A rewrite that does what advice proposes. It is not verified."""

    name: str
    """Its code."""
    title: str
    """What it changes."""
    host: tuple[str, ...]
    """What the host's code must change, in sentences."""


@dataclass(frozen=True)
class Advice(AdviceMethods):
    """What to change."""

    code: str
    """The code of its rule."""
    severity: str
    """`error`, `warning` or `note`."""
    file: str | None
    """The file."""
    line: int | None
    """The line, from 1."""
    called_from: int | None
    """The line of the call, for code of a function that the kernel calls."""
    message: str
    """What was found."""
    fix: str
    """What to do."""
    gain: float | None
    """The share of the cycles that it saves."""
    gain_together: float | None
    """The share of the cycles that all advice of this kind saves together."""
    seconds: float | None
    """The predicted time in seconds if it is followed."""
    rewrite: AdviceRewrite | None
    """The rewrite that was applied to know what it saves; `null` if none was. `tripipe analyze --fix` applies and verifies it."""
    by_hand: bool
    """Whether no rewrite follows it."""


@dataclass(frozen=True)
class Analysis(AnalysisMethods):
    """What a kernel costs on a GPU."""

    kernel: str
    """The kernel."""
    gpu: str
    """The name of the GPU."""
    family: str
    """The family of the GPU, such as `bifrost`."""
    emitted: Mapping[str, int]
    """Words, tuples or instructions of each pipe."""
    total: PathCost
    """The cost of all code, each instruction counted once."""
    shortest_path: PathCost
    """The cost of the cheapest path."""
    longest_path: PathCost
    """The cost of the most expensive path."""
    longest_path_at_most: Mapping[str, Cost]
    """An upper bound of the most expensive path by column."""
    registers: Registers
    """Registers of a work-item, and the threads that they allow."""
    narrow_arithmetic: float | None
    """The share of the arithmetic that works on 16 bits or less; `null` without arithmetic."""
    idle_lanes: float | None
    """The share of the lanes of vector arithmetic that compute nothing; `null` where that does not apply."""
    stack_bytes: int
    """Bytes of a work-item's stack."""
    local_bytes: int
    """Bytes of local memory of a work-group."""
    uniform_instructions: int
    """Instructions that are executed once for all work-items."""
    loops: tuple[Loop, ...]
    """The loops."""
    lines: tuple[Line, ...]
    """The cost of each line of the source."""
    accesses: tuple[MemoryAccess, ...]
    """Loads and stores."""
    images: tuple[ImageUse, ...]
    """Reads and writes of images."""
    program: str
    """The program: the name of its source."""
    launch: LaunchBound | None
    """What the launch has to do, if its size is known."""
    prediction: QuickPrediction | None
    """The predicted time, if the launch is known."""
    prediction_missing: str | None
    """Why there is no predicted time."""
    advice: tuple[Advice, ...]
    """What to change, the largest gain first."""
    left_out: tuple[str, ...]
    """What the cost does not include, one sentence each."""


@dataclass(frozen=True)
class Traffic:
    """Cache lines that were requested and that hit, bytes of DRAM, and translations, of the groups that were played."""

    l1_accesses: int
    """Lines that loads and stores asked the L1 for."""
    l1_hits: int
    """How many of these lines were in the L1."""
    texture_accesses: int
    """Lines that image reads asked the texture cache for."""
    texture_hits: int
    """How many of these lines were in the texture cache."""
    l2_accesses: int
    """Lines that the L2 was asked for."""
    l2_hits: int
    """How many of these lines were in the L2."""
    dram_read_bytes: int
    """Bytes read from DRAM."""
    dram_written_bytes: int
    """Bytes written to DRAM."""
    tlb_misses: int
    """Translations of addresses that the TLB did not have."""


@dataclass(frozen=True)
class GpuPeaks:
    """What a GPU could do at most."""

    operations_per_second: float
    """Operations of float32 per second; a multiply-add counts as two."""
    dram_bytes_per_second: float
    """Bytes of DRAM per second."""
    pipes: Mapping[str, float]
    """Instructions of a work-item per second, by the short name of their pipe; a multiply-add is one."""


@dataclass(frozen=True)
class Change:
    """What a change would gain: the time before divided by the time after."""

    local_size: tuple[int, int, int] | None
    """Work-items of a work-group in each dimension."""
    seconds: float | None
    """Seconds then."""
    error_band: tuple[float, float] | None
    """The lowest and the highest time at which a measurement is expected, in seconds; `null` if no measurement of the GPU's family is published, so that it is not known."""
    cycles: float | None
    """Clocks of the GPU."""
    limiter: str | None
    """What limits it then."""
    error: str | None
    """Why the GPU cannot run it then."""
    gain: float | None
    """The time before divided by the time after."""
    results: float | None
    """The bytes that the launch stores, as a share of those without the change."""
    change: str
    """The change as it was requested: `clock=800`."""


@dataclass(frozen=True)
class Window:
    """A part of a launch that was played."""

    start_seconds: float
    """Seconds from the start of the launch to its start."""
    end_seconds: float
    """Seconds from the start of the launch to its end."""
    first_group: int
    """The number of its first work-group."""
    first_sample: int
    """The index of its first sample."""
    samples: int
    """The number of its samples."""


@dataclass(frozen=True)
class Sample:
    """An interval of time."""

    start_seconds: float
    """Seconds from the start of the launch to its start."""
    seconds: float
    """Its length in seconds."""
    shares: Mapping[str, float]
    """The share of it that each resource is busy, 0 to 1."""
    threads: float
    """Work-items on all cores, in the mean."""
    l2_bytes: float
    """Bytes between the cores and the L2."""
    dram_read_bytes: float
    """Bytes read from DRAM."""
    dram_written_bytes: float
    """Bytes written to DRAM."""


@dataclass(frozen=True)
class ActivityLine:
    """What a line of the source costs in a launch."""

    file: str | None
    """The file; `null` for code without a line."""
    line: int
    """The line, from 1."""
    text: str | None
    """Its text, if it is available."""
    clocks: Mapping[str, float]
    """Clocks of each resource."""
    waited_clocks: float
    """Clocks that work-items waited for its results."""
    bytes: float
    """Bytes that work-items load and store."""
    l2_bytes: float
    """Bytes between the cores and the L2."""
    dram_bytes: float
    """Bytes from and to DRAM."""


@dataclass(frozen=True)
class Activity:
    """What happened in a launch, and when. A launch of which only parts were played has a window for each of them."""

    counts: Mapping[str, float]
    """Counts of the whole launch, by name."""
    played_counts: Mapping[str, float]
    """Counts of the work-groups that were played."""
    windows: tuple[Window, ...]
    """The parts that were played."""
    samples: tuple[Sample, ...]
    """Intervals of time, in order."""
    lines: tuple[ActivityLine, ...]
    """Lines of the source, those with most clocks first."""


@dataclass(frozen=True)
class Counter:
    """A counter under the name of the GPU's vendor."""

    name: str
    """The name in the vendor's interface."""
    source: str | None
    """The counter of the hardware that it is made of."""
    title: str
    """The name in the vendor's tools."""
    group: str
    """The group in the vendor's tools."""
    unit: str
    """The unit of the value."""
    value: float | None
    """The value; `null` where it has none."""
    basis: str
    """`exact`, `approximated`, `constant` or `equation`: docs/counters.md."""
    derived: str
    """How it is derived."""


@dataclass(frozen=True)
class CountersOf:
    """Whose counters they are."""

    names: str
    """Who gave the names."""
    product: str
    """The product whose counters they are."""
    nearest: bool
    """Whether that is only the nearest one."""


@dataclass(frozen=True)
class MissingCounter:
    """A counter that is not predicted."""

    name: str
    """The name in the vendor's interface."""
    title: str
    """The name in the vendor's tools."""
    reason: str
    """Why."""


@dataclass(frozen=True)
class EnergyPart:
    """What a counter contributes to the energy."""

    counter: str
    """The counter."""
    joules: float
    """Joules."""


@dataclass(frozen=True)
class LaunchEnergy:
    """The energy of a launch, estimated from its counters as the vendor's driver does."""

    joules: float | None
    """Joules without DRAM and static power; `null` if nobody published what counters cost on this GPU."""
    watts: float | None
    """Watts while the kernel runs."""
    gflops_per_watt: float | None
    """10^9 floating-point operations per second and watt; `null` without an estimate or operations."""
    parts: tuple[EnergyPart, ...]
    """The part of each counter in joules, largest first."""
    missing: tuple[str, ...]
    """Counters of the driver's model that are not predicted."""
    sentence: str
    """The estimate with its basis and source, or why there is none, in words."""


@dataclass(frozen=True)
class Prediction(PredictionMethods):
    """The predicted time of a launch on a GPU, without the host's launch; all times in seconds."""

    gpu: str
    """The name of the GPU."""
    family: str
    """The family of the GPU, such as `bifrost`."""
    kernel: str
    """The kernel."""
    program: str
    """The program: the name of its source."""
    global_size: tuple[int, int, int]
    """Work-items in each dimension."""
    guessed: bool
    """Whether memory and missing arguments are guessed."""
    left_out: tuple[str, ...]
    """What the prediction leaves out, one sentence each."""
    local_size: tuple[int, int, int]
    """Work-items of a work-group in each dimension."""
    seconds: float
    """Seconds."""
    error_band: tuple[float, float] | None
    """The lowest and the highest time at which a measurement is expected, in seconds; `null` if no measurement of the GPU's family is published, so that it is not known."""
    cycles: float
    """Clocks of the GPU."""
    limiter: str
    """What limits it: `A`, `FMA`, `CVT`, `SFU`, `ALU`, `EFU`, `LS`, `T`, `local`, `start`, `port`, `L2`, `TLB`, `DRAM`, `latency` or `launch`."""
    local_chosen_by: str
    """Who chose the work-group: `launch`, `kernel` or `driver`."""
    shares: Mapping[str, float]
    """The share of the time that each ceiling is busy, by the names of `limiter`, 0 to 1."""
    occupancy: float
    """Threads in flight as a share of those that a core can have, in the mean."""
    registers: int
    """Registers of a work-item."""
    warning: str | None
    """What a driver may do with a work-group of more work-items than the registers of this model allow; `null` for all others."""
    register_bits: int
    """Bits of a register."""
    spill_bytes: int
    """Bytes that a work-item spills."""
    threads: int
    """Threads of a core that the registers allow."""
    max_threads: int
    """Threads that a core can have."""
    launch_seconds: float
    """Seconds that the host needs for the launch, in addition."""
    watchdog_seconds: float
    """Seconds after which drivers stop a launch."""
    groups: int
    """Work-groups."""
    played_groups: int
    """Work-groups that were played."""
    sampling_error: float
    """The relative uncertainty of the time from playing only a part; 0 if all was played."""
    played_traffic: Traffic
    """Traffic of the work-groups that were played."""
    sentence: str
    """What limits the launch, and what that means."""
    peaks: GpuPeaks | None
    """What the GPU could do at most."""
    what_if: tuple[Change, ...]
    """What changes would gain, the shortest time for all results first."""
    activity: Activity | None = None
    """What happened when, if that was wanted."""
    counters: tuple[Counter, ...] = ()
    """Counters under the names of the GPU's vendor, if they were wanted."""
    counters_of: CountersOf | None = None
    """Whose counters they are."""
    missing_counters: tuple[MissingCounter, ...] | None = None
    """Counters that are not predicted."""
    graphics_counters: int | None = None
    """The number of counters that only graphics moves."""
    energy: LaunchEnergy | None = None
    """The energy, if it was wanted."""


@dataclass(frozen=True)
class Refusal:
    """A GPU that cannot run the kernel, and why."""

    gpu: str
    """The name of the GPU."""
    family: str
    """The family of the GPU, such as `bifrost`."""
    kernel: str
    """The kernel."""
    program: str
    """The program: the name of its source."""
    global_size: tuple[int, int, int]
    """Work-items in each dimension."""
    guessed: bool
    """Whether memory and missing arguments are guessed."""
    left_out: tuple[str, ...]
    """What the prediction leaves out, one sentence each."""
    error: str
    """The reason."""


@dataclass(frozen=True)
class CpuLoad:
    """Cores that a run keeps busy on average: seconds of CPU time divided by seconds that pass."""

    cores: float
    """All threads of the process: 1.98 on two busy cores, almost 0 while a GPU works."""
    calling_thread: float
    """The calling thread alone: at most 1."""


@dataclass(frozen=True)
class Trial:
    """A candidate that was tried; times in seconds, `null` where there is none, for a `reason`."""

    parameters: str
    """Its parameters."""
    seconds: float | None
    """The median."""
    interval: tuple[float, float] | None
    """The 95 % confidence interval of the median."""
    min_seconds: float | None
    """The shortest time."""
    runs: int | None
    """The number of runs."""
    of_reference: float | None
    """The time relative to that of the library's own choice, which ran in turns with it."""
    cpu_load: CpuLoad | None
    """How busy the host's CPU was beside it."""
    operations_per_second: float | None
    """Arithmetic operations per second."""
    estimate: float | None
    """The estimate before it was tried."""
    dropped: bool
    """Whether it was given up after one slow run."""
    reason: str | None
    """Why it has no time."""


@dataclass(frozen=True)
class Search(SearchMethods):
    """The search for one problem on one device."""

    family: str
    """`gemm`, `filter`, `quantised` or `kernel`."""
    subject: str
    """The problem: `f32 512x512x512`."""
    device: str
    """The device."""
    predicted: bool
    """Whether times are predicted."""
    strategy: str
    """`exhaustive`, `random`, `predicted` or `learned`."""
    combinations: int
    """Sets of parameters, valid or not."""
    points: int
    """Valid sets of parameters."""
    checks: int
    """Sets of parameters that were checked to find these."""
    not_tried: int
    """Candidates that were not tried."""
    from_the_log: int
    """Outcomes that a log had."""
    dangerous: int
    """Candidates left out because they crashed or hung on this driver."""
    complete: bool
    """Whether nothing better is expected."""
    stopped: str
    """Why it ended: `complete`, `converged`, `time`, `count`, `interrupted` or `dangerous`."""
    trials: tuple[Trial, ...]
    """In the order of their times."""


@dataclass(frozen=True)
class ImprovementStep:
    """A step on a GPU."""

    name: str
    """The rewrite's code, `original` for the original."""
    title: str
    """What it changes; empty for the original."""
    why: str
    """Why that is faster; empty for the original."""
    gpu: str
    """The GPU."""
    seconds: float
    """The predicted time in seconds."""
    error_band: tuple[float, float] | None
    """The lowest and the highest time at which a measurement is expected, in seconds; `null` if no measurement of the GPU's family is published, so that it is not known."""
    speedup: float
    """The original's time divided by this."""
    registers: int
    """Registers of a work-item."""
    spill_bytes: int
    """Bytes of registers that a work-item spills."""
    words: int
    """Words of the code, of all pipes."""
    limiter: str
    """What limits it: a pipe, a part of the memory, `latency` or `launch`."""
    local_size: tuple[int, int, int]
    """The work-group size."""
    verified: bool
    """Whether it computes what the original does: on all launches on which both ran."""
    launches: int
    """The number of these launches; 0 for the original."""
    values: int
    """The number of values that were compared."""
    given_launch: bool
    """Whether the given launch was among them."""
    relative_error: float
    """The most that a floating-point result may deviate: this share of its value plus this share of the mean magnitude in its memory; 0 where results are the same."""


@dataclass(frozen=True)
class RefusedRewrite:
    """A rewrite that was not applied."""

    name: str
    """The rewrite's code."""
    title: str
    """What it would change."""
    depth: int
    """Rewrites that were applied before it."""
    kind: str
    """`slower`, `wrong` (a counter-example was found), `rounding` (results would be rounded differently), `impossible` (it does not compile, or a GPU cannot run it) or `late` (the time limit was reached before it was verified)."""
    reason: str
    """Why, in a sentence."""


@dataclass(frozen=True)
class Improved:
    """A kernel that was rewritten for some GPUs."""

    kernel: str
    """The kernel."""
    program: str
    """The program's name."""
    gpus: tuple[str, ...]
    """The GPUs."""
    global_size: tuple[int, int, int]
    """Work-items of the original launch; of several launches, those of the first."""
    launches: int
    """The number of launches, with repetitions; 1 unless the launch file has a list of them."""
    steps: tuple[ImprovementStep, ...]
    """The original and the steps: one for each GPU, one step after the other. The first is the original."""
    speedup: float
    """The original's time divided by that of the last step, on the GPU where that is the least; 1 if nothing gains."""
    conditions: tuple[str, ...]
    """What must hold for the results to be the same, in sentences."""
    host: tuple[str, ...]
    """What the host's code must change, in sentences."""
    refused: tuple[RefusedRewrite, ...]
    """What was tried and not applied."""
    tried: int
    """Kernels that were priced."""
    out_of_time: bool
    """Whether the time limit ended the search."""
    is_rough: bool
    """Whether times are predictions of fewer steps than those of `simulate`, as the time limit left none for more."""
    notes: tuple[str, ...]
    """What else is to be said of the times, in sentences."""
    original: str
    """The source of the original."""
    source: str
    """The source after the last step."""
    diff: str
    """The difference between both in the unified format; empty if they are the same."""
    launch: str | None
    """The launch file after the last step; `null` if the launch is the original's."""
