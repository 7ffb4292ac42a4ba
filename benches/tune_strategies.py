#!/usr/bin/env python3
"""How soon do strategies of `tripipe tune` come near the optimum, beside other tuners?

Every tuner searches the same recorded spaces (data/tune/*.tsv*), so that nothing is measured here:

- the strategies of `tripipe tune`, by `cargo run --release -p tripipe-tune --example replay`;
- Kernel Tuner in its simulation mode (`pip install kernel-tuner`), with the strategies named by --kernel-tuner. A run that takes longer
  than --seconds is reported and left out: its local searches (`greedy_ils`) move to candidates that differ in one parameter, and never
  end where a sample of a space has an island with fewer candidates than trials. Complete spaces have none;
- CLBlast's tuner: the candidates of a small fixed set in order, then a random part of the rest.

    python3 benches/tune_strategies.py data/tune/*.tsv* --chart docs/tune.svg

prints the geometric mean over the recordings of the best time so far over the optimum, after 10, 20, 40 and 80 trials.
With --record, it makes a recording of a log: `benches/tune_strategies.py --record LOG PROBE OUT`, where PROBE is a file
with the device as JSON.
"""

import argparse
import contextlib
import gzip
import io
import json
import math
import random
import signal
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

STEPS = [10, 20, 40, 80]


def record(log, probe, out):
    """The measured outcomes of a log as a recording."""
    problem, times = None, {}
    for line in Path(log).read_text().splitlines():
        try:
            entry = json.loads(line)
        except json.JSONDecodeError:
            continue  # A line that ends in the middle.
        if entry["event"] == "ended":
            problem = problem or entry["problem"]
            if entry["problem"] == problem:
                times[entry["parameters"]] = entry["outcome"].get("median")
    lines = [problem, json.dumps(json.loads(Path(probe).read_text()))]
    lines += [f"{'-' if time is None else format(time, '.6g')}\t{text}" for text, time in sorted(times.items())]
    Path(out).write_text("\n".join(lines) + "\n")


def read(path):
    opened = gzip.open if str(path).endswith(".gz") else open
    with opened(path, "rt") as file:
        problem, _, *lines = file.read().splitlines()
    times = {}
    for line in lines:
        time, text = line.split("\t")
        times[text] = None if time == "-" else float(time)
    return problem, times


def dimensions(texts):
    """Each text as a tuple of values, one for each name; words without a value are flags."""
    split = []
    for text in texts:
        words = {}
        for word in text.split():
            name, _, value = word.partition("=")
            if word[0].isdigit():
                name, value = "shape", word
            words[name] = value or "yes"
        split.append(words)
    names = sorted({name for words in split for name in words})
    return names, [tuple(words.get(name, "no") for name in names) for words in split]


def so_far(order, times, most):
    best, bests = math.inf, []
    for text in order[:most]:
        best = min(best, times[text] or math.inf)
        bests.append(best)
    return bests


def clblast(times, seed):
    """A small fixed set, then random ones. The set: the first eighth by the sum of the ranks of the values, which is what
    a hand-picked set of middling values looks like."""
    generator = random.Random(seed)
    texts = list(times)
    names, points = dimensions(texts)
    ranks = [sorted({point[i] for point in points}) for i in range(len(names))]

    def distance(point):
        return sum(abs(ranks[i].index(value) - len(ranks[i]) / 2) / len(ranks[i]) for i, value in enumerate(point))

    fixed = [text for _, text in sorted(zip(map(distance, points), texts))][: max(1, min(20, len(texts) // 8))]
    rest = [text for text in texts if text not in set(fixed)]
    generator.shuffle(rest)
    return fixed + rest


@contextlib.contextmanager
def limited(seconds):
    """Raises TimeoutError in the block after some seconds."""

    def stop(*_):
        raise TimeoutError(f"no end within {seconds} s")

    signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)


def kernel_tuner(times, strategy, most, seed, folder):
    """The order in which Kernel Tuner tries the recorded candidates."""
    import kernel_tuner as kt
    import numpy
    from constraint import FunctionConstraint

    random.seed(seed)
    numpy.random.seed(seed)
    texts = list(times)
    names, points = dimensions(texts)
    keys = [name.replace("-", "_") for name in names]
    params = {key: sorted({point[i] for point in points}) for i, key in enumerate(keys)}
    valid = dict(zip(points, texts))
    cache = {
        "device_name": "recorded", "kernel_name": "recorded", "problem_size": [1], "tune_params_keys": keys,
        "tune_params": params, "objective": "time", "cache": {},
    }
    for point, text in valid.items():
        seconds = times[text]
        entry = dict(zip(keys, point))
        entry["time"] = seconds * 1e3 if seconds else "RuntimeFailedConfig"
        entry["times"] = [entry["time"]] if seconds else []
        for name in ["compile_time", "verification_time", "benchmark_time", "strategy_time", "framework_time"]:
            entry[name] = 0
        entry["timestamp"] = "2026-11-23 00:00:00"
        cache["cache"][",".join(point)] = entry
    path = Path(folder) / "cache.json"
    path.write_text(json.dumps(cache))
    with contextlib.redirect_stdout(io.StringIO()):
        results, _ = kt.tune_kernel(
            "recorded", "__kernel void recorded() {}", 1, [], params, lang="OpenCL", simulation_mode=True,
            cache=str(path), strategy=strategy, strategy_options={"max_fevals": most}, quiet=True,
            restrictions=[FunctionConstraint(lambda *point: point in valid)],
        )
    order = []
    for result in results:
        text = valid[tuple(result[key] for key in keys)]
        if text not in order:
            order.append(text)
    return order


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("recordings", nargs="*")
    parser.add_argument("--record", nargs=3, metavar=("LOG", "PROBE", "OUT"))
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--most", type=int, default=80)
    parser.add_argument(
        "--kernel-tuner", default="genetic_algorithm,simulated_annealing,diff_evo,dual_annealing,greedy_ils"
    )
    parser.add_argument("--seconds", type=int, default=30, help="limit for a run of Kernel Tuner")
    parser.add_argument("--replay", help="the replay example, if it is built already")
    parser.add_argument("--chart", nargs="*", default=[], help="SVG or PNG files (needs matplotlib)")
    arguments = parser.parse_args()
    if arguments.record:
        return record(*arguments.record)
    # By tuner: for each recording and seed the best so far over the optimum.
    curves = defaultdict(list)
    replay = (
        [arguments.replay]
        if arguments.replay
        else ["cargo", "run", "-q", "--release", "-p", "tripipe-tune", "--example", "replay", "--"]
    )
    replay += ["--seeds", str(arguments.seeds), "--most", str(arguments.most), *arguments.recordings]
    for line in subprocess.run(replay, check=True, capture_output=True, text=True).stdout.splitlines():
        found = json.loads(line)
        curves[f"tripipe {found['strategy']}"].append([best or math.inf for best in found["best"]])
    for path in arguments.recordings:
        problem, times = read(path)
        optimum = min(time for time in times.values() if time)
        print(f"{path}: {problem}, {len(times)} candidates", file=sys.stderr)
        for seed in range(1, arguments.seeds + 1):
            order = clblast(times, seed)
            curves["CLBlast's tuner"].append([best / optimum for best in so_far(order, times, arguments.most)])
        for strategy in filter(None, arguments.kernel_tuner.split(",")):
            for seed in range(1, arguments.seeds + 1):
                with tempfile.TemporaryDirectory() as folder:
                    try:
                        with limited(arguments.seconds):
                            order = kernel_tuner(times, strategy, arguments.most, seed, folder)
                    except Exception as error:  # A strategy that fails on a space is left out, and named.
                        print(f"{path}: Kernel Tuner, {strategy}: {error!r}", file=sys.stderr)
                        break
                best = [best / optimum for best in so_far(order, times, arguments.most)]
                curves[f"Kernel Tuner {strategy}"].append(best)

    def after(curve, step):
        return curve[min(step, len(curve)) - 1] if curve else math.inf

    def mean(all_curves, step):
        # A tuner without any correct candidate so far counts as ten times the optimum.
        return math.exp(sum(math.log(min(after(curve, step), 10)) for curve in all_curves) / len(all_curves))

    print("| tuner | " + " | ".join(f"{step} trials" for step in STEPS) + " | trials at most |")
    print("|---|" + "---|" * (len(STEPS) + 1))
    ranked = sorted(curves.items(), key=lambda item: mean(item[1], 40))
    for tuner, all_curves in ranked:
        length = max(map(len, all_curves))
        print(f"| {tuner} | " + " | ".join(f"{mean(all_curves, step):.3f}" for step in STEPS) + f" | {length} |")
    if arguments.chart:
        import matplotlib

        matplotlib.use("Agg")
        import matplotlib.pyplot as plt

        figure, axes = plt.subplots(figsize=(8, 5))
        for tuner, all_curves in ranked:
            steps = range(1, arguments.most + 1)
            bold = tuner == "tripipe learned"
            axes.plot(steps, [mean(all_curves, step) for step in steps], label=tuner, linewidth=2.5 if bold else 1.2)
        axes.axhline(1.05, color="grey", linewidth=0.8, linestyle=":")
        axes.set(
            xlabel="trials",
            ylabel="best time so far over the optimum (geometric mean)",
            ylim=(1, 2),
            xlim=(1, arguments.most),
        )
        axes.legend(fontsize=8)
        figure.tight_layout()
        for chart in arguments.chart:
            figure.savefig(chart)
    return None


if __name__ == "__main__":
    sys.exit(main())
