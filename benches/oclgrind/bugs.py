#!/usr/bin/env python3
"""Which bugs of crates/simulate/tests/bugs Oclgrind finds, and which Tripipe: every launch file under both.

    python3 benches/oclgrind/bugs.py [--tripipe target/release/tripipe] [--out data/runs/NAME] [CASE ...]

Needs Python 3.11 or newer and Debian's `oclgrind`. Oclgrind runs with all its checks, `--uniform-writes` included, once as
it comes and once with `-cl-opt-disable`: it optimises kernels, and what is optimised away it does not see. What is expected stands in comments of the sources (the README beside them says how); what counts as found is a message of a
fitting kind, see FITTING, anywhere in the kernel. Without --tripipe the column of that name stays empty.

With --out, the folder gets bugs.tsv (a row a case), bugs.md (counts by code) and oclgrind.txt (what Oclgrind said, every
message once for each line of the kernel). Exit code: 0, or 2 when something fails that is no result.
"""

import argparse
import collections
import dataclasses
import json
import pathlib
import re
import resource
import subprocess
import sys
import tomllib

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
CASES = ROOT / "crates" / "simulate" / "tests" / "bugs"
HOST = pathlib.Path(__file__).resolve().parent / "host.py"
OCLGRIND = ["oclgrind", "--data-races", "--uniform-writes", "--uninitialized", "--check-api", "--num-threads", "1"]
# Nothing here takes a second when it ends at all: seconds of processor time for Oclgrind, instructions for Tripipe.
CPU_SECONDS = 10
STEPS = 10_000_000

OUTSIDE = r"Invalid (read|write) of size|exceeds static array size"
RACE = "data race at"
DIVERGENCE = "Work-group divergence detected"
# What Oclgrind may call each kind of bug. It has no message for the codes that are not here.
FITTING = {
    "out-of-bounds-read": OUTSIDE,
    "out-of-bounds-write": OUTSIDE,
    "inner-array-bounds": OUTSIDE,
    "null-pointer": OUTSIDE,
    "dangling-pointer": OUTSIDE,
    "image-read-outside": OUTSIDE,
    "image-write-outside": OUTSIDE,
    "misaligned-access": "not aligned",
    "misaligned-vector": "not aligned",
    "uninitialised-value": "[Uu]ninitialized",
    "data-race": RACE,
    "data-race-between-groups": RACE,
    "same-value-race": RACE,
    "atomic-mixed": RACE,
    "wrong-fence": RACE,
    "barrier-divergence": DIVERGENCE,
    "collective-divergence": DIVERGENCE,
    "async-copy-divergence": DIVERGENCE,
    "async-copy-unwaited": RACE + "|without waiting for events",
    "read-only-write": "Invalid write to read-only",
    "write-only-read": "Invalid read from write-only",
}
# The program or the simulator gave up: no verdict on the kernel.
GAVE_UP = "OCLGRIND FATAL ERROR|OpenCL runtime error detected"


@dataclasses.dataclass
class Verdict:
    """What a tool makes of a case."""

    # A bug is found, missed, or hinted at (something else is said); a clean case gets silence or a false alarm. Either
    # cannot run, or does not end.
    word: str
    # What it said: messages without addresses, or codes.
    said: list
    # The expected codes that are among it.
    found: set = dataclasses.field(default_factory=set)


def expected_codes(launch_path):
    """The codes that must be found, none for a clean case."""
    if launch_path.stem.endswith("_ok"):
        return set()
    source = launch_path.parent / tomllib.loads(launch_path.read_text())["source"]
    return set(re.findall(r"//~\^* [A-Z]+ ([a-z-]+)", source.read_text()))


def judge(expected, said, found):
    """The verdict when the kernel ran: `found` are the expected codes that are in what was said."""
    if not expected:
        return Verdict("false alarm" if said else "silent", said)
    word = "found" if found == expected else "hint" if said else "missed"
    return Verdict(word, said, found)


def limit_cpu():
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))


def blocks(text):
    """Oclgrind's messages: (message without numbers that vary, line of the kernel or None, the text)."""
    for block in re.split(r"\n\s*\n(?=\S)", text.strip()):
        first = block.splitlines()[0] if block else ""
        if not first or first.startswith("{"):
            continue
        message = re.sub(r" at (\w+ memory) address 0x[0-9a-f]+", r" at \1", first)
        message = re.sub(r" to (\w+ memory) address 0x[0-9a-f]+", r" to \1", message)
        line = re.search(r"^\s*At line (\d+)", block, re.MULTILINE)
        yield re.sub(r"Index \(-?\d+\)", "Index", message), int(line.group(1)) if line else None, block


def oclgrind(path, expected, options, log):
    """Runs a case under Oclgrind; what it says goes to `log`."""
    command = [*OCLGRIND, *options, sys.executable, str(HOST), str(path)]
    run = subprocess.run(command, capture_output=True, text=True, preexec_fn=limit_cpu)
    said = collections.Counter()
    seen = {}
    for message, line, block in blocks(run.stderr):
        if re.match(rf"Invalid|Index|\w+-write data race|Uninit|Control|{DIVERGENCE}|Work-item finished", message):
            said[message] += 1
        seen.setdefault((message, line), block)
    log.write(f"==== {' '.join([path.stem, *options])}: exit code {run.returncode}\n\n")
    log.writelines(re.sub(r"[ \t]+$", "", block, flags=re.MULTILINE).strip() + "\n\n" for block in seen.values())
    if "Traceback" in run.stderr:
        sys.exit(f"{path.stem}: the host program failed:\n{run.stderr}")
    summary = [f"{count} x {message}" for message, count in said.items()]
    if run.returncode < 0 and "work_items" not in run.stdout and not said:
        word = "does not end" if -run.returncode in (9, 24) else "cannot run"
        return Verdict(word, [f"signal {-run.returncode}"])
    if run.returncode == 3 or (re.search(GAVE_UP, run.stderr) and not said):
        reason = re.search(r"FATAL ERROR [^\n]*\n([^\n]*)|(error:[^\n]*)", run.stderr)
        return Verdict("cannot run", [reason[1] or reason[2] if reason else "no reason given"])

    found = {code for code in expected if any(re.search(FITTING.get(code, "(?!)"), message) for message in said)}
    return judge(expected, summary, found)


def tripipe(binary, path, expected):
    """Runs a case under `tripipe check`."""
    command = [binary, "check", "--format", "json", "--limit-steps", str(STEPS), str(path)]
    run = subprocess.run(command, capture_output=True, text=True)
    if run.returncode not in (0, 1):
        return Verdict("cannot run", [run.stderr.strip().splitlines()[-1]])
    counts = collections.Counter(finding["code"] for finding in json.loads(run.stdout)["findings"])
    summary = [f"{count} x {code}" for code, count in counts.items()]
    return judge(expected, summary, expected & set(counts))


def table(rows, tools):
    """Counts by code as markdown."""
    lines = ["| code | bugs | " + " | ".join(f"{tool} finds" for tool in tools) + " |"]
    lines.append("|---|--:|" + "--:|" * len(tools))
    codes = sorted({code for expected, _, _ in rows for code in expected})
    for code in codes:
        concerned = [verdicts for expected, _, verdicts in rows if code in expected]
        found = [sum(code in verdicts[tool].found for verdicts in concerned) for tool in tools]
        lines.append(f"| {code} | {len(concerned)} | " + " | ".join(map(str, found)) + " |")
    bugs = [verdicts for expected, _, verdicts in rows if expected]
    clean = [verdicts for expected, _, verdicts in rows if not expected]
    lines += ["", "| verdict | " + " | ".join(tools) + " |", "|---|" + "--:|" * len(tools)]
    for kind, group, words in (
        ("bug", bugs, ("found", "hint", "missed", "cannot run", "does not end")),
        ("clean", clean, ("silent", "false alarm", "cannot run", "does not end")),
    ):
        for word in words:
            counts = [sum(verdicts[tool].word == word for verdicts in group) for tool in tools]
            lines.append(f"| {kind}: {word} | " + " | ".join(map(str, counts)) + " |")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tripipe", help="the tripipe command")
    parser.add_argument("--out", type=pathlib.Path, help="folder for the results")
    parser.add_argument("cases", nargs="*", metavar="CASE", help="names without .toml; all when none is given")
    options = parser.parse_args()
    paths = [CASES / f"{case}.toml" for case in options.cases] or sorted(CASES.glob("*.toml"))
    tools = ["oclgrind", "oclgrind -cl-opt-disable", *(["tripipe"] if options.tripipe else [])]
    log = open(options.out / "oclgrind.txt", "w") if options.out else open("/dev/null", "w")
    rows = []
    for path in paths:
        expected = expected_codes(path)
        verdicts = [
            oclgrind(path, expected, [], log),
            oclgrind(path, expected, ["--build-options", "-cl-opt-disable"], log),
            *([tripipe(options.tripipe, path, expected)] if options.tripipe else []),
        ]
        verdicts = dict(zip(tools, verdicts))
        rows.append((expected, path.stem, verdicts))
        print(path.stem, *(f"{tool}: {verdict.word}" for tool, verdict in verdicts.items()), sep="\t", flush=True)
    print()
    print(table(rows, tools), end="")
    if options.out:
        with open(options.out / "bugs.tsv", "w") as tsv:
            print("case", "expected", *(f"{tool}\t{tool} says" for tool in tools), sep="\t", file=tsv)
            for expected, case, verdicts in rows:
                cells = [cell for tool in tools for cell in (verdicts[tool].word, "; ".join(verdicts[tool].said))]
                print(case, " ".join(sorted(expected)) or "clean", *cells, sep="\t", file=tsv)
        (options.out / "bugs.md").write_text(table(rows, tools))


if __name__ == "__main__":
    main()
