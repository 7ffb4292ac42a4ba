#!/usr/bin/env python3
"""Compares the package for Python with OpenCV, SciPy, scikit-image and pyclesperanto, side by side in one run.

    python3 benches/python_peers.py [--wheel FILE] [--part opencv,scipy,opencl,calls] [--device opencl:0] [--only TEXT]
                                    [--rounds N] [--quick] [--out data/runs/NAME]

Makes a virtual environment in target/python-peers with the versions below, and installs the wheel there; without --wheel it
builds one in release mode. The contenders of a case take turns, with all cores each, on the same arrays. What each computed is
compared first, the border aside.

Parts: `opencv` (results are written to an array that exists), `scipy` with scikit-image (fresh results), `opencl` with
pyclesperanto on the same OpenCL device (arrays stay there; each sample waits for its result), and `calls`: what a call costs
on next to no data.

With --out, every sample goes to PART.json in that folder, in seconds, with the machine and the versions.

Exit code: 0 when all bars are met, 1 when one is not, 2 when a result differs or something fails.
"""

from __future__ import annotations

import argparse
import functools
import os
import pathlib
import statistics
import subprocess
import time

from bench import ROOT, continue_in_venv, cores, finish, machine, noise, save, seconds_of

PACKAGES = {
    "numpy": "2.4.6",
    "scipy": "1.17.1",
    "opencv-python-headless": "5.0.0.93",
    "scikit-image": "0.26.0",
    "pyclesperanto": "0.25.1",
}

LARGE, SMALL = (4320, 7680), (1080, 1920)
# How many times as fast as the other library, by its median: the project's own bars.
OPENCV_BAR, CLESPERANTO_BAR = 1.5, 50.0
CALL_BAR_MICROSECONDS = 10.0
# Pixels at each side that are not compared: borders differ.
BORDER = 4
# A sample that takes longer is not repeated.
LONG_SECONDS = 2.0
PAUSE_SECONDS = 0.02


def install(wheel: str | None, venv: pathlib.Path, pip: list[str]) -> None:
    """Installs the pinned packages and the wheel, building it first where none was given."""
    if wheel is None:
        subprocess.run([*pip, "maturin==1.16.0"], check=True)
        dist = ROOT / "target" / "python-peers-dist"
        build = [str(venv / "bin" / "maturin"), "build", "--release", "--manifest-path", "bindings/python/Cargo.toml"]
        subprocess.run([*build, "--out", str(dist)], cwd=ROOT, check=True)
        wheel = str(max(dist.glob("tripipe-*.whl"), key=lambda path: path.stat().st_mtime))
    subprocess.run([*pip, *(f"{name}=={version}" for name, version in PACKAGES.items())], check=True)
    subprocess.run([*pip, "--force-reinstall", "--no-deps", wheel], check=True)


class Differs(Exception):
    """A result is not what the other library computes."""


class Bench:
    """Takes turns and collects what they gave."""

    def __init__(self, options):
        self.only, self.quick = options.only, options.quick
        self.rounds = options.rounds or (3 if options.quick else 7)
        self.turn_seconds = 0.02 if options.quick else 0.06
        self.rows, self.samples, self.devices = [], {}, {}

    def wants(self, name):
        return self.only in name

    def compare(self, name, contenders, bars):
        """`contenders` maps names to functions; the first is ours. `bars` maps others to their bars, or None."""
        samples = {who: [] for who in contenders}
        first = {}
        for who, work in contenders.items():
            # Results were compared before, so that this is not the first call.
            first[who] = seconds_of(work)
            if first[who] <= LONG_SECONDS:
                first[who] = min(first[who], seconds_of(work))
        for turn in range(self.rounds):
            for who, work in contenders.items():
                if first[who] > LONG_SECONDS:
                    samples[who] = [first[who]]
                    continue
                time.sleep(PAUSE_SECONDS)
                work()
                runs = min(50, max(1, round(self.turn_seconds / first[who])))
                samples[who] += [seconds_of(work) for _ in range(runs)]
        self.samples[name] = samples
        ours = next(iter(contenders))
        row = {
            "name": name,
            "median_ms": {who: round(1e3 * statistics.median(times), 4) for who, times in samples.items()},
            "min_ms": {who: round(1e3 * min(times), 4) for who, times in samples.items()},
            "samples": {who: len(times) for who, times in samples.items()},
            "ratio_of_medians": {},
            "ratio_of_minima": {},
            "bars": bars,
        }
        for who, times in samples.items():
            if who != ours:
                row["ratio_of_medians"][who] = round(statistics.median(times) / statistics.median(samples[ours]), 2)
                row["ratio_of_minima"][who] = round(min(times) / min(samples[ours]), 2)
        row["met"] = all(bar is None or row["ratio_of_medians"][who] >= bar for who, bar in bars.items())
        self.rows.append(row)
        others = "  ".join(
            f"{who} {row['median_ms'][who]:9.3f} ms {row['ratio_of_medians'][who]:7.2f}x {row['ratio_of_minima'][who]:7.2f}x"
            for who in samples
            if who != ours
        )
        print(f"{name:34} {row['median_ms'][ours]:9.3f} ms  {others}{'' if row['met'] else '  NOT MET'}", flush=True)


def agree(name, who, ours, theirs, steps):
    """Results within `steps` of a byte's 256 steps, inside of the border."""
    import numpy as np

    inner = np.s_[BORDER:-BORDER, BORDER:-BORDER]
    if ours.shape != theirs.shape:
        raise Differs(f"{name}: {who} has the shape {theirs.shape} instead of {ours.shape}")
    scale = 1.0 if ours.dtype == np.uint8 else 255.0
    # Sums of the derivatives of bytes saturate.
    theirs = np.clip(theirs[inner], 0, 255) if ours.dtype == np.uint8 else theirs[inner]
    largest = float(np.abs(ours[inner].astype(np.float32) - theirs.astype(np.float32)).max()) * scale
    if not largest <= steps:
        raise Differs(f"{name}: {who} differs by {largest} steps, allowed are {steps}")


def cases(quick, is_large_gray_only=False):
    """Sizes, types and channels: label, shape, type."""
    import numpy as np

    for size in [SMALL] if quick else [LARGE, SMALL]:
        for dtype in (np.uint8, np.float32):
            for channels in (1,) if is_large_gray_only and size == LARGE else (1, 3):
                shape = size if channels == 1 else (*size, channels)
                kind = (
                    f"{size[1]}x{size[0]} {'u8' if dtype is np.uint8 else 'f32'} {'gray' if channels == 1 else 'RGB'}"
                )
                yield kind, shape, dtype


OPERATIONS = ["gaussian3", "gaussian5", "box5", "sobel-x", "sobel", "laplace", "median3", "erode5", "half"]
# Those that SciPy or scikit-image have too; with a sigma, because weights by size alone are OpenCV's.
SCIPY_OPERATIONS = ["gaussian5-sigma", "box5", "sobel-x", "median3", "erode5", "half"]
CHAINS = {
    "gaussian3": "gaussian:3",
    "gaussian5": "gaussian:5",
    "gaussian5-sigma": "gaussian:5:1.1",
    "gaussian13": "gaussian:13:1.1",
    "box5": "box:5",
    "sobel-x": "sobel-x",
    "sobel": "sobel",
    "laplace": "laplace4",
    "median3": "median:3",
    "erode5": "erode:5",
}


def ours(tripipe, img, operation, context, out=None):
    if operation == "half":
        size = (img.shape[0] // 2, img.shape[1] // 2)
        return tripipe.resize(img, size, "area", context=context, out=out)
    return tripipe.filter(img, CHAINS[operation], context=context, out=out)


def with_opencv(cv2, img, operation, out):
    """A call of OpenCV that writes to `out`, and by how many steps of a byte it may differ."""
    import numpy as np

    is_bytes = img.dtype == np.uint8
    depth = cv2.CV_8U if is_bytes else cv2.CV_32F
    if operation == "gaussian3":
        return lambda: cv2.GaussianBlur(img, (3, 3), 0, dst=out), 0 if is_bytes else 1e-3
    if operation == "gaussian5":
        return lambda: cv2.GaussianBlur(img, (5, 5), 0, dst=out), 0 if is_bytes else 1e-3
    if operation == "box5":
        return lambda: cv2.blur(img, (5, 5), dst=out), 0 if is_bytes else 1e-3
    if operation == "sobel-x":
        return lambda: cv2.Sobel(img, cv2.CV_16S if is_bytes else depth, 1, 0, dst=out), 0 if is_bytes else 1e-2
    if operation == "sobel":
        wide = cv2.CV_16S if is_bytes else cv2.CV_32F
        across, down = (np.empty(img.shape, np.int16 if is_bytes else np.float32) for _ in range(2))
        bytes_across, bytes_down = (np.empty_like(img) for _ in range(2))

        def both():
            cv2.Sobel(img, wide, 1, 0, dst=across)
            cv2.Sobel(img, wide, 0, 1, dst=down)
            if is_bytes:
                cv2.convertScaleAbs(across, dst=bytes_across)
                cv2.convertScaleAbs(down, dst=bytes_down)
                return cv2.add(bytes_across, bytes_down, dst=out)
            return cv2.add(cv2.absdiff(across, 0.0, dst=across), cv2.absdiff(down, 0.0, dst=down), dst=out)

        return both, 0 if is_bytes else 1e-2
    if operation == "laplace":
        return lambda: cv2.Laplacian(img, depth, dst=out, ksize=1), 0 if is_bytes else 1e-2
    if operation == "median3":
        return lambda: cv2.medianBlur(img, 3, dst=out), 0
    if operation == "erode5":
        kernel = np.ones((5, 5), np.uint8)
        return lambda: cv2.erode(img, kernel, dst=out), 0
    half = (img.shape[1] // 2, img.shape[0] // 2)
    return lambda: cv2.resize(img, half, dst=out, interpolation=cv2.INTER_AREA), 0 if is_bytes else 1e-3


def beside_opencv(bench, options):
    import cv2
    import numpy as np
    import tripipe

    cv2.setNumThreads(cores())
    for kind, shape, dtype in cases(bench.quick):
        img = noise(shape, dtype)
        for operation in OPERATIONS:
            name = f"{operation} {kind}"
            if not bench.wants(name):
                continue
            found = ours(tripipe, img, operation, "cpu")
            out, theirs = np.empty_like(found), np.empty_like(found)
            work, steps = with_opencv(cv2, img, operation, theirs)
            agree(name, "opencv", found, work(), steps)
            bar = OPENCV_BAR if shape[:2] == LARGE else None
            contenders = {
                "tripipe": lambda: ours(tripipe, img, operation, "cpu", out),
                "opencv": work,
            }
            bench.compare(name, contenders, {"opencv": bar})


def with_scipy(img, operation):
    """Calls of SciPy and scikit-image, with the steps of a byte by which they may differ."""
    import numpy as np
    import scipy.ndimage as nd
    from skimage import filters, morphology, transform

    is_bytes, has_channels = img.dtype == np.uint8, img.ndim == 3
    axes = (0, 1)
    channel = -1 if has_channels else None

    def window(size):
        return (size, size, 1) if has_channels else (size, size)

    if operation == "gaussian5-sigma":
        # SciPy stores the rows as bytes before it sums columns, and scikit-image does not round.
        found = {
            "scipy": (
                lambda: nd.gaussian_filter(img, 1.1, mode="mirror", radius=2, axes=axes),
                2 if is_bytes else 1e-3,
            ),
            "scikit-image": (
                lambda: filters.gaussian(
                    img, 1.1, mode="mirror", truncate=1.9, preserve_range=True, channel_axis=channel
                ),
                1.5 if is_bytes else 1e-3,
            ),
        }
    elif operation == "box5":
        found = {"scipy": (lambda: nd.uniform_filter(img, 5, mode="mirror", axes=axes), 2)}
    elif operation == "sobel-x":
        wide = np.int16 if is_bytes else np.float32

        def derivative():
            if not has_channels:
                return nd.sobel(img, 1, output=wide, mode="mirror")
            # Its Sobel would also smooth across the channels.
            across = nd.correlate1d(img, [-1, 0, 1], 1, output=wide, mode="mirror")
            return nd.correlate1d(across, [1, 2, 1], 0, mode="mirror")

        found = {"scipy": (derivative, 0 if is_bytes else 1e-2)}
    elif operation == "median3":
        found = {
            "scipy": (lambda: nd.median_filter(img, window(3), mode="mirror"), 0),
            "scikit-image": (lambda: filters.median(img, np.ones(window(3), bool), mode="mirror"), 0),
        }
    elif operation == "erode5":
        footprint = np.ones(window(5), np.uint8)
        found = {
            "scipy": (lambda: nd.minimum_filter(img, window(5), mode="mirror"), 0),
            "scikit-image": (lambda: morphology.erosion(img, footprint), 0),
        }
    elif operation == "half":
        factors = (2, 2, 1) if has_channels else (2, 2)
        # The mean is not rounded.
        found = {"scikit-image": (lambda: transform.downscale_local_mean(img, factors), 0.501)}
    else:
        found = {}
    return found


def beside_scipy(bench, options):
    import tripipe

    for kind, shape, dtype in cases(bench.quick, is_large_gray_only=True):
        img = noise(shape, dtype)
        for operation in SCIPY_OPERATIONS:
            name = f"{operation} {kind}"
            others = with_scipy(img, operation) if bench.wants(name) else {}
            if not others:
                continue
            found = ours(tripipe, img, operation, "cpu")
            for who, (work, steps) in others.items():
                agree(name, who, found, work(), steps)
            contenders = {"tripipe": lambda: ours(tripipe, img, operation, "cpu")}
            contenders |= {who: work for who, (work, _) in others.items()}
            bench.compare(name, contenders, dict.fromkeys(others))


def beside_clesperanto(bench, options):
    """Arrays stay on the device on both sides; every sample waits until its result is there."""
    import numpy as np
    import pyclesperanto as cle
    import tripipe

    context = tripipe.Context(options.device, cpu_when_faster=False)
    bench.devices = {"tripipe": context.name, "pyclesperanto": clesperanto_device(cle, context.name)}
    cle.wait_for_kernel_to_finish(True)
    print(f"tripipe: {context.name}; pyclesperanto: {bench.devices['pyclesperanto']}")
    shape = SMALL
    for dtype in (np.float32, np.uint8):
        img = noise(shape, dtype)
        pushed = cle.push(img)
        array = tripipe.array(img, context)
        kind = f"{shape[1]}x{shape[0]} {'u8' if dtype is np.uint8 else 'f32'} gray"
        calls = {
            # It has 13 weights for this sigma.
            "gaussian13": (lambda out: cle.gaussian_blur(pushed, out, sigma_x=1.1, sigma_y=1.1, sigma_z=0), 1),
            "box5": (
                lambda out: cle.mean_filter(pushed, out, radius_x=2, radius_y=2, radius_z=0, connectivity="box"),
                1,
            ),
            "median3": (lambda out: cle.median(pushed, out, radius_x=1, radius_y=1, radius_z=0, connectivity="box"), 0),
            "erode5": (
                lambda out: cle.minimum_filter(pushed, out, radius_x=2, radius_y=2, radius_z=0, connectivity="box"),
                0,
            ),
        }
        for operation, (work, steps) in calls.items():
            name = f"{operation} {kind}"
            if not bench.wants(name):
                continue
            found = ours(tripipe, array, operation, None).numpy()
            out = cle.create_like(pushed)
            agree(name, "pyclesperanto", found, np.asarray(cle.pull(work(out))), steps)

            def on_device():
                ours(tripipe, array, operation, None)
                context.finish()

            contenders = {"tripipe": on_device, "pyclesperanto": lambda: work(out)}
            bench.compare(name, contenders, {"pyclesperanto": CLESPERANTO_BAR})


def clesperanto_device(cle, name):
    """Selects its device with the name that the context has."""
    found = [known for known in cle.list_available_devices() if known in name or name in known]
    if not found:
        raise SystemExit(f"pyclesperanto has no device {name}, but {cle.list_available_devices()}")
    return str(cle.select_device(found[0]).name)


def calls(bench, options):
    """Microseconds of calls on next to no data."""
    import cv2
    import numpy as np
    import tripipe

    img = noise((16, 16), np.uint8)
    out, chain = np.empty_like(img), tripipe.Chain("box:3")
    a, b = noise((2, 2), np.float32), noise((2, 2), np.float32, 12)
    explained = noise(SMALL, np.uint8)
    cv2.setNumThreads(cores())
    pairs = {
        "filter 16x16, chain as text": (lambda: tripipe.filter(img, "box:3"), lambda: cv2.blur(img, (3, 3))),
        "filter 16x16, Chain and out": (
            lambda: tripipe.filter(img, chain, out=out),
            lambda: cv2.blur(img, (3, 3), dst=out),
        ),
        "matmul 2x2": (lambda: tripipe.matmul(a, b), lambda: np.matmul(a, b)),
    }
    alone = {
        "explain of a filter": lambda: tripipe.explain(explained, chain),
        "explain of a product": lambda: tripipe.explain_matmul(a, b),
    }
    for name, works in [*pairs.items(), *((name, (work,)) for name, work in alone.items())]:
        if not bench.wants(name):
            continue
        runs = 300 if name in alone else 2000
        samples = {who: [] for who in ("tripipe", "other")[: len(works)]}
        for _ in range(4 * bench.rounds):
            for who, work in zip(samples, works):
                start = time.perf_counter()
                for _ in range(runs):
                    work()
                samples[who].append((time.perf_counter() - start) / runs)
        bench.samples[name] = samples
        medians = {who: round(1e6 * statistics.median(times), 2) for who, times in samples.items()}
        minima = {who: round(1e6 * min(times), 2) for who, times in samples.items()}
        bar = None if name in alone else CALL_BAR_MICROSECONDS
        met = bar is None or medians["tripipe"] <= bar
        bench.rows.append(
            {"name": name, "median_us": medians, "min_us": minima, "bar_us": bar, "runs_per_sample": runs, "met": met}
        )
        other = f"  other {medians['other']:8.2f} us" if "other" in medians else ""
        print(f"{name:34} {medians['tripipe']:9.2f} us{other}{'' if met else '  NOT MET'}", flush=True)


PARTS = {"opencv": beside_opencv, "scipy": beside_scipy, "opencl": beside_clesperanto, "calls": calls}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--wheel", help="a built wheel")
    parser.add_argument("--part", default=",".join(PARTS), help="what is compared, separated by commas")
    parser.add_argument("--device", default="opencl:0", help="the OpenCL device of the part `opencl`")
    parser.add_argument("--rounds", type=int, help="turns of each contender (default 7, or 3 with --quick)")
    parser.add_argument("--quick", action="store_true", help="a shorter run, without the largest images")
    parser.add_argument("--only", default="", help="only what has this in its name")
    parser.add_argument("--out", type=pathlib.Path, help="folder for the samples")
    options = parser.parse_args()
    parts = options.part.split(",")
    if unknown := [part for part in parts if part not in PARTS]:
        parser.error(f"--part {unknown[0]}: parts are {', '.join(PARTS)}")
    continue_in_venv("python-peers", functools.partial(install, options.wheel))

    missed = 0
    for part in parts:
        bench = Bench(options)
        command = f"python3 benches/python_peers.py --part {part}{' --quick' if options.quick else ''}"
        result = {"command": command, "machine": machine([*PACKAGES, "tripipe"], ["crates", "bindings/python"])}
        print(f"{part}: medians; for others also their time divided by tripipe's, of medians and of minima")
        PARTS[part](bench, options)
        result |= {"load_average_after": os.getloadavg()[0], "rows": bench.rows, "samples_seconds": bench.samples}
        result["machine"] |= {"devices": bench.devices} if bench.devices else {}
        missed += sum(not row["met"] for row in bench.rows)
        save(options.out, f"{part}.json", result)
    print(f"{missed} bars are not met")
    return 1 if missed else 0


if __name__ == "__main__":
    finish(main, Differs)
