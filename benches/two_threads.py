#!/usr/bin/env python3
"""Compares products on one thread and on several with NumPy's, alone and while NumPy's threads are still awake.

    python3 benches/two_threads.py [--sizes 64,...] [--cpus 1,2] [--processes COUNT] [--rounds COUNT] [--binary FILE]

Needs what benches/cpu_bars.py needs, and Linux. For each number of CPUs, this process and the benchmark binary are limited to
as many (as `taskset` does) and started again, so that both have as many threads. In each round of a size the contenders take
turns: both with one thread; both with all, each after a pause in which the other's threads fall asleep (*alone*); and ours
right after a product of NumPy, whose threads then spin for some milliseconds (*beside*). --processes adds processes
that compute without end on the same CPUs. Times are medians, in microseconds; the ratios are NumPy's time divided by ours.

Exit code: 0 when all bars are met, 1 when one is not, 2 when something fails.
"""

import argparse
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import bench
import cpu_bars

SIZES = ["64", "100", "128", "256", "512", "1024", "2048", "1000x1x512", "1x4096x4096", "16x4096x16"]
# Several threads beside one, and all threads beside NumPy's, alone.
GAIN_BAR, NUMPY_BAR = 1.0, 0.95
PAUSE_SECONDS = 0.1


def pause():
    """Waits until the threads of both have fallen asleep: OpenBLAS's spin for 30 ms on one machine, for 130 ms on another."""
    time.sleep(PAUSE_SECONDS)
    awake = time.process_time()
    while True:
        time.sleep(PAUSE_SECONDS)
        awake, before = time.process_time(), awake
        if awake - before < PAUSE_SECONDS / 50:
            return


def extents(size):
    numbers = [int(number) for number in size.split("x")]
    return numbers * 3 if len(numbers) == 1 else numbers


def measure(tripipe, size, rounds, folder):
    """Median seconds of each contender."""
    import numpy as np
    import threadpoolctl

    m, n, k = extents(size)
    random = np.random.default_rng(1)
    a, b = random.random((m, k), np.float32), random.random((k, n), np.float32)
    c = np.empty((m, n), np.float32)
    operands = folder / "operands"
    operands.write_bytes(a.tobytes() + b.tobytes())
    tripipe.seconds("gemm_f32", m, n, k, operands, folder / "c", 1)
    found = np.fromfile(folder / "c", np.float32).reshape(m, n)
    if not np.allclose(found, a @ b, rtol=1e-4, atol=1e-4):
        raise SystemExit(f"{size}: the results differ")
    runs = max(2, min(50, int(5e7 / (m * n * k))))

    def ours(count):
        return tripipe.seconds("gemm_f32", m, n, k, "-", "-", count)

    def theirs(count):
        return bench.timed(count, lambda: np.matmul(a, b, out=c))

    blas = threadpoolctl.ThreadpoolController().select(user_api="blas")
    samples = {who: [] for who in ("numpy/1", "ours/1", "numpy", "ours", "beside")}
    for _ in range(rounds):
        with blas.limit(limits=1):
            samples["numpy/1"] += theirs(runs + 1)[1:]
        pause()
        tripipe.ask("threads", "one")
        samples["ours/1"] += ours(runs + 1)[1:]
        tripipe.ask("threads", "all")
        samples["numpy"] += theirs(runs + 1)[1:]
        pause()
        samples["ours"] += ours(runs + 1)[1:]
        for _ in range(runs):
            theirs(1)
            samples["beside"] += ours(1)
        pause()
    return {who: statistics.median(seconds) for who, seconds in samples.items()}


def table(options):
    """Prints the lines for the CPUs that this process may use; returns whether all bars are met."""
    cpus, met = len(os.sched_getaffinity(0)), True
    tripipe = cpu_bars.Tripipe(None, options.binary)
    with tempfile.TemporaryDirectory() as folder:
        for size in options.sizes.split(","):
            times = measure(tripipe, size, options.rounds, pathlib.Path(folder))
            gain, beside_gain = times["ours/1"] / times["ours"], times["ours/1"] / times["beside"]
            ratio = times["numpy"] / times["ours"]
            missed = [
                name for name, value, bar in [("gain", gain, GAIN_BAR), ("NumPy", ratio, NUMPY_BAR)] if value < bar
            ]
            met = met and not missed
            print(
                f"{cpus:>4} {size:>12}"
                + "".join(f"{1e6 * times[who]:>11.1f}" for who in ("numpy/1", "ours/1", "numpy", "ours", "beside"))
                + f"{times['numpy/1'] / times['ours/1']:>8.2f}{ratio:>8.2f}{gain:>8.2f}{beside_gain:>8.2f}"
                + ("  NOT MET: " + ", ".join(missed) if missed else ""),
                flush=True,
            )
    return met


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default=",".join(SIZES), help="N or MxNxK, separated by commas")
    parser.add_argument("--cpus", default="1,2", help="numbers of CPUs, separated by commas")
    parser.add_argument("--processes", type=int, default=0, help="other processes that compute meanwhile")
    parser.add_argument("--rounds", type=int, default=5, help="turns of each contender")
    parser.add_argument(
        "--binary", type=pathlib.Path, help="an executable of crates/tripipe/benches/cpu.rs, instead of building it"
    )
    parser.add_argument(
        "--no-venv", action="store_true", help="use the installed NumPy and threadpoolctl, whatever their versions"
    )
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if not options.no_venv:
        bench.continue_in_venv("cpu-bars", cpu_bars.install)
    if options.here:
        sys.exit(0 if table(options) else 1)
    heads = ("numpy/1", "ours/1", "numpy", "ours", "beside")
    print(f"{'CPUs':>4} {'size':>12}" + "".join(f"{head:>11}" for head in heads) + "  1/1     n/n    gain  beside")
    if options.binary is None:
        options.binary = cpu_bars.Tripipe.built()
    own, codes = sorted(os.sched_getaffinity(0)), []
    for count in map(int, options.cpus.split(",")):
        if count > len(own):
            continue
        os.sched_setaffinity(0, own[:count])
        load = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(options.processes)]
        again = [sys.executable, __file__, "--here", "--no-venv", "--binary", str(options.binary)]
        again += ["--sizes", options.sizes, "--rounds", str(options.rounds)]
        codes.append(subprocess.run(again, check=False).returncode)
        for process in load:
            process.kill()
        os.sched_setaffinity(0, own)
    sys.exit(max(codes, default=2))


main()
