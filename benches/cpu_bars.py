#!/usr/bin/env python3
"""Compares the CPU path with OpenCV and numpy on this machine, side by side in one run.

    python3 benches/cpu_bars.py [--rounds 20] [--threads N] [--only TEXT] [--out data/runs/NAME]

Needs Python 3.9 or newer with venv, and cargo. Makes a virtual environment in target/cpu-bars, installs the
versions named below from PyPI, builds crates/tripipe/benches/cpu.rs, and then takes turns, round by round: a few runs
of the CPU path, a few of OpenCV or numpy, both on all cores and on the same operands, into memory that both have written before.
What each computed is compared before anything is reported. With --out, every sample goes to results.json in that folder, with the machine and the versions.

Exit code: 0 when all bars are met, 1 when one is not, 2 when a result differs or something fails.
"""

import argparse
import json
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import tempfile
import time

PACKAGES = ["numpy==2.4.6", "opencv-python-headless==5.0.0.93", "threadpoolctl==3.8.0"]
ROOT = pathlib.Path(__file__).resolve().parent.parent

WIDTH, HEIGHT = 7680, 4320
GEMM_SIZES = [512, 1024, 2048]
FILTER_SIZES = [(7680, 4320), (1920, 1080)]
FILTERS = ["gaussian5", "sobel", "median3", "box3", "box5"]
# Bilateral filters and images of other extents, at one size: how many steps of a byte they may differ by. OpenCV weighs in float or rounds
# twice; the CPU path does as its specification says, which its tests compare to the bit.
SMALL_SIZE = (1920, 1080)
BILATERAL_STEPS = 2
RESIZES = {
    ("nearest", (960, 540)): 0,
    ("bilinear", (960, 540)): 0,
    ("area", (960, 540)): 0,
    ("area", (1280, 720)): 1,
    ("nearest", (2880, 1620)): 0,
    ("bilinear", (2880, 1620)): 1,
}
# How many times as fast as the other library: the project's own bars.
LAPLACE_BAR, GEMM_BAR, FILTER_BAR, SAMPLING_BAR = 6.0, 1.5, 1.5, 1.0
# How fast beside a plain copy of the image, and halves beside f32, at least.
COPY_BAR, HALF_BAR = 0.7, 0.7
# A library's threads may go on spinning after its call; no turn begins before they sleep.
PAUSE_SECONDS = 0.25


def reexec_in_venv():
    """Continues in the virtual environment with the pinned packages, making it first where needed."""
    venv = ROOT / "target" / "cpu-bars"
    python = venv / "bin" / "python"
    if pathlib.Path(sys.prefix).resolve() == venv.resolve():
        return
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(venv)], check=True)
    subprocess.run(
        [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *PACKAGES], check=True
    )
    os.execv(python, [str(python), *sys.argv])


class Tripipe:
    """The benchmark binary, waiting for commands."""

    def __init__(self):
        build = subprocess.run(
            ["cargo", "bench", "--package", "tripipe", "--bench", "cpu", "--no-run", "--message-format", "json"],
            cwd=ROOT,
            check=True,
            stdout=subprocess.PIPE,
            text=True,
        )
        messages = [json.loads(line) for line in build.stdout.splitlines() if line.startswith("{")]
        executable = next(m["executable"] for m in reversed(messages) if m.get("executable"))
        self.process = subprocess.Popen(
            [executable, "--serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def seconds(self, *command):
        print(*command, file=self.process.stdin, flush=True)
        answer = self.process.stdout.readline()
        if not answer:
            raise SystemExit("the benchmark binary has ended")
        return json.loads(answer)["seconds"]


def timed(runs, work):
    seconds = []
    for _ in range(runs):
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    return seconds


def take_turns(rounds, runs, contenders):
    """Rounds of `runs` runs of every contender, each turn after a pause and one run that does not count."""
    samples = {name: [] for name in contenders}
    for _ in range(rounds):
        for name, run in contenders.items():
            time.sleep(PAUSE_SECONDS)
            samples[name] += run(runs + 1)[1:]
    return samples


def laplace(tripipe, rounds, folder):
    import cv2
    import numpy as np

    image = np.random.default_rng(1).integers(0, 256, (HEIGHT, WIDTH, 3), dtype=np.uint8)
    kernel = np.full((3, 3), -1, dtype=np.float32)
    kernel[1, 1] = 9
    filtered = np.empty_like(image)
    source, result = folder / "image", folder / "filtered"
    image.tofile(source)
    tripipe.seconds("laplace_rgb", WIDTH, HEIGHT, source, result, 1)
    cv2.filter2D(image, -1, kernel, dst=filtered)
    ours = np.fromfile(result, dtype=np.uint8).reshape(image.shape)
    inner = np.s_[1:-1, 1:-1]
    if not np.array_equal(ours[inner], filtered[inner]):
        raise SystemExit("laplace: the results differ")
    border = np.ones((HEIGHT, WIDTH), dtype=bool)
    border[inner] = False
    if not np.array_equal(ours[border], image[border]):
        raise SystemExit("laplace: the border is not the source's")
    return take_turns(
        rounds,
        5,
        {
            "tripipe": lambda runs: tripipe.seconds("laplace_rgb", WIDTH, HEIGHT, "-", "-", runs),
            "opencv": lambda runs: timed(runs, lambda: cv2.filter2D(image, -1, kernel, dst=filtered)),
            "copy": lambda runs: tripipe.seconds("copy", image.size, runs),
        },
    )


def label(operation, size, channels):
    return f"{operation} {size[0]}x{size[1]} {'gray' if channels == 1 else 'RGB'}"


def filters(tripipe, size, channels, rounds, folder, only):
    """Every filter on one image of bytes: exact results, then turns."""
    import cv2
    import numpy as np

    width, height = size
    image = np.random.default_rng(2).integers(0, 256, (height, width, channels), dtype=np.uint8).squeeze()
    bytes_out, shorts_out = np.empty_like(image), np.empty(image.shape, dtype=np.int16)
    theirs = {
        "gaussian5": lambda: cv2.GaussianBlur(image, (5, 5), 0, dst=bytes_out),
        "sobel": lambda: cv2.Sobel(image, cv2.CV_16S, 1, 0, dst=shorts_out),
        "median3": lambda: cv2.medianBlur(image, 3, dst=bytes_out),
        "box3": lambda: cv2.blur(image, (3, 3), dst=bytes_out),
        "box5": lambda: cv2.blur(image, (5, 5), dst=bytes_out),
    }
    source, result = folder / "picture", folder / "result"
    image.tofile(source)
    inner = np.s_[2:-2, 2:-2]
    samples = {}
    for name in FILTERS:
        if only not in label(name, size, channels):
            continue
        work = theirs[name]
        tripipe.seconds("filter", name, width, height, channels, source, result, 1)
        want = work()
        ours = np.fromfile(result, dtype=want.dtype).reshape(want.shape)
        # OpenCV's border of the median is another one.
        if not np.array_equal(ours[inner], want[inner]):
            raise SystemExit(f"{name}: the results differ")
        samples[label(name, size, channels)] = take_turns(
            rounds,
            5 if width > 4000 else 20,
            {
                "tripipe": lambda runs: tripipe.seconds("filter", name, width, height, channels, "-", "-", runs),
                "opencv": lambda runs: timed(runs, work),
            },
        )
    return samples


def sampling(tripipe, channels, rounds, folder, only):
    """The bilateral filter and other extents: results within a few steps of OpenCV's, then turns."""
    import cv2
    import numpy as np

    width, height = SMALL_SIZE
    image = np.random.default_rng(3).integers(0, 256, (height, width, channels), dtype=np.uint8).squeeze()
    source, result = folder / "picture", folder / "result"
    image.tofile(source)
    flags = {"nearest": cv2.INTER_NEAREST, "bilinear": cv2.INTER_LINEAR, "area": cv2.INTER_AREA}
    blurred = np.empty_like(image)
    cases = {
        "bilateral9": (
            ["filter", "bilateral9", width, height, channels],
            lambda: cv2.bilateralFilter(image, 9, 50, 3, dst=blurred),
            BILATERAL_STEPS,
        )
    }
    for (name, size), steps in RESIZES.items():
        resized = np.empty((size[1], size[0], *image.shape[2:]), dtype=np.uint8)
        cases[f"{name} to {size[0]}x{size[1]} of"] = (
            ["resize", name, width, height, *size, channels],
            lambda size=size, flag=flags[name], to=resized: cv2.resize(image, size, dst=to, interpolation=flag),
            steps,
        )
    inner = np.s_[4:-4, 4:-4]
    samples = {}
    for name, (command, work, steps) in cases.items():
        if only not in label(name, SMALL_SIZE, channels):
            continue
        tripipe.seconds(*command, source, result, 1)
        want = work()
        ours = np.fromfile(result, dtype=np.uint8).reshape(want.shape)
        if np.abs(ours[inner].astype(int) - want[inner]).max() > steps:
            raise SystemExit(f"{name}: the results differ")
        samples[label(name, SMALL_SIZE, channels)] = take_turns(
            rounds,
            3 if name == "bilateral9" else 20,
            {
                "tripipe": lambda runs: tripipe.seconds(*command, "-", "-", runs),
                "opencv": lambda runs: timed(runs, work),
            },
        )
    return samples


def gemm(tripipe, n, rounds, folder):
    import numpy as np

    random = np.random.default_rng(n)
    a, b = (random.standard_normal((n, n), dtype=np.float32) for _ in range(2))
    c = np.empty_like(a)
    source, result = folder / "operands", folder / "product"
    np.stack([a, b]).astype("<f4").tofile(source)
    tripipe.seconds("gemm_f32", n, n, n, source, result, 1)
    ours = np.fromfile(result, dtype="<f4").reshape(n, n)
    np.matmul(a, b, out=c)
    # Both against f64, with the textbook's bound for sums of n products.
    exact = a.astype(np.float64) @ b.astype(np.float64)
    bound = n * np.finfo(np.float32).eps * (np.abs(a).astype(np.float64) @ np.abs(b).astype(np.float64))
    for name, product in [("tripipe", ours), ("numpy", c)]:
        if not (np.abs(product - exact) <= bound).all():
            raise SystemExit(f"gemm {n}: the product of {name} is wrong")
    return take_turns(
        rounds,
        max(3, 5 * 1024 // n),
        {
            "tripipe": lambda runs: tripipe.seconds("gemm_f32", n, n, n, "-", "-", runs),
            "numpy": lambda runs: timed(runs, lambda: np.matmul(a, b, out=c)),
        },
    )


def machine():
    """What was measured with. No host name, no paths."""
    import cv2
    import numpy as np
    import threadpoolctl

    cpu, memory = platform.processor(), None
    try:
        info = pathlib.Path("/proc/cpuinfo").read_text().splitlines()
        cpu = next(line.split(":", 1)[1].strip() for line in info if line.startswith("model name"))
        flags = next(line.split(":", 1)[1].split() for line in info if line.startswith("flags"))
        vectors = [flag for flag in ("sse2", "avx2", "fma", "avx512f", "avx512bw") if flag in flags]
        memory = next(
            int(line.split()[1]) // 1024
            for line in pathlib.Path("/proc/meminfo").read_text().splitlines()
            if line.startswith("MemTotal")
        )
    except (OSError, StopIteration):
        vectors = []
    blas = [library for library in threadpoolctl.threadpool_info() if library["user_api"] == "blas"]
    if not any(library["internal_api"] == "openblas" for library in blas):
        raise SystemExit("this numpy does not use OpenBLAS")
    commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True).stdout.strip()
    changed = subprocess.run(
        ["git", "status", "--porcelain", "--", "crates/tripipe/src/cpu", "crates/tripipe/benches", "benches"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    ).stdout.strip()
    return {
        "cpu": cpu,
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "vector_extensions": vectors,
        "memory_mib": memory,
        "load_average_before": os.getloadavg()[0],
        "system": f"{platform.system()} {platform.release().split('-')[0]}",
        "rustc": subprocess.run(["rustc", "--version"], cwd=ROOT, capture_output=True, text=True).stdout.strip(),
        "python": platform.python_version(),
        "opencv": cv2.__version__,
        "opencv_threads": cv2.getNumThreads(),
        "numpy": np.__version__,
        "blas": [{key: library[key] for key in ("internal_api", "version", "num_threads", "architecture")} for library in blas],
        "commit": commit + (" with changes" if changed else ""),
    }


def row(name, samples, ours, theirs, bar):
    medians = {who: statistics.median(seconds) for who, seconds in samples.items()}
    ratio = medians[theirs] / medians[ours]
    return {
        "name": name,
        "ours": ours,
        "theirs": theirs,
        "median_ms": {who: round(1e3 * seconds, 3) for who, seconds in medians.items()},
        "min_ms": {who: round(1e3 * min(seconds), 3) for who, seconds in samples.items()},
        "ratio_of_medians": round(ratio, 2),
        "ratio_of_minima": round(min(samples[theirs]) / min(samples[ours]), 2),
        "bar": bar,
        "met": ratio >= bar,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=20, help="turns of each contender (default 20)")
    parser.add_argument("--only", default="", help="only what has this in its name")
    parser.add_argument("--out", type=pathlib.Path, help="folder for results.json")
    parser.add_argument("--threads", type=int, help="threads of every contender (default: all cores)")
    options = parser.parse_args()
    reexec_in_venv()
    if options.threads:
        for variable in ("RAYON_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
            os.environ[variable] = str(options.threads)
        import cv2

        cv2.setNumThreads(options.threads)

    tripipe = Tripipe()
    result = {"command": " ".join(["python3", "benches/cpu_bars.py", *sys.argv[1:]]), "machine": machine()}
    samples, rows = {}, []
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        name = f"laplace_rgb {WIDTH}x{HEIGHT}"
        if options.only in name:
            samples[name] = laplace(tripipe, options.rounds, folder)
            rows.append(row(name, samples[name], "tripipe", "opencv", LAPLACE_BAR))
            rows.append(row(f"{name}, beside a copy", samples[name], "tripipe", "copy", COPY_BAR))
        for size, channels in [(size, channels) for size in FILTER_SIZES for channels in (1, 3)]:
            for name, turns in filters(tripipe, size, channels, options.rounds, folder, options.only).items():
                samples[name] = turns
                rows.append(row(name, turns, "tripipe", "opencv", FILTER_BAR))
        for channels in (1, 3):
            for name, turns in sampling(tripipe, channels, options.rounds, folder, options.only).items():
                samples[name] = turns
                rows.append(row(name, turns, "tripipe", "opencv", SAMPLING_BAR))
        shapes = [[n, n, n] for n in GEMM_SIZES] + [[1, 4096, 4096], [4096, 1, 4096]]
        for m, n, k in shapes:
            kinds = {kind: lambda runs, kind=kind: tripipe.seconds("gemm", kind, m, n, k, runs) for kind in ("f16", "f32", "i8")}
            name = f"gemm_f16 {m}x{n}x{k}, beside f32"
            if options.only in name:
                samples[name] = take_turns(options.rounds, max(3, 5 * 1024 // k), kinds)
                rows.append(row(name, samples[name], "f16", "f32", HALF_BAR))
        products = []
        for n in GEMM_SIZES:
            name = f"gemm_f32 {n}"
            if options.only in name:
                samples[name] = gemm(tripipe, n, options.rounds, folder)
                products.append((n, row(name, samples[name], "tripipe", "numpy", GEMM_BAR)))
        rows += [r for _, r in products]
    # What no product can pass: multiply-adds in registers on every core, 10^8 operations each.
    cores = options.threads or result["machine"]["cores"]
    samples["multiply_add"] = take_turns(
        options.rounds, 50, {"tripipe": lambda runs: tripipe.seconds("multiply_add", cores, runs)}
    )
    peak = cores * 0.1 / min(samples["multiply_add"]["tripipe"])
    result["peak_gflops"] = round(peak, 1)
    for n, r in products:
        r["gflops_best"] = {who: round(2 * n**3 / ms / 1e6, 1) for who, ms in r["min_ms"].items()}
        r["highest_possible_ratio"] = round(peak / r["gflops_best"]["numpy"], 2)
    result |= {"load_average_after": os.getloadavg()[0], "rows": rows, "samples_seconds": samples}

    print(f"{'':44} {'tripipe':>10} {'other':>10} {'ratio':>7} {'of minima':>10} {'bar':>5}")
    for r in rows:
        print(
            f"{r['name']:44} {r['median_ms'][r['ours']]:7.2f} ms {r['median_ms'][r['theirs']]:7.2f} ms {r['ratio_of_medians']:6.2f}x"
            f" {r['ratio_of_minima']:9.2f}x {r['bar']:4}x {'met' if r['met'] else 'NOT MET'}"
        )
    load, cores = result["machine"]["load_average_before"], result["machine"]["cores"]
    if load > 0.3 * cores:
        print(f"the machine was busy (load average {load:.1f} on {cores} cores): take these times for upper bounds, no more")
    print(f"f32 multiply-adds in registers on all cores: {result['peak_gflops']} GFLOP/s; at their best the products reach")
    for _, r in products:
        best = r["gflops_best"]
        print(
            f"  {r['name']:22} tripipe {best['tripipe']:6.1f} ({best['tripipe'] / result['peak_gflops']:.0%}),"
            f" numpy {best['numpy']:6.1f} ({best['numpy'] / result['peak_gflops']:.0%}):"
            f" no product can be more than {r['highest_possible_ratio']}x numpy's"
        )
    if options.out:
        options.out.mkdir(parents=True, exist_ok=True)
        (options.out / "results.json").write_text(json.dumps(result, indent=1) + "\n")
    return 0 if all(r["met"] for r in rows) else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except SystemExit as end:
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
            sys.exit(2)
        raise
    except (subprocess.CalledProcessError, OSError) as error:
        print(error, file=sys.stderr)
        sys.exit(2)
