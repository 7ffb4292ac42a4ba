#!/usr/bin/env python3
"""Compares the CPU path with OpenCV and numpy on this machine, side by side in one run.

    python3 benches/cpu_bars.py [--quick] [--threads one|all|both] [--device NAME] [--only TEXT] [--vectors avx2] [--binary FILE] [--out data/runs/NAME]

Needs Python 3.9 or newer with venv, and cargo. Makes a virtual environment in target/cpu-bars, installs the versions
named below from PyPI, and builds crates/tripipe/benches/cpu.rs. The contenders then take turns, round by round, with
one thread each and with all cores each, on the same operands, into memory that both have written before. What each
computed is compared before anything is reported. With --out, every sample goes to results.json in that folder, with
the machine and the versions. With --device, products also run in a context on
that device (e.g. opencl:0), between matrices that stay there. --vectors limits the vector instructions of the CPU path (not those of the others).
--binary takes an executable of the benchmark that was built before, for example at another commit, and builds none.

Exit code: 0 when all bars are met, 1 when one is not, 2 when a result differs or something fails.
"""

import argparse
import itertools
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

from bench import ROOT, continue_in_venv, cores, cpuinfo, finish, machine, noise, save, timed

PACKAGES = ["numpy==2.4.6", "opencv-python-headless==5.0.0.93", "threadpoolctl==3.8.0"]

LARGE, SMALL, TINY = (7680, 4320), (1920, 1080), (640, 480)
# How many times as fast as the other library: the project's own bars.
LAPLACE_BAR = 6.0
FILTER_BARS = {
    LARGE: {"median3": 1.5, "gaussian5": 1.5, "sobel": 1.5, "box3": 1.5, "box5": 1.5},
    SMALL: {"median3": 1.5, "gaussian5": 2.0, "sobel": 2.0, "box3": 2.0, "box5": 2.0},
    TINY: {"median3": 1.5, "gaussian5": 2.0, "sobel": 2.0, "box3": 2.0, "box5": 2.0},
}
# Of f32, where memory sets the limit.
REAL_FILTER_BARS = {LARGE: 1.5, SMALL: 1.0, TINY: 1.0}
SAMPLING_BAR, GEMM_BAR = 1.0, 0.8
# Beside a copy: of the image, and of as many bytes as the matrix has (the matrix is read once; a copy reads and writes).
LAPLACE_COPY_BAR, VECTOR_COPY_BAR = 0.7, 0.8
# Halves beside f32.
HALF_BAR = 0.7
# By how many steps of a byte results may differ. OpenCV weighs in float or rounds twice; the CPU path does as its
# specification says, which its tests compare to the bit.
BILATERAL_STEPS = 2
RESIZES = {
    ("nearest", (1, 2)): 0,
    ("bilinear", (1, 2)): 0,
    ("area", (1, 2)): 0,
    ("area", (2, 3)): 1,
    ("nearest", (3, 2)): 0,
    ("bilinear", (3, 2)): 1,
    ("bilinear", (2, 3)): 1,
}
# m, n, k: squares, layers of ResNet-50, BERT and Llama at several batches, tall, wide and deep ones.
SHAPES = [
    *[(n, n, n) for n in (32, 64, 100, 128, 256, 512, 1024, 2048, 4096)],
    (196, 512, 4608),
    (3136, 64, 576),
    (8, 4096, 4096),
    (128, 1024, 4096),
    (128, 3072, 768),
    (64, 64, 100000),
    (4096, 16, 4096),
    (16, 4096, 16),
    (4096, 4096, 32),
    (1000, 1, 512),
]
VECTOR_SHAPES = [(1, 4096, 4096), (4096, 1, 4096), (1, 11008, 4096), (11008, 1, 4096)]
HALF_SHAPES = [(512, 512, 512), (2048, 2048, 2048), (1, 4096, 4096), (4096, 1, 4096)]
# A library's threads may go on spinning after its call; no turn begins before they sleep.
PAUSE_SECONDS = 0.05
# OpenBLAS spins longer.
BLAS_PAUSE_SECONDS = 0.2


def install(_, pip):
    subprocess.run([*pip, *PACKAGES], check=True)


class Tripipe:
    """The benchmark binary, waiting for commands."""

    def __init__(self, vectors, executable):
        environment = dict(os.environ)
        if vectors:
            environment["TRIPIPE_CPU_VECTORS"] = vectors
        self.process = subprocess.Popen(
            [executable or self.built(), "--serve"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )

    @staticmethod
    def built():
        build = subprocess.run(
            ["cargo", "bench", "--package", "tripipe", "--bench", "cpu", "--no-run", "--message-format", "json"],
            cwd=ROOT,
            check=True,
            stdout=subprocess.PIPE,
            text=True,
        )
        messages = [json.loads(line) for line in build.stdout.splitlines() if line.startswith("{")]
        return next(m["executable"] for m in reversed(messages) if m.get("executable"))

    def ask(self, *command):
        print(*command, file=self.process.stdin, flush=True)
        answer = self.process.stdout.readline()
        if not answer:
            raise SystemExit("the benchmark binary has ended")
        return json.loads(answer)

    def seconds(self, *command):
        return self.ask(*command)["seconds"]


class Bench:
    """Takes turns and collects what they gave."""

    def __init__(self, tripipe, folder, options):
        import cv2
        import threadpoolctl

        self.tripipe, self.folder, self.only = tripipe, folder, options.only
        self.rounds = options.rounds or (3 if options.quick else 8)
        self.turn_seconds = 0.012 if options.quick else 0.04
        self.quick, self.device = options.quick, options.device
        self.threads = {"both": ["one", "all"]}.get(options.threads, [options.threads])
        self.blas = threadpoolctl.ThreadpoolController().select(user_api="blas")
        self.set_opencv_threads = cv2.setNumThreads
        self.cores = cores()
        self.rows, self.samples = [], {}

    def wants(self, name):
        return self.only in name

    def compare(self, name, contenders, bars):
        """`contenders` maps names to functions of a number of runs; `bars` has (suffix, ours, theirs, bar)."""
        for threads in self.threads:
            count = 1 if threads == "one" else self.cores
            self.tripipe.ask("threads", threads)
            self.set_opencv_threads(count)
            with self.blas.limit(limits=count):
                samples = self.take_turns(contenders, threads)
            self.samples[f"{name}, {threads}"] = samples
            for suffix, ours, theirs, bar in bars:
                self.rows.append(row(name + suffix, threads, samples, ours, theirs, bar))
                report(self.rows[-1])

    def take_turns(self, contenders, threads):
        """Rounds of some runs of every contender, each turn after a pause and one run that does not count."""
        samples = {name: [] for name in contenders}
        first = {name: run(2)[1] for name, run in contenders.items()}
        runs = {name: min(200, max(1, round(self.turn_seconds / seconds))) for name, seconds in first.items()}
        rounds = self.rounds if max(first.values()) < 0.3 else min(self.rounds, 2)
        for _ in range(rounds):
            for name, run in contenders.items():
                time.sleep(BLAS_PAUSE_SECONDS if "numpy" in contenders and threads == "all" else PAUSE_SECONDS)
                samples[name] += run(runs[name] + 1)[1:]
        return samples


def row(name, threads, samples, ours, theirs, bar):
    medians = {who: statistics.median(seconds) for who, seconds in samples.items()}
    ratio = medians[theirs] / medians[ours]
    return {
        "name": name,
        "threads": threads,
        "ours": ours,
        "theirs": theirs,
        "median_ms": {who: round(1e3 * seconds, 4) for who, seconds in medians.items()},
        "min_ms": {who: round(1e3 * min(seconds), 4) for who, seconds in samples.items()},
        "ratio_of_medians": round(ratio, 2),
        "ratio_of_minima": round(min(samples[theirs]) / min(samples[ours]), 2),
        "bar": bar,
        "met": ratio >= bar,
    }


def report(r):
    print(
        f"{r['name']:46} {r['threads']:>4} {r['median_ms'][r['ours']]:8.3f} ms {r['median_ms'][r['theirs']]:8.3f} ms"
        f" {r['ratio_of_medians']:6.2f}x {r['ratio_of_minima']:9.2f}x {r['bar']:4}x {'' if r['met'] else 'NOT MET'}",
        flush=True,
    )


def picture(seed, size, channels, element):
    return noise((size[1], size[0], channels), {"u8": "u1", "f32": "f4"}[element], seed).squeeze()


def differ(ours, theirs, steps=0):
    """Whether bytes and shorts differ by more than some steps, or numbers by more than rounding can explain."""
    import numpy as np

    if theirs.dtype == np.float32:
        # Values are below 1. OpenCV's weights of other extents come from places in `float`, of up to some thousand.
        return not (np.abs(ours - theirs) <= 1e-3).all()
    return np.abs(ours.astype(int) - theirs).max() > steps


def laplace(bench):
    import cv2
    import numpy as np

    tripipe, (width, height) = bench.tripipe, LARGE
    name = f"laplace {width}x{height} RGB"
    if not bench.wants(name):
        return
    image = noise((height, width, 3), "u1", 1)
    kernel = np.full((3, 3), -1, dtype=np.float32)
    kernel[1, 1] = 9
    filtered = np.empty_like(image)
    source, result = bench.folder / "image", bench.folder / "filtered"
    image.tofile(source)
    tripipe.seconds("laplace_rgb", width, height, source, result, 1)
    cv2.filter2D(image, -1, kernel, dst=filtered)
    ours = np.fromfile(result, dtype=np.uint8).reshape(image.shape)
    inner = np.s_[1:-1, 1:-1]
    if not np.array_equal(ours[inner], filtered[inner]):
        raise SystemExit("laplace: the results differ")
    border = np.ones((height, width), dtype=bool)
    border[inner] = False
    if not np.array_equal(ours[border], image[border]):
        raise SystemExit("laplace: the border is not the source's")
    bench.compare(
        name,
        {
            "tripipe": lambda runs: tripipe.seconds("laplace_rgb", width, height, "-", "-", runs),
            "opencv": lambda runs: timed(runs, lambda: cv2.filter2D(image, -1, kernel, dst=filtered)),
            "copy": lambda runs: tripipe.seconds("copy", image.size, runs),
        },
        [("", "tripipe", "opencv", LAPLACE_BAR), (", beside a copy", "tripipe", "copy", LAPLACE_COPY_BAR)],
    )


def label(operation, size, channels, element="u8"):
    kind = "" if element == "u8" else f" {element}"
    return f"{operation} {size[0]}x{size[1]} {'gray' if channels == 1 else 'RGB'}{kind}"


def filters(bench, size, channels, element):
    """Every filter on one image."""
    import cv2
    import numpy as np

    tripipe, (width, height) = bench.tripipe, size
    image = picture(2, size, channels, element)
    is_bytes = element == "u8"
    out, slopes = np.empty_like(image), np.empty(image.shape, dtype=np.int16 if is_bytes else np.float32)
    theirs = {
        "gaussian5": lambda: cv2.GaussianBlur(image, (5, 5), 0, dst=out),
        "sobel": lambda: cv2.Sobel(image, cv2.CV_16S if is_bytes else cv2.CV_32F, 1, 0, dst=slopes),
        "median3": lambda: cv2.medianBlur(image, 3, dst=out),
        "box3": lambda: cv2.blur(image, (3, 3), dst=out),
        "box5": lambda: cv2.blur(image, (5, 5), dst=out),
    }
    source, result = bench.folder / "picture", bench.folder / "result"
    image.tofile(source)
    inner = np.s_[2:-2, 2:-2]
    for name, work in theirs.items():
        title = label(name, size, channels, element)
        if not bench.wants(title):
            continue
        command = ["filter", name, element, width, height, channels]
        tripipe.seconds(*command, source, result, 1)
        want = work()
        ours = np.fromfile(result, dtype=want.dtype).reshape(want.shape)
        # OpenCV's border of the median is another one.
        if differ(ours[inner], want[inner]):
            raise SystemExit(f"{title}: the results differ")
        bench.compare(
            title,
            {
                "tripipe": lambda runs: tripipe.seconds(*command, "-", "-", runs),
                "opencv": lambda runs: timed(runs, work),
            },
            [("", "tripipe", "opencv", FILTER_BARS[size][name] if is_bytes else REAL_FILTER_BARS[size])],
        )


def sampling(bench, size, channels, element):
    """The bilateral filter and other extents: results within a few steps of OpenCV's, then turns."""
    import cv2
    import numpy as np

    tripipe, (width, height) = bench.tripipe, size
    image = picture(3, size, channels, element)
    source, result = bench.folder / "picture", bench.folder / "result"
    image.tofile(source)
    flags = {"nearest": cv2.INTER_NEAREST, "bilinear": cv2.INTER_LINEAR, "area": cv2.INTER_AREA}
    blurred = np.empty_like(image)
    cases = {}
    if size == SMALL and element == "u8":
        cases["bilateral9"] = (
            ["filter", "bilateral9", element, width, height, channels],
            lambda: cv2.bilateralFilter(image, 9, 50, 3, dst=blurred),
            BILATERAL_STEPS,
        )
    # Of the largest image halves: larger ones would not fit into many machines' memory.
    resizes = {case: steps for case, steps in RESIZES.items() if size != LARGE or case[1] == (1, 2)}
    for (name, (times, of)), steps in resizes.items():
        to = (width * times // of, height * times // of)
        resized = np.empty((to[1], to[0], *image.shape[2:]), dtype=image.dtype)
        cases[f"{name} to {to[0]}x{to[1]} of"] = (
            ["resize", name, element, width, height, *to, channels],
            lambda to=to, flag=flags[name], out=resized: cv2.resize(image, to, dst=out, interpolation=flag),
            steps,
        )
    inner = np.s_[4:-4, 4:-4]
    for name, (command, work, steps) in cases.items():
        title = label(name, size, channels, element)
        if not bench.wants(title):
            continue
        tripipe.seconds(*command, source, result, 1)
        want = work()
        ours = np.fromfile(result, dtype=want.dtype).reshape(want.shape)
        if differ(ours[inner], want[inner], steps):
            raise SystemExit(f"{title}: the results differ")
        bench.compare(
            title,
            {
                "tripipe": lambda runs: tripipe.seconds(*command, "-", "-", runs),
                "opencv": lambda runs: timed(runs, work),
            },
            [("", "tripipe", "opencv", SAMPLING_BAR)],
        )


def product(bench, shape, beside_copy=False):
    """An f32 product beside OpenBLAS; one with a vector also beside a copy of as many bytes as the matrix has."""
    import numpy as np

    tripipe, (m, n, k) = bench.tripipe, shape
    name = f"gemm_f32 {m}x{n}x{k}"
    if not bench.wants(name):
        return
    random = np.random.default_rng(m * n + k)
    a, b = random.standard_normal((m, k), dtype=np.float32), random.standard_normal((k, n), dtype=np.float32)
    c = np.empty((m, n), dtype=np.float32)
    source, result = bench.folder / "operands", bench.folder / "product"
    np.concatenate([a.ravel(), b.ravel()]).astype("<f4").tofile(source)
    tripipe.seconds("gemm_f32", m, n, k, source, result, 1)
    ours = np.fromfile(result, dtype="<f4").reshape(m, n)
    np.matmul(a, b, out=c)
    # Some rows of both against f64, with the textbook's bound for sums of k products; the others by their products with
    # a vector.
    rows = random.permutation(m)[:24]
    wide = b.astype(np.float64)
    exact, size = a[rows].astype(np.float64) @ wide, np.abs(a[rows]).astype(np.float64) @ np.abs(wide)
    vector = random.standard_normal(n)
    sums, sizes = a.astype(np.float64) @ (wide @ vector), np.abs(a).astype(np.float64) @ (np.abs(wide) @ np.abs(vector))
    step = k * np.finfo(np.float32).eps
    for who, got in [("tripipe", ours), ("numpy", c)]:
        if (
            not (np.abs(got[rows] - exact) <= step * size).all()
            or not (np.abs(got @ vector - sums) <= step * sizes).all()
        ):
            raise SystemExit(f"{name}: the product of {who} is wrong")
    contenders = {
        "tripipe": lambda runs: tripipe.seconds("gemm_f32", m, n, k, "-", "-", runs),
        "numpy": lambda runs: timed(runs, lambda: np.matmul(a, b, out=c)),
    }
    bars = [("", "tripipe", "numpy", GEMM_BAR)]
    if bench.device:
        tripipe.seconds("context_gemm", bench.device, m, n, k, source, result, 1)
        if not (np.abs(np.fromfile(result, dtype="<f4").reshape(m, n)[rows] - exact) <= step * size).all():
            raise SystemExit(f"{name}: the product of {bench.device} is wrong")
        contenders["context"] = lambda runs: tripipe.seconds("context_gemm", bench.device, m, n, k, "-", "-", runs)
        bars.append((f", {bench.device}", "context", "numpy", GEMM_BAR))
    source.unlink()
    if beside_copy:
        # Half as many bytes are read and as many written: the matrix's bytes are moved in total.
        contenders["copy"] = lambda runs: tripipe.seconds("copy", 2 * max(m, n) * k, runs)
        bars.append((", beside a copy", "tripipe", "copy", VECTOR_COPY_BAR))
    bench.compare(name, contenders, bars)


def halves(bench, shape):
    m, n, k = shape
    name = f"gemm_f16 {m}x{n}x{k}, beside f32"
    if bench.wants(name):
        kinds = {
            kind: lambda runs, kind=kind: bench.tripipe.seconds("gemm", kind, m, n, k, runs) for kind in ("f16", "f32")
        }
        bench.compare(name, kinds, [("", "f16", "f32", HALF_BAR)])


def conditions(tripipe, binary):
    """What was measured with, and what its processor has."""
    import threadpoolctl

    flags, memory = cpuinfo().get("flags", "").split(), None
    try:
        lines = pathlib.Path("/proc/meminfo").read_text().splitlines()
        memory = next(int(line.split()[1]) // 1024 for line in lines if line.startswith("MemTotal"))
    except (OSError, StopIteration):
        pass
    caches = {}
    for index in pathlib.Path("/sys/devices/system/cpu/cpu0/cache").glob("index*"):
        level, kind, size = ((index / file).read_text().strip() for file in ("level", "type", "size"))
        caches[f"L{level} {kind}"] = size
    blas = [library for library in threadpoolctl.threadpool_info() if library["user_api"] == "blas"]
    if not any(library["internal_api"] == "openblas" for library in blas):
        raise SystemExit("this numpy does not use OpenBLAS")
    packages = [package.partition("==")[0] for package in PACKAGES]
    result = machine(packages, ["crates/cpu", "crates/tripipe/benches", "benches"])
    # The commit of an executable that was built before is not known here.
    return (
        result
        | ({"commit": None} if binary else {})
        | {
            "vector_extensions": [flag for flag in ("sse2", "avx2", "fma", "avx512f", "avx512bw") if flag in flags],
            "vectors_of_the_cpu_path": tripipe.ask("vectors")["vectors"],
            "caches": dict(sorted(caches.items())),
            "memory_mib": memory,
            "rustc": subprocess.run(["rustc", "--version"], cwd=ROOT, capture_output=True, text=True).stdout.strip(),
            "blas": [
                {key: library[key] for key in ("internal_api", "version", "num_threads", "architecture")}
                for library in blas
            ],
        }
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a shorter run, without the largest images and products")
    parser.add_argument("--rounds", type=int, help="turns of each contender (default 8, or 3 with --quick)")
    parser.add_argument("--only", default="", help="only what has this in its name")
    parser.add_argument("--out", type=pathlib.Path, help="folder for results.json")
    parser.add_argument("--threads", choices=["one", "all", "both"], default="both", help="threads of every contender")
    parser.add_argument("--vectors", choices=["avx512", "avx2", "baseline"], help="the widest vectors of the CPU path")
    parser.add_argument(
        "--binary", type=pathlib.Path, help="an executable of crates/tripipe/benches/cpu.rs, instead of building it"
    )
    parser.add_argument("--device", help="an OpenCL device for products, as `tripipe devices` names it")
    options = parser.parse_args()
    if options.device and options.threads != "all":
        parser.error("--device needs --threads all: a device uses all of its cores")
    continue_in_venv("cpu-bars", install)

    tripipe = Tripipe(options.vectors, options.binary)
    result = {
        "command": " ".join(["python3", "benches/cpu_bars.py", *sys.argv[1:]]),
        "machine": conditions(tripipe, options.binary),
    }
    print(f"{'':46} {'':>4} {'tripipe':>11} {'other':>11} {'ratio':>7} {'of minima':>10} {'bar':>5}")
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(tripipe, pathlib.Path(folder), options)
        if not options.quick:
            laplace(bench)
        sizes = [SMALL, TINY] if options.quick else [LARGE, SMALL, TINY]
        images = list(itertools.product(sizes, (1, 3), ("u8", "f32")))
        for size, channels, element in images:
            filters(bench, size, channels, element)
        for size, channels, element in images:
            sampling(bench, size, channels, element)
        for shape in SHAPES:
            if not options.quick or max(shape) < 4096:
                product(bench, shape)
        for shape in VECTOR_SHAPES:
            product(bench, shape, beside_copy=True)
        for shape in HALF_SHAPES:
            if not options.quick or max(shape) < 2048:
                halves(bench, shape)
    # What no product can pass: multiply-adds in registers on every core, 10^8 operations each.
    peaks = {}
    for threads, count in [("one", 1), ("all", bench.cores)]:
        peaks[threads] = count * 0.1 / min(tripipe.seconds("multiply_add", count, 50))
    result["peak_gflops"] = {threads: round(peak, 1) for threads, peak in peaks.items()}
    result |= {"load_average_after": os.getloadavg()[0], "rows": bench.rows, "samples_seconds": bench.samples}

    load = result["machine"]["load_average_before"]
    if load > 0.3 * bench.cores:
        print(f"the machine was busy (load average {load:.1f} on {bench.cores} cores): these times are upper bounds")
    print(
        f"f32 multiply-adds in registers, GFLOP/s: {result['peak_gflops']}; vectors: {result['machine']['vectors_of_the_cpu_path']}"
    )
    missed = sum(not r["met"] for r in bench.rows)
    print(f"{len(bench.rows)} bars, {missed} not met")
    save(options.out, "results.json", result)
    return 1 if missed else 0


if __name__ == "__main__":
    finish(main)
