#!/usr/bin/env python3
"""Predicts the time of every launch, here and at a base, and compares.

    budget.py [--base COMMIT] [--gpu GPU,...] [--percent 5] [--limits LIMITS] [--tripipe COMMAND]
              [--markdown FILE] [--sarif FILE] LAUNCH.toml...

Run it in the repository's root. LAUNCH.toml are launch files or patterns such as `kernels/**/*.toml`. The exit code is 1
if a time is longer than at the base by --percent or more, or if one of --limits ("time<=2ms,registers<=32") is exceeded;
2 if a prediction here is not possible. What the base lacks, or cannot predict, is new and has no limit but --limits.
"""

import argparse
import glob
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

MARK = "<!-- tripipe-budget -->"
RULE = "predicted-time"
HELP = "A launch is predicted to take longer than at the base, or longer than its budget. `tripipe simulate` says what limits it."


class Failure(Exception):
    """Something without which there is no verdict."""


def run(command, folder="."):
    try:
        return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    except OSError as error:
        raise Failure(f"{command[0]}: {error.strerror}") from error


def predictions(arguments, launch, folder=".", limits=""):
    """The predictions of a launch file by kernel and GPU, and the lines that report exceeded limits."""
    command = [arguments.tripipe, "simulate", launch, "--format", "json"]
    command += ["--gpu", arguments.gpu] if arguments.gpu else []
    ran = run(command + (["--budget", limits] if limits else []), folder)
    lines = [json.loads(line) for line in ran.stdout.splitlines() if line.startswith("{")]
    refused = [line for line in lines if line.get("error")]
    if ran.returncode not in (0, 1) or refused or not lines:
        said = ran.stderr.strip() or "; ".join(f"{line['gpu']}: {line['error']}" for line in refused)
        raise Failure(f"{launch}: {said or 'no kernel'}")
    exceeded = [line for line in ran.stderr.splitlines() if line.startswith("over budget: ")]
    return {(line["kernel"], line["gpu"]): line for line in lines}, exceeded


def advice(arguments, launch):
    """What `analyze` advises, as SARIF; None if it cannot say."""
    command = [arguments.tripipe, "analyze", launch, "--format", "sarif"]
    ran = run(command + (["--gpu", arguments.gpu] if arguments.gpu else []))
    return json.loads(ran.stdout) if ran.stdout.startswith("{") else None


def line_of(program, kernel):
    """The line that names a kernel in its source, else the first."""
    try:
        text = pathlib.Path(program).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return 1
    found = re.search(rf"\bkernel\b[^;{{]*?\b{re.escape(kernel)}\s*\(", text)
    return text.count("\n", 0, found.end()) + 1 if found else 1


def shown(seconds):
    for unit, scale in (("s", 1), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= scale:
            return f"{seconds / scale:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"


def compare(arguments, launches):
    """Rows of the table, and the results for SARIF."""
    rows, errors = [], []
    with tempfile.TemporaryDirectory() as folder:
        base = os.path.join(folder, "base")
        if arguments.base:
            made = run(["git", "worktree", "add", "--quiet", "--detach", base, arguments.base])
            if made.returncode:
                raise Failure(f"the base {arguments.base}: {made.stderr.strip()}")
        try:
            for launch in launches:
                here, exceeded = predictions(arguments, launch, limits=arguments.limits)
                before = {}
                if os.path.exists(os.path.join(base, launch)):
                    try:
                        before, _ = predictions(arguments, launch, base)
                    except Failure as failure:
                        print(f"note: no prediction at the base: {failure}", file=sys.stderr)
                for (kernel, gpu), now in here.items():
                    old = before.get((kernel, gpu), {}).get("seconds")
                    row = {"launch": launch, "kernel": kernel, "gpu": gpu, "now": now, "before": old, "faults": []}
                    change = 100 * (now["seconds"] / old - 1) if old else None
                    row["change"] = change
                    if change is not None and change >= arguments.percent:
                        row["faults"].append(f"{change:+.1f} % ({shown(old)} to {shown(now['seconds'])})")
                    start = f"over budget: {kernel} on {gpu}: "
                    row["faults"] += [line[len(start) :] for line in exceeded if line.startswith(start)]
                    rows.append(row)
                    errors += [(row, fault) for fault in row["faults"]]
        finally:
            if arguments.base:
                run(["git", "worktree", "remove", "--force", base])
    return rows, errors


def table(arguments, rows):
    """The comment for a change; the worst row first."""
    bad = sum(bool(row["faults"]) for row in rows)
    head = f"{bad} of {len(rows)} predictions exceed" if bad else f"all {len(rows)} predictions are within"
    lines = [
        MARK,
        f"**Tripipe: {head} the budget** (+{arguments.percent:g} %{', ' if arguments.limits else ''}{arguments.limits})",
        "",
    ]
    lines += ["| kernel | GPU | base | now | change | limited by | |", "|---|---|---:|---:|---:|---|---|"]
    for row in sorted(rows, key=lambda row: (not row["faults"], -(row["change"] or 0))):
        now, old = row["now"], row["before"]
        change = "new" if row["change"] is None else f"{row['change']:+.1f} %"
        what = f"`{row['kernel']}` ({row['launch']})"
        fault = "**" + "; ".join(row["faults"]).replace("|", "\\|") + "**" if row["faults"] else ""
        lines.append(
            f"| {what} | {row['gpu']} | {shown(old) if old else ''} | {shown(now['seconds'])} | {change} | {now['limiter']} | {fault} |"
        )
    lines += ["", "Predicted by a model, not measured: a change is more certain than a time."]
    return "\n".join(lines) + "\n"


def sarif(arguments, launches, errors):
    """One run: the advice of all launches, and an error for each exceeded budget."""
    whole, results = None, []
    rules = {
        RULE: {"id": RULE, "shortDescription": {"text": "a predicted time is over its budget"}, "help": {"text": HELP}}
    }
    for launch in launches:
        log = advice(arguments, launch)
        for part in log["runs"] if log else []:
            whole = whole or log
            rules |= {rule["id"]: rule for rule in part["tool"]["driver"].get("rules", [])}
            results += [
                {key: value for key, value in result.items() if key != "ruleIndex"} for result in part["results"]
            ]
    for row, fault in errors:
        program = row["now"]["program"] or row["launch"]
        place = {"artifactLocation": {"uri": program}, "region": {"startLine": line_of(program, row["kernel"])}}
        text = f"{row['kernel']} on {row['gpu']}: {fault}"
        key = f"{row['launch']}:{row['kernel']}:{row['gpu']}:{fault.split(' ')[-1]}"
        results.append(
            {
                "ruleId": RULE,
                "level": "error",
                "message": {"text": text},
                "locations": [{"physicalLocation": place}],
                "partialFingerprints": {"tripipeBudget/v1": key},
            }
        )
    first = whole or {
        "version": "2.1.0",
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "runs": [{"tool": {"driver": {"name": "tripipe"}}}],
    }
    driver = {**first["runs"][0]["tool"]["driver"], "rules": list(rules.values())}
    return {**first, "runs": [{"tool": {"driver": driver}, "columnKind": "utf16CodeUnits", "results": results}]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("launches", nargs="+", metavar="LAUNCH.toml")
    parser.add_argument("--base", default="", help="commit to compare with; without one only --limits count")
    parser.add_argument("--gpu", default="", help="GPUs, as for `tripipe simulate`")
    parser.add_argument("--percent", type=float, default=5, help="how much longer is too long")
    parser.add_argument("--limits", default="", help="as `tripipe simulate --budget`")
    parser.add_argument("--tripipe", default="tripipe", help="the command")
    parser.add_argument("--markdown", help="writes the table to this file, not to standard output")
    parser.add_argument("--sarif", help="writes advice and exceeded budgets to this file")
    arguments = parser.parse_args()
    if os.sep in arguments.tripipe:
        arguments.tripipe = os.path.abspath(arguments.tripipe)
    found = [sorted(glob.glob(pattern, recursive=True)) or [pattern] for pattern in arguments.launches]
    launches = list(dict.fromkeys(launch for some in found for launch in some))
    try:
        rows, errors = compare(arguments, launches)
        text = table(arguments, rows)
        if arguments.markdown:
            pathlib.Path(arguments.markdown).write_text(text, encoding="utf-8")
        else:
            print(text, end="")
        if arguments.sarif:
            pathlib.Path(arguments.sarif).write_text(json.dumps(sarif(arguments, launches, errors)), encoding="utf-8")
    except Failure as failure:
        print(f"error: {failure}", file=sys.stderr)
        return 2
    for row, fault in errors:
        text = f"{row['kernel']} on {row['gpu']}: {fault}"
        if os.environ.get("GITHUB_ACTIONS") == "true":
            program = row["now"]["program"] or row["launch"]
            print(
                f"::error file={program},line={line_of(program, row['kernel'])},title=Tripipe budget::{text.replace('%', '%25')}"
            )
        else:
            print(f"over budget: {text}", file=sys.stderr)
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
