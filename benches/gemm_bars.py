#!/usr/bin/env python3
"""Compares the library's products with cuBLAS on an NVIDIA GPU, side by side in one run: the device's own times.

    cargo build --release -p tripipe --example gemm_shapes
    python3 benches/gemm_bars.py target/release/examples/gemm_shapes opencl:0 [--runs 20] [--out FILE]

Needs PyTorch with CUDA. The shapes are of products in real networks (ResNet-50, MobileNetV2, BERT, Llama-7B at batch 1, 8 and 128), and tall, wide
and deep ones. No entry of the library's table for this GPU was measured at one of them. A `t` marks weights that are stored transposed.

cuBLAS (fp32, `allow_tf32 = False`) is timed twice: by events of CUDA around a call, which include some 10 us that the driver needs between them,
and by the profiler, which sees kernels alone. Tripipe's times are those of OpenCL's events, from the start of a call's first kernel to the end of its
last one; an empty kernel takes 4 us by them. So neither measure is fair to both: the bars are for events beside events, and both ratios are printed.
The third one is the same for both: 200 calls in a row that nothing waits for, by the host's clock, divided by 200. What a call costs the host
counts there, where it takes longer than the kernel.
Both libraries multiply the same shape again and again, so operands may stay in the L2 cache.

Exit code: 0 when the bars are met (geometric mean 0.85 of cuBLAS' speed, none under 0.5; a product of a row at 0.8 of a copy's rate), 1 when one is
not, 2 when something fails.
"""

import argparse
import json
import math
import subprocess
import sys
import time

SHAPES = {
    "the first seven": "1000x1000x1000 1x4096x4096 8x4096x4096 128x11008x4096 196x512x4608 64x64x100000",
    "ResNet-50": "12544x64x147 3136x64x64 3136x64x576 3136x256x64 784x128x1152 784x512x128 196x256x2304 196x1024x256 49x512x4608 "
    "49x2048x512 49x512x2048",
    "MobileNetV2": "12544x96x16 3136x144x24 784x192x32 196x384x64 49x960x160 49x320x960 49x1280x320 1x1000x1280",
    "BERT": "128x768x768t 128x3072x768t 128x768x3072t 384x768x768t 384x64x384",
    "Llama-7B": "1x4096x11008t 1x11008x4096t 1x32000x4096t 8x11008x4096t 8x4096x11008t 128x4096x4096t 128x4096x11008t",
    "extremes": "16x16x65536 10000x10x10 32x20000x64 2000x2000x32",
}
MEAN_BAR, LEAST_BAR, ROW_BAR = 0.85, 0.5, 0.8


def parsed(shape):
    transposed = shape.endswith("t")
    return [int(extent) for extent in shape.rstrip("t").split("x")], transposed


def median(values):
    return sorted(values)[len(values) // 2]


def cublas(torch, shape, runs):
    """Median seconds of a call, three times: between CUDA's events around it, from its first kernel's start to its last one's end by the profiler, and
    in a row of calls."""
    from torch.profiler import ProfilerActivity, profile

    (m, n, k), transposed = parsed(shape)
    a = torch.randn(m, k, device="cuda")
    b = torch.randn(n, k, device="cuda").t() if transposed else torch.randn(k, n, device="cuda")
    c = torch.empty(m, n, device="cuda")
    for _ in range(5):
        torch.mm(a, b, out=c)
    torch.cuda.synchronize()
    seconds = []
    for _ in range(runs):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        torch.mm(a, b, out=c)
        end.record()
        torch.cuda.synchronize()
        seconds.append(begin.elapsed_time(end) * 1e-3)
    rows = []
    for _ in range(6):
        begin = time.perf_counter()
        for _ in range(200):
            torch.mm(a, b, out=c)
        torch.cuda.synchronize()
        rows.append((time.perf_counter() - begin) / 200)
    with profile(activities=[ProfilerActivity.CUDA]) as profiled:
        for _ in range(runs):
            torch.mm(a, b, out=c)
            torch.cuda.synchronize()
            time.sleep(0.0005)
    kernels = sorted(
        (event.time_range.start, event.time_range.end)
        for event in profiled.events()
        if event.device_type == torch.autograd.DeviceType.CUDA and "sync" not in event.name.lower()
    )
    spans = []
    for start, end in kernels:
        # Calls are at least half a millisecond apart, kernels of one call are not.
        if spans and start - spans[-1][1] < 150:
            spans[-1][1] = max(spans[-1][1], end)
        else:
            spans.append([start, end])
    if len(spans) < runs // 2:
        raise SystemExit(f"cuBLAS {shape}: the profiler saw {len(spans)} of {runs} calls")
    return median(seconds), median([end - start for start, end in spans]) * 1e-6, median(rows[1:])


def copy_rate(torch):
    """Bytes read and written per second by a copy of 2 GiB."""
    source = torch.empty(1 << 29, device="cuda")
    target = torch.empty_like(source)
    seconds = []
    for _ in range(10):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        target.copy_(source)
        end.record()
        torch.cuda.synchronize()
        seconds.append(begin.elapsed_time(end) * 1e-3)
    return 2 * source.numel() * 4 / median(seconds)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("binary")
    parser.add_argument("device")
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--out")
    options = parser.parse_args()
    import torch

    torch.backends.cuda.matmul.allow_tf32 = False
    shapes = " ".join(SHAPES.values()).split()
    command = [options.binary, options.device, str(options.runs), *shapes]
    run = subprocess.run(command, capture_output=True, text=True)
    if run.returncode != 0:
        sys.exit(f"{' '.join(command[:3])} ...: {run.stderr}")
    ours = {row["shape"]: row for row in map(json.loads, run.stdout.splitlines())}
    rate = copy_rate(torch)
    print(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}, copy {rate * 1e-12:.2f} TB/s")
    print(f"{'':>18} {'us: cuBLAS':>30} {'Tripipe':>17} {'speed beside cuBLAS':>23}")
    print(
        f"{'shape':>18} {'events':>10} {'profiler':>9} {'row':>9} {'events':>8} {'row':>8} {'events':>7} {'profiler':>8} {'row':>6}  kernel"
    )
    rows, failed = [], []
    for shape in shapes:
        (events, kernels, in_row), row = cublas(torch, shape, options.runs), ours[shape]
        seconds, row_seconds = median(row["seconds"]), median(row["row_seconds"])
        kernel = next(
            (line.split(None, 1)[1] for line in row["kernel"].splitlines() if line.startswith("  kernel")), ""
        )
        rows.append(
            {
                "shape": shape,
                "cublas_events": events,
                "cublas_profiler": kernels,
                "cublas_row": in_row,
                "tripipe": seconds,
                "tripipe_row": row_seconds,
                "samples": row["seconds"],
                "explanation": row["kernel"],
            }
        )
        (m, n, k), _ = parsed(shape)
        note = ""
        if m == 1:
            share = 4 * (k * n + k + n) / seconds / rate
            note = f"  {share:.2f} of a copy's rate"
            if share < ROW_BAR:
                failed.append(f"{shape}: {share:.2f} of a copy's rate")
        if events / seconds < LEAST_BAR:
            failed.append(f"{shape}: {events / seconds:.2f} of cuBLAS")
        times = f"{events * 1e6:>10.1f} {kernels * 1e6:>9.1f} {in_row * 1e6:>9.1f} {seconds * 1e6:>8.1f} {row_seconds * 1e6:>8.1f}"
        ratios = f"{events / seconds:>7.2f} {kernels / seconds:>8.2f} {in_row / row_seconds:>6.2f}"
        print(f"{shape:>18} {times} {ratios}  {kernel}{note}")
    means = {}
    for measure, own in (("events", "tripipe"), ("profiler", "tripipe"), ("row", "tripipe_row")):
        ratios = [row[f"cublas_{measure}"] / row[own] for row in rows]
        means[measure] = math.exp(sum(map(math.log, ratios)) / len(ratios))
        print(
            f"geometric mean of {len(rows)} shapes, beside cuBLAS by {measure}: {means[measure]:.3f} of its speed, least {min(ratios):.2f}"
        )
    if means["events"] < MEAN_BAR:
        failed.append(f"the mean is {means['events']:.3f}")
    if options.out:
        with open(options.out, "w") as file:
            json.dump(
                {"device": torch.cuda.get_device_name(), "torch": torch.__version__, "copy": rate, "rows": rows},
                file,
                indent=1,
            )
    print("\n".join(f"missed: {text}" for text in failed) or "all bars met")
    sys.exit(1 if failed else 0)


main()
