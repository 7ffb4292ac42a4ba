#!/usr/bin/env python3
"""How fast Oclgrind and Tripipe simulate, side by side on one thread: the launch files in the folder `speed`.

    cargo build --release -p tripipe-cli
    python3 benches/oclgrind/speed.py [--tripipe target/release/tripipe] [--rounds 3] [--out data/runs/NAME] [LAUNCH ...]

Needs Python 3.11 or newer and Debian's `oclgrind`. The tools take turns, round by round, each plain and with all its
checks; the best round of each counts. What is measured is the processor time from the start of the launch to its end:
neither compiler nor start-up is in it. The figure is work-items per second of processor time.

With --out, the folder gets speed.json (every sample, machine, versions) and speed.md (the table). Without --tripipe
Oclgrind runs alone. Exit code: 0, or 2 when something fails.
"""

import argparse
import json
import os
import pathlib
import platform
import re
import subprocess
import sys
import tomllib

HOST = pathlib.Path(__file__).resolve().parent / "host.py"
LAUNCHES = pathlib.Path(__file__).resolve().parent / "speed"
OCLGRIND = ["oclgrind", "--num-threads", "1"]
CHECKS = ["--data-races", "--uniform-writes", "--uninitialized", "--check-api"]


def run(command):
    """What a command prints, as JSON."""
    done = subprocess.run(command, capture_output=True, text=True)
    # Exit code 1 is Tripipe's for findings.
    if done.returncode not in (0, 1) or not done.stdout:
        sys.exit(f"{' '.join(map(str, command))} failed:\n{done.stderr}")
    return json.loads(done.stdout.splitlines()[0])


def contenders(tripipe):
    """Name and, for a launch file, the seconds that one launch takes."""
    def under_oclgrind(*options):
        return lambda path: run([*OCLGRIND, *options, sys.executable, HOST, path])["cpu_seconds"]

    def under_tripipe(*command):
        def seconds(path):
            answer = run([tripipe, *command, "--threads", "1", "--format", "json", path])
            launch = answer.get("launches", [answer])[0]
            # On one thread the wall time is the processor time and whatever else the machine did meanwhile.
            return launch["cpu_seconds"] if "cpu_seconds" in launch else launch["seconds"]

        return seconds

    found = {"oclgrind": under_oclgrind(), "oclgrind, all checks": under_oclgrind(*CHECKS)}
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


def table(names, samples):
    """Work-items per second of processor time as markdown; what Tripipe gains over Oclgrind, plain and checked."""
    ratios = [(names[0], names[2]), (names[1], names[3])] if len(names) == 4 else []
    heads = [*names, *(f"{ours} / {theirs}" for theirs, ours in ratios)]
    lines = ["| launch | " + " | ".join(heads) + " |", "|---|" + "--:|" * len(heads)]
    for path, by_name in samples.items():
        rate = {name: work_items(path) / min(by_name[name]) for name in names}
        cells = [short(rate[name]) for name in names] + [f"{rate[ours] / rate[theirs]:.3g}" for theirs, ours in ratios]
        lines.append(f"| {path.stem} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tripipe", help="the tripipe command")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--out", type=pathlib.Path, help="folder for the results")
    parser.add_argument("launches", nargs="*", metavar="LAUNCH", help="names without .toml; all when none is given")
    options = parser.parse_args()
    paths = [LAUNCHES / f"{name}.toml" for name in options.launches] or sorted(LAUNCHES.glob("*.toml"))
    runs = contenders(options.tripipe)
    samples = {path: {name: [] for name in runs} for path in paths}
    for path in paths:
        for _ in range(options.rounds):
            for name, seconds in runs.items():
                samples[path][name].append(seconds(path))
        print(path.stem, *(f"{name}: {min(taken):.3g} s" for name, taken in samples[path].items()), sep="\t", flush=True)
    print()
    print(table(list(runs), samples), end="")
    if options.out:
        recorded = {
            "machine": machine(options.tripipe),
            "seconds": {path.stem: {"work_items": work_items(path), **taken} for path, taken in samples.items()},
        }
        (options.out / "speed.json").write_text(json.dumps(recorded, indent=1) + "\n")
        (options.out / "speed.md").write_text(table(list(runs), samples))


if __name__ == "__main__":
    main()
