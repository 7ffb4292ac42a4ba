"""The workbench: kernels with one planted bug, results computed by NumPy, and the JSON of the command itself."""

from __future__ import annotations

import dataclasses
import json
import math
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy
import pytest
import tripipe
from tripipe import workbench
from tripipe.workbench import _command
from tripipe.workbench._decode import KEYS, decode
from tripipe.workbench._schema import WorkItem

pytestmark = pytest.mark.skipif(
    not os.environ.get("TRIPIPE_REQUIRE_CLANG"), reason="OpenCL C needs clang (TRIPIPE_REQUIRE_CLANG=1)"
)

SCALE = """\
kernel void scale(global const float* from, global float* to, float factor) {
    const int i = get_global_id(0);
    to[i] = from[i] * factor;
}
"""
NUMBERS = numpy.arange(64, dtype=numpy.float32)

# A kernel, its arguments, the bug, and the line that has it. The bug is at the same line in every reading of OpenCL C.
OUTSIDE = (
    SCALE.replace("to[i]", "to[i + 1]"),
    lambda: [NUMBERS, numpy.zeros_like(NUMBERS), 2.0],
    "out-of-bounds-write",
    3,
)
RACE = (
    """\
kernel void sum(global const int* from, global int* to, local int* shared) {
    const int i = get_local_id(0);
    shared[i] = from[get_global_id(0)];
    to[get_global_id(0)] = shared[(i + 1) % get_local_size(0)];
}
""",
    lambda: [numpy.arange(64, dtype=numpy.int32), numpy.zeros(64, numpy.int32), workbench.Local(64 * 4)],
    "data-race",
    4,
)
UNINITIALISED = (
    """\
kernel void pick(global const float* from, global float* to) {
    const int i = get_global_id(0);
    float value;
    if (i < 10) value = from[i];
    to[i] = value;
}
""",
    lambda: [NUMBERS, numpy.zeros_like(NUMBERS)],
    "uninitialised-value",
    5,
)


@pytest.mark.parametrize(
    ("source", "arguments", "code", "line"), [OUTSIDE, RACE, UNINITIALISED], ids=["outside", "race", "uninitialised"]
)
def test_planted_bugs_are_found_at_their_lines(
    source: str, arguments: Callable[[], list[Any]], code: str, line: int
) -> None:
    report = tripipe.check(source, arguments(), global_size=64, local_size=64)
    assert [(finding.code, finding.line) for finding in report.findings if finding.severity == "error"] == [
        (code, line)
    ]
    finding = report.findings[0]
    assert not report.ok
    assert report.errors == 1
    assert finding.location is not None
    assert finding.location.text == source.splitlines()[line - 1]
    assert f"kernel.cl:{line}: error[{code}]: " in str(finding)
    assert code in str(report)
    assert f"kernel.cl:{line}:" in str(report)


def test_a_correct_kernel_has_no_findings() -> None:
    report = tripipe.check(SCALE, [NUMBERS, numpy.zeros_like(NUMBERS), 2.0], global_size=64, schedules=3)
    assert report.ok
    assert report.findings == ()
    assert report.launches[0].global_size == (64, 1, 1)
    # Arguments by name; the others are guessed.
    assert tripipe.check(SCALE, {"factor": 3.0}, global_size=32).ok


def test_a_buffer_without_contents_must_be_written_first() -> None:
    source = "kernel void halve(global float* to) { to[get_global_id(0)] *= 0.5f; }\n"
    written = [workbench.Buffer(shape=64, dtype="float32")]
    found = tripipe.check(source, written, global_size=64).findings
    assert [finding.code for finding in found] == ["uninitialised-value"]
    assert tripipe.check(source, [numpy.ones(64, numpy.float32)], global_size=64).ok


def test_no_temporary_path_is_shown(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    reports = [
        tripipe.check(OUTSIDE[0], OUTSIDE[1](), global_size=64),
        tripipe.analyze(SCALE, {"factor": 2.0}, gpu="mali-g77", global_size=64),
        tripipe.simulate(SCALE, gpu="mali-g77", global_size=64),
    ]
    for report in reports:
        assert "kernel.cl" in report.json
        for text in (report.text, report.json, str(report), repr(report), report.to_html()):
            assert str(tmp_path) not in text
            assert text
    with pytest.raises(workbench.CommandError, match=r"^kernel\.cl does not compile: kernel\.cl:3:") as caught:
        tripipe.check(SCALE.replace("factor;", "factr;"), OUTSIDE[1](), global_size=64)
    assert str(tmp_path) not in caught.value.errors
    assert "factr" in caught.value.errors
    assert list(tmp_path.iterdir()) == []


def own_json(*arguments: str) -> list[dict[str, Any]]:
    """What the command itself writes."""
    output = subprocess.run(
        [str(_command.command_path()), *arguments, "--format", "json"], capture_output=True, text=True, check=False
    )
    assert output.returncode in (0, 1), output.stderr
    return [json.loads(line) for line in output.stdout.splitlines()]


def as_json(value: Any) -> Any:
    """A result of the package as the command writes it."""
    if dataclasses.is_dataclass(value):
        return {
            KEYS.get(type(value).__name__, {}).get(field.name, field.name): as_json(getattr(value, field.name))
            for field in dataclasses.fields(value)
        }
    if isinstance(value, (tuple, list)):
        return [as_json(each) for each in value]
    if isinstance(value, dict):
        return {key: as_json(each) for key, each in value.items()}
    return value


def agree(found: Any, wanted: Any, where: str) -> None:
    """Checks all keys that the package has; new keys of the command may be unknown to it."""
    if isinstance(found, dict):
        for key, value in found.items():
            if key in wanted or value not in (None, [], {}):
                agree(value, wanted[key], f"{where}.{key}")
    elif isinstance(found, list):
        assert len(found) == len(wanted), where
        for at, (own, other) in enumerate(zip(found, wanted)):
            agree(own, other, f"{where}[{at}]")
    else:
        assert found == wanted, where


@pytest.fixture
def scale(tmp_path: Path) -> Path:
    path = tmp_path / "scale.cl"
    path.write_text(SCALE)
    return path


def test_analyses_are_those_of_the_command(scale: Path) -> None:
    report = tripipe.analyze(scale, gpu=["mali-g77", "adreno-650"], global_size=4096, local_size=64)
    flags = ["--gpu", "mali-g77", "--gpu", "adreno-650", "--global", "4096", "--local", "64"]
    wanted = own_json("analyze", str(scale), *flags)
    assert [analysis.gpu for analysis in report.analyses] == ["Mali-G77", "Adreno 650"]
    agree([as_json(analysis) for analysis in report.analyses], wanted, "analyze")
    # One load, one store, four bytes each.
    accesses = [(access.memory, access.writes, access.bytes) for access in report.analyses[0].accesses]
    assert accesses == [("from", False, 4), ("to", True, 4)]
    table = report.to_pandas()
    assert list(table["gpu"]) == ["Mali-G77", "Adreno 650"]
    assert list(table["bound"]) == [analysis["longest_path"]["bound"] for analysis in wanted]


def test_predictions_are_those_of_the_command(scale: Path) -> None:
    report = tripipe.simulate(scale, gpu="mali-g77", global_size=1 << 16, what_if=["clock=400"], counters=True)
    wanted = own_json(
        "simulate", str(scale), "--gpu", "mali-g77", "--global", "65536", "--what-if", "clock=400", "--counters"
    )
    agree([as_json(each) for each in report.predictions], wanted, "simulate")
    only = report.only
    assert report.seconds == only.seconds == wanted[0]["seconds"]
    assert only.error_band is not None
    assert only.error_band[0] <= only.seconds <= only.error_band[1]
    (change,) = only.what_if
    assert change.seconds is not None
    assert change.gain == pytest.approx(only.seconds / change.seconds)
    counter = wanted[0]["counters"][0]
    assert only.counter(counter["name"]) == counter["value"]
    row = report.to_pandas().iloc[0]
    assert (row["gpu"], row["seconds"], row["error"]) == ("Mali-G77", only.seconds, None)


def test_a_family_without_published_times_has_no_band(scale: Path) -> None:
    report = tripipe.simulate(scale, gpu="mali-g76", global_size=1 << 16)
    assert report.only.error_band is None
    row = report.to_pandas().iloc[0]
    assert math.isnan(row["seconds_low"]) and math.isnan(row["seconds_high"])


def test_ladders_are_those_of_the_command(tmp_path: Path) -> None:
    source = tmp_path / "columns.cl"
    source.write_text(
        "kernel void columns(global const float* a, global float* b) {\n"
        "    size_t i = get_global_id(1) + get_global_size(1) * get_global_id(0);\n"
        "    b[i] = 2.0f * a[i];\n"
        "}\n"
    )
    report = tripipe.improve(source, gpu="mali-t604", global_size=(512, 256))
    wanted = own_json("improve", str(source), "--gpu", "mali-t604", "--global", "512,256")
    agree([as_json(each) for each in report.ladders], wanted, "improve")
    # Rows are read as rows.
    assert report.speedup > 1.1
    assert "get_global_size(0) *" in report.source
    table = report.to_pandas()
    steps = list(table["step"])
    assert steps[0] == "original" and "swap-dimensions" in steps
    assert table["verified"].all()


def test_outputs_are_what_the_kernel_writes() -> None:
    # The second argument is not `const`, and only read.
    source = """\
kernel void weigh(global const float* a, global float* b, global float* sum, global int* count, float factor) {
    const int i = get_global_id(0);
    sum[i] = a[i] * factor + b[i];
    if (sum[i] > 20) atomic_inc(count);
    if (i == 0) printf("%d", 42);
}
"""
    other = NUMBERS[::-1].copy()
    arguments = [NUMBERS, other, numpy.zeros_like(NUMBERS), numpy.zeros(1, numpy.int32), 0.5]
    report = tripipe.simulate(source, arguments, gpu="mali-g77", global_size=64, outputs=True)
    wanted = NUMBERS * numpy.float32(0.5) + other
    assert set(report.outputs) == {2, 3, "sum", "count"}
    assert numpy.array_equal(report.outputs["sum"], wanted)
    assert report.outputs["sum"] is report.outputs[2]
    assert report.outputs["count"].tolist() == [(wanted > 20).sum()]
    assert report.printed == "42"
    assert not arguments[2].any(), "the arguments themselves do not change"


def test_outputs_of_images_structs_and_types() -> None:
    source = """\
typedef struct { int number; float part; } pair;
kernel void turn(read_only image2d_t from, write_only image2d_t to, global pair* pairs, global uchar4* colours) {
    const int2 at = (int2)(get_global_id(0), get_global_id(1));
    write_imagef(to, (int2)(at.y, at.x), read_imagef(from, at) * 2.0f);
    const int i = at.y * get_global_size(0) + at.x;
    pairs[i].part = pairs[i].number * 0.5f;
    colours[i] = (uchar4)(i, i + 1, i + 2, 255);
}
"""
    picture = numpy.arange(12, dtype=numpy.float32).reshape(3, 4)
    pairs = numpy.zeros(12, [("number", "i4"), ("part", "f4")])
    pairs["number"] = numpy.arange(12)
    arguments = [
        workbench.Image(picture, order="r", access="read"),
        workbench.Image(shape=(4, 3), order="r", access="write"),
        pairs,
        numpy.zeros((12, 4), numpy.uint8),
    ]
    outputs = tripipe.simulate(source, arguments, gpu="mali-g77", global_size=(4, 3), outputs=True).outputs
    assert set(outputs) == {1, 2, 3, "to", "pairs", "colours"}
    assert numpy.array_equal(outputs["to"], picture.T * 2)
    assert numpy.array_equal(outputs["pairs"]["part"], numpy.arange(12) / 2)
    assert outputs["pairs"].dtype == pairs.dtype
    assert outputs["colours"][5].tolist() == [5, 6, 7, 255]


def test_gpus_that_cannot_run_a_kernel_are_refusals() -> None:
    source = (
        "kernel __attribute__((reqd_work_group_size(512, 1, 1))) void f(global int* a) { a[get_global_id(0)] = 1; }\n"
    )
    report = tripipe.simulate(source, gpu=["mali-t604", "mali-g77"], global_size=4096)
    # A Mali-T604 has at most 256 work-items in a work-group.
    assert [refusal.gpu for refusal in report.refusals] == ["Mali-T604"]
    assert [each.gpu for each in report.predictions] == ["Mali-G77"]
    assert not report.ok
    assert len(report.to_pandas()) == 2


def test_tuning_finds_the_fastest_of_a_tiny_space(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    report = tripipe.tune(
        "filter", "box:3", device="virtual:mali-g77", size=(48, 64), strategy="random", candidates=4, log=log
    )
    search = report.only
    assert (search.family, search.predicted, search.strategy) == ("filter", True, "random")
    assert search.points > 4
    timed = [trial for trial in report.trials if trial.seconds is not None]
    # What the log holds is what was tried.
    logged = [json.loads(line) for line in log.read_text().splitlines()]
    assert {trial.parameters for trial in timed} <= {entry["parameters"] for entry in logged if "parameters" in entry}
    assert report.best.seconds == min(trial.seconds for trial in timed)
    table = report.to_pandas()
    assert len(table) == len(report.trials)
    assert table["seconds"].min() == report.best.seconds
    # One candidate alone, by its parameters.
    one = tripipe.tune(
        "filter", "box:3", device="virtual:mali-g77", size=(48, 64), also=[report.best.parameters], only=True
    )
    assert [trial.parameters for trial in one.trials] == [report.best.parameters]
    # Times on the timeline of the virtual GPU are whole nanoseconds.
    assert one.best.seconds == pytest.approx(report.best.seconds, rel=1e-3)


def test_launch_files_have_their_own_arguments(tmp_path: Path, scale: Path) -> None:
    launch = tmp_path / "scale.toml"
    launch.write_text(
        "source = 'scale.cl'\nglobal = 8\n[[argument]]\nbuffer = 'float'\ncount = 8\nfill = 1\naccess = 'read'\n"
        "[[argument]]\nbuffer = 'float'\ncount = 7\n[[argument]]\nvalue = 2\n"
    )
    (finding,) = tripipe.check(launch).findings
    assert (finding.code, finding.count) == ("out-of-bounds-write", 1)
    assert finding.file == str(scale)
    with pytest.raises(ValueError, match=r"^global_size: .*scale\.toml is a launch file, which has its own"):
        tripipe.check(launch, global_size=8)


ARGUMENTS = [NUMBERS, NUMBERS.copy(), 2.0]
BAD = [
    (lambda: tripipe.check(3, ARGUMENTS, global_size=64), TypeError, "program: int is not a path"),
    (
        lambda: tripipe.check("nope.cl", ARGUMENTS, global_size=64),
        FileNotFoundError,
        "program: there is no file nope.cl",
    ),
    (lambda: tripipe.check("", ARGUMENTS, global_size=64), ValueError, "program: '' is a folder"),
    (lambda: tripipe.check(SCALE, ARGUMENTS), ValueError, "global_size: the number of work-items is needed"),
    (lambda: tripipe.check(SCALE, ARGUMENTS, global_size=0), ValueError, "global_size: 0 has a number below 1"),
    (lambda: tripipe.check(SCALE, ARGUMENTS, global_size="64"), TypeError, "global_size: '64'; want a number"),
    (lambda: tripipe.check(SCALE, ARGUMENTS, global_size=(1, 2, 3, 4)), TypeError, r"global_size: \(1, 2, 3, 4\)"),
    (lambda: tripipe.check(SCALE, ARGUMENTS, global_size=64, local_size=-1), ValueError, "local_size: -1"),
    (lambda: tripipe.check(SCALE, ARGUMENTS, global_size=64, kernel="f"), ValueError, "kernel: .* it has scale"),
    (
        lambda: tripipe.check(SCALE, ARGUMENTS, global_size=64, gpu="g99"),
        ValueError,
        'gpu: no GPU model is called "g99"',
    ),
    (lambda: tripipe.check(SCALE, ARGUMENTS, global_size=64, gpu=99), TypeError, "gpu: int instead of a text"),
    (
        lambda: tripipe.check(SCALE, ARGUMENTS, global_size=64, deny=["data-rac"]),
        ValueError,
        "deny: .*did you mean data-race",
    ),
    (lambda: tripipe.check(SCALE, ARGUMENTS, global_size=64, allow=3), TypeError, "allow: 3; want"),
    (lambda: tripipe.check(SCALE, ARGUMENTS, global_size=64, schedules=0), ValueError, "schedules: 0 is not in"),
    (lambda: tripipe.check(SCALE, ARGUMENTS, global_size=64, threads=-1), ValueError, "threads: -1 is not in"),
    (
        lambda: tripipe.check(SCALE, ARGUMENTS, global_size=64, limit_memory=10),
        ValueError,
        r"arguments\[0\]: .*limit of 10 bytes",
    ),
    (
        lambda: tripipe.check(SCALE, ARGUMENTS[:2], global_size=64),
        ValueError,
        "arguments: kernel `scale` takes 3 .* there are 2",
    ),
    (
        lambda: tripipe.check(SCALE, [NUMBERS, "x", 2.0], global_size=64),
        TypeError,
        r"arguments\[1\]: str; want an array",
    ),
    (lambda: tripipe.check(SCALE, [2.0, NUMBERS, 2.0], global_size=64), ValueError, r"arguments\[0\]: .* not a value"),
    (
        lambda: tripipe.check(SCALE, [NUMBERS + 1j, NUMBERS, 2.0], global_size=64),
        TypeError,
        r"arguments\[0\]: elements of complex",
    ),
    (
        lambda: tripipe.check(SCALE, [NUMBERS[:0], NUMBERS, 2.0], global_size=64),
        ValueError,
        r"arguments\[0\]: shape \(0,\)",
    ),
    (
        lambda: tripipe.check(SCALE, {"factr": 2.0}, global_size=64),
        ValueError,
        "arguments: .*no argument 'factr'; it has from, to, factor",
    ),
    (lambda: tripipe.check(SCALE, {"factor": NUMBERS}, global_size=64), ValueError, "factor: .*value of type `float`"),
    (lambda: tripipe.check(SCALE, ARGUMENTS, global_size=64, defines={"a b": 1}), ValueError, "defines: 'a b' is not"),
    (
        lambda: tripipe.check(SCALE[:-3], ARGUMENTS, global_size=64),
        workbench.CommandError,
        r"kernel\.cl does not compile: kernel\.cl:3",
    ),
    (lambda: tripipe.analyze(SCALE, gpu=[]), ValueError, "gpu: no GPU is named"),
    (lambda: tripipe.analyze(SCALE, gpu="g99"), ValueError, 'gpu: no GPU model is called "g99"'),
    (lambda: tripipe.analyze(SCALE, allow="f"), ValueError, "allow: no finding has the code `f`"),
    (lambda: tripipe.analyze(SCALE, {"n": 2}), ValueError, "n: kernel `scale` has no such argument"),
    (
        lambda: tripipe.simulate(SCALE, gpu="mali-g77", what_if="clok=3"),
        ValueError,
        "what_if: `clok`: .*did you mean `clock`",
    ),
    (lambda: tripipe.simulate(SCALE, gpu="mali-g77", outputs=True), ValueError, "outputs: give the arguments"),
    (lambda: tripipe.tune("gem", 64), ValueError, "family: 'gem'; there are gemm"),
    (lambda: tripipe.tune("gemm", "64x64"), ValueError, "problem: size `64x64`: want MxNxK"),
    (lambda: tripipe.tune("gemm", 64, border="wrap"), ValueError, "border: only for filters"),
    (lambda: tripipe.tune("gemm", 64, formats="q4_0"), ValueError, "formats: only for quantised"),
    (lambda: tripipe.tune("gemm", 64, elements="f33"), ValueError, "elements: 'f33'.*possible values: f32"),
    (lambda: tripipe.tune("gemm", 64, device="virtual:g99"), ValueError, "device: no GPU model"),
    (lambda: tripipe.tune("gemm", 64, strategy="best"), ValueError, "strategy: want exhaustive"),
    (lambda: tripipe.tune("gemm", 64, limit=-1), ValueError, "limit: want a number of seconds above 0"),
    (lambda: tripipe.tune("filter", (64, 64)), TypeError, "problem: tuple is not a chain"),
    (lambda: tripipe.tune("filter", "sobl"), ValueError, "problem: there is no filter `sobl`; did you mean sobel"),
    (lambda: workbench.Buffer(), ValueError, "Buffer: give either contents or a shape"),
    (lambda: workbench.Image(NUMBERS, kind="2d"), ValueError, r"Image: shape \(64,\) of contents"),
    (lambda: workbench.Image(shape=(4, 4), kind="5d"), ValueError, "kind: '5d'; there are 1d"),
]


@pytest.mark.parametrize(("call", "kind", "message"), BAD)
def test_bad_input_names_the_argument(call: Callable[[], Any], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=f"(?s)^{message}"):
        call()


def test_a_missing_compiler_is_an_error_that_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRIPIPE_CLANG", "/nowhere/clang")
    monkeypatch.setenv("TRIPIPE_CACHE", "off")
    with pytest.raises(workbench.MissingToolError, match="/nowhere/clang"):
        tripipe.analyze(SCALE, gpu="mali-g77")


def test_the_command_is_that_of_the_package(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("TRIPIPE_COMMAND", raising=False)
    path = _command.command_path()
    assert path.parent == Path(sys.executable).parent, "the wheel has the command"
    version = subprocess.run([path, "--version"], capture_output=True, text=True, check=True).stdout
    assert version.split()[1] == _command.package_version()

    monkeypatch.setenv("TRIPIPE_COMMAND", str(tmp_path))
    with pytest.raises(workbench.MissingCommandError, match=r"^TRIPIPE_COMMAND: .* is not an executable file"):
        tripipe.analyze(SCALE)
    for version, message in [("9.9", "has version 9.9, and this package"), ("", "is not the command of Tripipe")]:
        other = tmp_path / f"tripipe-{version}"
        other.write_text(f"#!/bin/sh\necho tripipe {version}\n")
        other.chmod(0o755)
        monkeypatch.setenv("TRIPIPE_COMMAND", str(other))
        with pytest.raises(workbench.MissingCommandError, match=message):
            tripipe.analyze(SCALE)


def test_other_json_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    real = _command.command_path()
    other = tmp_path / "tripipe"
    other.write_text(f'#!/bin/sh\n[ "$1" = --version ] && exec {real} --version\necho "$ANSWER"\n')
    other.chmod(0o755)
    monkeypatch.setenv("TRIPIPE_COMMAND", str(other))
    answers = [
        ("", "wrote no JSON"),
        ("{", "is not JSON"),
        ("[]", "is list instead of an object"),
        ('{"command":"check","version":1}', "command is 'check' instead of 'analyze'"),
        ('{"command":"analyze","version":99}', "has version 99, and this package reads versions up to 2"),
        ('{"command":"analyze"}', "has version None"),
        ('{"command":"analyze","version":1}', r"analyze\[0\] has no key `kernel`"),
        ('{"command":"analyze","version":1,"kernel":3}', r"analyze\[0\]\.kernel is int instead of str"),
    ]
    for answer, message in answers:
        monkeypatch.setenv("ANSWER", answer)
        with pytest.raises(workbench.FormatError, match=message):
            tripipe.analyze(SCALE)


def test_a_key_may_be_missing_where_its_field_can_be_none() -> None:
    old = {"file": "a.cl", "line": 3, "text": None, "lines": []}
    location = decode(workbench.Location, old, "location")
    assert (location.file, location.line, location.column) == ("a.cl", 3, None)


def test_fields_have_the_keys_of_their_own_class() -> None:
    launch = decode(WorkItem, {"global": [1, 2, 3], "local": [1, 0, 0], "group": [0, 0, 0]}, "work_item")
    assert (launch.id, launch.local) == ((1, 2, 3), (1, 0, 0))


def test_ctrl_c_ends_the_command(tmp_path: Path) -> None:
    program = f"""
import os, signal, threading, time
import tripipe
threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT)).start()
start = time.monotonic()
try:
    tripipe.tune("gemm", 1024, device="virtual:mali-g77", strategy="exhaustive", limit=None)
except KeyboardInterrupt:
    print("interrupted after", time.monotonic() - start)
"""
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert ended.stdout.startswith("interrupted"), ended.stderr
    assert float(ended.stdout.split()[-1]) < 20


def test_reports_in_notebooks() -> None:
    report = tripipe.check(OUTSIDE[0], OUTSIDE[1](), global_size=64)
    page = report.to_html()
    assert page.startswith("<!")
    assert "out-of-bounds-write" in page
    frame = report._repr_html_()
    assert frame.startswith("<iframe srcdoc='")
    assert frame.count("'") == len(["srcdoc", "sandbox", "style"]) * 2, "quotes in the page are escaped"
    assert list(report.to_pandas()["code"]) == ["out-of-bounds-write"]


FLOATS = "__kernel void k(__global const float *a, __global float *b) { b[get_global_id(0)] = a[get_global_id(0)]; }"


@pytest.mark.parametrize("dtype", ["float64", "int32", "uint8", "uint32"])
def test_elements_of_another_type_are_a_finding(dtype):
    arrays = [numpy.arange(1, 4097).astype(dtype), numpy.zeros(1024, numpy.float32)]
    found = tripipe.check(FLOATS, arrays, global_size=1024)
    assert not found.ok
    assert "argument-type" in {finding.code for finding in found.findings}


def test_elements_of_the_type_and_structs_are_none():
    right = [numpy.ones(1024, numpy.float32), numpy.zeros(1024, numpy.float32)]
    assert tripipe.check(FLOATS, right, global_size=1024).ok
    raw = numpy.ones(1024, numpy.float32).view("V4")
    assert tripipe.check(FLOATS, [raw, numpy.zeros(1024, numpy.float32)], global_size=1024).ok
