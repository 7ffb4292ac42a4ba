"""The workbench for authors of OpenCL kernels: find errors, estimate costs, predict times, tune.

>>> import numpy, tripipe
>>> x = numpy.ones(1024, numpy.float32)
>>> report = tripipe.check("scale.cl", [x, numpy.zeros_like(x), 2.0], global_size=1024)
>>> report.ok, report.findings
(True, ())

Each function runs the command `tripipe`, which is a part of this package, and returns its result as a frozen dataclass;
`print` shows the text report. No GPU is needed, and OpenCL only to tune on a device of it. `program` is a path of
OpenCL C, of SPIR-V (`.spv`), or of a launch file (`.toml`, `.sim`), or OpenCL C itself.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy

from . import _launch
from ._command import flag
from ._decode import decode, documents
from ._errors import ArgumentError, CommandError, FormatError, MissingCommandError, MissingToolError
from ._launch import Arguments, Launch, Program, ProgramLike, Sizes, commas, sizes
from ._tuning import tune
from .analyses import Advice, Analysis, AnalysisReport
from .arguments import Argument, Buffer, Image, Local, Sampler
from .findings import CheckReport, Finding, Location
from .grids import Cell, Grid, simulate_grid
from .improvements import Improved, ImprovementReport, ImprovementStep, RefusedRewrite
from .searches import Search, Trial, TuneReport
from .simulations import Counter, Prediction, Refusal, SimulationReport

__all__ = [
    "Advice",
    "Analysis",
    "AnalysisReport",
    "Argument",
    "ArgumentError",
    "Arguments",
    "Buffer",
    "Cell",
    "CheckReport",
    "CommandError",
    "Counter",
    "Finding",
    "FormatError",
    "Grid",
    "Image",
    "Improved",
    "ImprovementReport",
    "ImprovementStep",
    "Launch",
    "Local",
    "Location",
    "MissingCommandError",
    "MissingToolError",
    "Prediction",
    "Program",
    "ProgramLike",
    "Refusal",
    "RefusedRewrite",
    "Sampler",
    "Search",
    "SimulationReport",
    "Sizes",
    "Trial",
    "TuneReport",
    "analyze",
    "check",
    "improve",
    "simulate",
    "simulate_grid",
    "tune",
]

_CHECK_VERSION = 2
_ANALYZE_VERSION = 2
_VERSION = 1


def check(
    program: ProgramLike,
    arguments: Arguments | None = None,
    *,
    kernel: str | None = None,
    global_size: Sizes | None = None,
    local_size: Sizes | None = None,
    offset: Sizes | None = None,
    gpu: str | None = None,
    defines: Mapping[str, object] | None = None,
    include: Sequence[ProgramLike] = (),
    options: str = "",
    schedules: int = 1,
    allow: Sequence[str] = (),
    deny: Sequence[str] = (),
    threads: int | None = None,
    limit_steps: int | None = None,
    limit_memory: int | None = None,
) -> CheckReport:
    """Run a kernel in the simulator with all checks, and report what is wrong and where.

    :param arguments: All arguments in order, or some by name; those left out are guessed, as sizes are.
    :param gpu: The GPU whose limits apply, such as ``"mali-g77"``.
    :param schedules: The number of execution orders to try.
    :param allow: Codes of checks to leave out, or ``"all"``, which leaves those of `deny`.
    :param limit_memory: The most bytes of all buffers and images.
    :raises CommandError: if the kernel cannot be compiled or launched.
    """
    flags = [*flag("gpu", _text("gpu", gpu)), *flag("schedules", schedules), *flag("threads", threads)]
    flags += [*_each("allow", allow), *_each("deny", deny)]
    flags += [*flag("limit-steps", limit_steps), *flag("limit-memory", limit_memory)]
    with _launch.opened(program, defines, include, options) as (opened, folder):
        launch = _launch.launch_file(
            opened,
            folder,
            arguments,
            kernel=kernel,
            global_size=global_size,
            local_size=local_size,
            offset=offset,
        )
        text, json = _run(opened, folder, ["check", str(launch.path), *flags], launch)
    (document,) = documents(json, "check", _CHECK_VERSION)
    return decode(CheckReport, {**document, "text": text, "json": json}, "check")


def analyze(
    program: ProgramLike,
    arguments: Arguments | None = None,
    *,
    kernel: str | None = None,
    global_size: Sizes | None = None,
    local_size: Sizes | None = None,
    gpu: str | Sequence[str] | None = None,
    defines: Mapping[str, object] | None = None,
    include: Sequence[ProgramLike] = (),
    options: str = "",
    allow: Sequence[str] = (),
) -> AnalysisReport:
    """Estimate what a kernel costs on GPUs, without running it.

    :param arguments: As for :func:`check`; integers by name suffice, to make costs of loops numbers.
    :param kernel: All kernels by default.
    :param gpu: GPUs, or ``"all"``; by default one of each family.
    :param allow: Codes of advice to leave out.
    :raises CommandError: if the kernel cannot be compiled.
    """
    flags = _each("allow", allow)
    with _launch.opened(program, defines, include, options) as (opened, folder):
        target, launch, more = _target(opened, folder, arguments, kernel, global_size, local_size, None)
        text, json = _run(opened, folder, ["analyze", target, *_gpus(gpu), *more, *flags], launch)
    found = documents(json, "analyze", _ANALYZE_VERSION)
    analyses = tuple(decode(Analysis, document, f"analyze[{at}]") for at, document in enumerate(found))
    return AnalysisReport(text, json, analyses)


def simulate(
    program: ProgramLike,
    arguments: Arguments | None = None,
    *,
    kernel: str | None = None,
    global_size: Sizes | None = None,
    local_size: Sizes | None = None,
    offset: Sizes | None = None,
    gpu: str | Sequence[str] | None = None,
    defines: Mapping[str, object] | None = None,
    include: Sequence[ProgramLike] = (),
    options: str = "",
    what_if: str | Sequence[str] = (),
    counters: bool = False,
    outputs: bool = False,
    exact: bool = False,
    limit_steps: int | None = None,
) -> SimulationReport:
    """Predict how long a kernel takes on GPUs, what limits it, and what changes would gain.

    :param arguments: As for :func:`check`. Without arrays, memory is guessed.
    :param gpu: GPUs, or ``"all"``; by default one of each family.
    :param what_if: Changes to price, such as ``"clock=800"`` and ``"local=16,8"``.
    :param counters: Also the counters of the GPU's vendor.
    :param outputs: Also run the kernel in the simulator, for what it writes; `arguments` are needed then.
    :param exact: Play every work-group.
    :param limit_steps: The most instructions that a work-group may run.
    :raises CommandError: if the kernel cannot be compiled, or if none of the GPUs can run it.
    """
    flags = ["--counters"] if counters else []
    flags += ["--exact"] if exact else []
    flags += [*flag("limit-steps", limit_steps), *_each("what_if", what_if)]
    with _launch.opened(program, defines, include, options) as (opened, folder):
        if outputs and (arguments is None or opened.is_launch):
            raise ValueError("outputs: give the arguments of the kernel, whose contents are needed to run it")
        target, launch, more = _target(
            opened, folder, arguments, kernel, global_size, local_size, offset, dump=outputs
        )
        command = ["simulate", target, *_gpus(gpu), *more, *flags]
        text, json = _run(opened, folder, command, launch, partial=True)
        found = documents(json, "simulate", _VERSION)
        predictions, refusals = [], []
        for at, document in enumerate(found):
            if document.get("error") is None:
                predictions.append(decode(Prediction, document, f"simulate[{at}]"))
            else:
                refusals.append(decode(Refusal, document, f"simulate[{at}]"))
        report = SimulationReport(text, json, tuple(predictions), tuple(refusals))
        return _with_outputs(report, opened, launch) if outputs and launch else report


def improve(
    program: ProgramLike,
    arguments: Arguments | None = None,
    *,
    kernel: str | None = None,
    global_size: Sizes | None = None,
    local_size: Sizes | None = None,
    offset: Sizes | None = None,
    gpu: str | Sequence[str] | None = None,
    defines: Mapping[str, object] | None = None,
    include: Sequence[ProgramLike] = (),
    options: str = "",
    each: bool = False,
    allow_rounding: bool = False,
    limit: int | None = None,
) -> ImprovementReport:
    """Rewrite a kernel to a faster one, step by step; each step is priced by the model of time and verified.

    :param arguments: As for :func:`check`. Without arrays, memory is guessed.
    :param global_size: The launch that is priced; needed unless `program` is a launch file.
    :param gpu: GPUs, for all of which one kernel is made; by default one of each family.
    :param each: Make a kernel for each GPU.
    :param allow_rounding: Allow rewrites that round floating-point results differently.
    :param limit: Seconds after which nothing more is tried.
    :raises CommandError: if the kernel cannot be compiled, or one of the GPUs cannot run it.
    """
    flags = [*(["--each"] if each else []), *(["--allow-rounding"] if allow_rounding else []), *flag("limit", limit)]
    with _launch.opened(program, defines, include, options) as (opened, folder):
        target, launch, more = _target(opened, folder, arguments, kernel, global_size, local_size, offset)
        text, json = _run(opened, folder, ["improve", target, *_gpus(gpu), *more, *flags], launch)
    found = documents(json, "improve", _VERSION)
    ladders = tuple(decode(Improved, document, f"improve[{at}]") for at, document in enumerate(found))
    return ImprovementReport(text, json, ladders)


def _with_outputs(report: SimulationReport, program: Program, launch: Launch) -> SimulationReport:
    """The report with what the kernel writes, from a run in the simulator."""
    output = program.run(["run-kernel", str(launch.path), "--format", "json"], launch)
    found = documents(output.text, "run-kernel", _VERSION)
    arrays: dict[int | str, Any] = {}
    for document in found[1:]:
        index, name = document.get("argument"), document.get("name")
        written = launch.written.get(index) if isinstance(index, int) else None
        if written is None or not isinstance(name, str) or not isinstance(index, int):
            raise FormatError(f"run-kernel: argument {index!r} was not asked for")
        if document.get("written") is False:
            continue
        arrays[index] = arrays[name] = written.read()
    return dataclasses.replace(report, outputs=arrays, printed=str(found[0].get("printed", "")))


def _run(
    program: Program, folder: Path, arguments: Sequence[str], launch: Launch | None, *, partial: bool = False
) -> tuple[str, str]:
    """The text report and the JSON of the command."""
    report = folder / "report.txt"
    flags = ["--format", "json", "--text", str(report)]
    output = program.run([*arguments, *flags], launch, partial=partial)
    text = report.read_text(encoding="utf-8") if report.is_file() else ""
    return program.visible(text), output.text


def _target(
    program: Program,
    folder: Path,
    arguments: Arguments | None,
    kernel: str | None,
    global_size: Sizes | None,
    local_size: Sizes | None,
    offset: Sizes | None,
    *,
    dump: bool = False,
) -> tuple[str, Launch | None, list[str]]:
    """What is analysed, its launch file if there are arguments other than integers by name, and flags."""
    numbers = arguments if isinstance(arguments, Mapping) else {} if arguments is None else None
    whole = (int, numpy.integer)
    if numbers is not None and not dump and offset is None and all(isinstance(v, whole) for v in numbers.values()):
        flags = flag("kernel", _text("kernel", kernel))
        for name, given in [("global", global_size), ("local", local_size)]:
            extents = sizes(f"{name}_size", given)
            flags += flag(name, commas(extents) if extents else None)
        for name, value in numbers.items():
            flags += flag("arg", f"{name}={int(value)}" if isinstance(value, whole) else None)
        return str(program.path), None, flags
    launch = _launch.launch_file(
        program,
        folder,
        arguments,
        kernel=kernel,
        global_size=global_size,
        local_size=local_size,
        offset=offset,
        dump=dump,
    )
    return str(launch.path), launch, []


def _gpus(gpu: str | Sequence[str] | None) -> list[str]:
    if gpu is None:
        return []
    flags = _each("gpu", gpu)
    if not flags:
        raise ValueError("gpu: no GPU is named; leave it out for one of each family")
    return flags


def _text(name: str, value: str | None) -> str | None:
    if value is not None and not isinstance(value, str):
        raise TypeError(f"{name}: {type(value).__name__} instead of a text")
    return value


def _each(name: str, values: str | Sequence[str]) -> list[str]:
    """A flag for each of the texts in an argument, or for the only one."""
    given = [values] if isinstance(values, str) else values
    if not isinstance(given, Sequence) or not all(isinstance(each, str) for each in given):
        raise TypeError(f"{name}: {values!r}; want a text, or a sequence of texts")
    return [each for value in given for each in flag(name.replace("_", "-"), value)]
