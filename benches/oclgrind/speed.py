#!/usr/bin/env python3
"""How fast Oclgrind and Tripipe simulate, side by side on one thread: the launch files in the folder `speed`.

    cargo build --release -p tripipe-cli
    python3 benches/oclgrind/speed.py [--tripipe target/release/tripipe] [--rounds 3] [--out data/runs/NAME] [LAUNCH ...]

Needs Python 3.11 or newer and Debian's `oclgrind`. The tools take turns, round by round, each plain and with all its
checks; the best round of each counts. Two things are measured: the launch alone from its start to its end, without compiler
and start-up, and all the processor time that the command takes. Oclgrind's host program says the processor time of the
launch; Tripipe says the wall time, which on one thread is that and whatever else the machine did meanwhile. Of the
commands, Oclgrind's compiles the kernel each time, and Tripipe's the first time.

Without LAUNCH it is all launch files of the folder but those in `speed/large`, which keep Oclgrind busy for many minutes:

    python3 benches/oclgrind/speed.py --tripipe target/release/tripipe --without-oclgrind large/laplace_8k

With --out, the folder gets speed.json (every sample, machine, versions) and speed.md (the tables: work-items per second).
Without --tripipe Oclgrind runs alone, with --without-oclgrind Tripipe. Exit code: 0, or 2 when something fails.
"""

import argparse
import json
import os
import pathlib
import platform
import re
import resource
import subprocess
import sys
import tomllib

HOST = pathlib.Path(__file__).resolve().parent / "host.py"
LAUNCHES = pathlib.Path(__file__).resolve().parent / "speed"
CHECKS = ["--data-races", "--uniform-writes", "--uninitialized", "--check-api"]


def run(command):
    """What a command prints, as JSON, and the processor time it takes."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    # Exit code 1 is Tripipe's for findings.
    if done.returncode not in (0, 1) or not done.stdout:
        sys.exit(f"{' '.join(map(str, command))} failed:\n{done.stderr}")
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return json.loads(done.stdout.splitlines()[0]), seconds


def contenders(tripipe, with_oclgrind):
    """By name: what runs a launch file and returns the seconds of the launch, if they are said, and of the command."""

    def oclgrind(*options):
        def seconds(path):
            answer, whole = run(["oclgrind", "--num-threads", "1", *options, sys.executable, HOST, path])
            return answer["cpu_seconds"], whole

        return seconds

    def under_tripipe(command):
        def seconds(path):
            answer, whole = run([tripipe, command, "--threads", "1", "--format", "json", path])
            return answer.get("launches", [answer])[0].get("seconds"), whole

        return seconds

    found = {"oclgrind": oclgrind(), "oclgrind, all checks": oclgrind(*CHECKS)} if with_oclgrind else {}
    if tripipe:
        found |= {"tripipe run-kernel": under_tripipe("run-kernel"), "tripipe check": under_tripipe("check")}
    return found


def work_items(path):
    """How many work-items a launch has."""
    product = 1
    for size in tomllib.loads(path.read_text())["global"]:
        product *= size
    return product


def machine(tripipe):
    """Where this was measured, and with what."""
    cpu = re.search(r"model name\s*: (.*)", pathlib.Path("/proc/cpuinfo").read_text())
    def version(command):
        return subprocess.run(command, capture_output=True, text=True).stdout.strip().splitlines()
    return {
        "cpu": cpu.group(1) if cpu else platform.processor(),
        "cores": os.cpu_count(),
        "load": os.getloadavg(),
        "oclgrind": next((line for line in version(["oclgrind", "--version"]) if "Oclgrind" in line), ""),
        "tripipe": version([tripipe, "--version"]) if tripipe else [],
        "command": sys.argv,
    }


def short(number):
    """Three digits: 118 k, 3.71 M."""
    for factor, unit in ((1e6, " M"), (1e3, " k")):
        if number >= factor:
            return f"{number / factor:.3g}{unit}"
    return f"{number:.3g}"


def table(names, samples, which):
    """Work-items per second as markdown, and what Tripipe gains over Oclgrind, plain and checked."""
    ratios = [(names[0], names[2]), (names[1], names[3])] if len(names) == 4 else []
    heads = [*names, *(f"{ours} / {theirs}" for theirs, ours in ratios)]
    lines = ["| launch | " + " | ".join(heads) + " |", "|---|" + "--:|" * len(heads)]
    for path, by_name in samples.items():
        rate = {}
        for name, taken in by_name.items():
            said = [sample[which] for sample in taken if sample[which] is not None]
            rate[name] = work_items(path) / min(said) if said else None
        cells = [short(rate[name]) if rate[name] else "–" for name in names]
        cells += [f"{rate[ours] / rate[theirs]:.3g}" if rate[ours] else "–" for theirs, ours in ratios]
        lines.append(f"| {path.stem} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def tables(names, samples):
    """Both tables."""
    launch, command = table(names, samples, 0), table(names, samples, 1)
    return f"The launch alone:\n\n{launch}\nThe whole command, processor time:\n\n{command}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tripipe", help="the tripipe command")
    parser.add_argument("--without-oclgrind", action="store_true", help="run Tripipe alone")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--out", type=pathlib.Path, help="folder for the results")
    parser.add_argument("launches", nargs="*", metavar="LAUNCH", help="names without .toml; all when none is given")
    options = parser.parse_args()
    paths = [LAUNCHES / f"{name}.toml" for name in options.launches] or sorted(LAUNCHES.glob("*.toml"))
    runs = contenders(options.tripipe, not options.without_oclgrind)
    samples = {path: {name: [] for name in runs} for path in paths}
    for path in paths:
        for _ in range(options.rounds):
            for name, seconds in runs.items():
                samples[path][name].append(seconds(path))
        best = (f"{name}: {min(whole for _, whole in taken):.3g} s" for name, taken in samples[path].items())
        print(path.stem, *best, sep="\t", flush=True)
    print()
    print(tables(list(runs), samples), end="")
    if options.out:
        recorded = {
            "machine": machine(options.tripipe),
            "seconds": {path.stem: {"work_items": work_items(path), **taken} for path, taken in samples.items()},
        }
        (options.out / "speed.json").write_text(json.dumps(recorded, indent=1) + "\n")
        (options.out / "speed.md").write_text(tables(list(runs), samples))


if __name__ == "__main__":
    main()
