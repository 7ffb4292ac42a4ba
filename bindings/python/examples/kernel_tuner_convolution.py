#!/usr/bin/env python3
"""Kernel Tuner with predictions of Tripipe: as a restriction that prunes the space, and as a metric beside the time.

    python3 kernel_tuner_convolution.py --gpu mali-g77 [--keep 0.1] [--platform 0] [--size 1024] [--all] [--cache FILE]

It tunes `convolution.cl` over the parameters of Kernel Tuner's own convolution example: 864 sets. Before anything is
measured, each is analysed for the GPU (`tripipe.analyze`), and the fastest tenth by prediction is measured, on the
OpenCL platform of the phone or board. With `--all` all are measured, which tells what the restriction lost.

Needs `pip install tripipe kernel-tuner pyopencl`, and clang for the analysis. Without a phone, a virtual GPU serves as
a platform (docs/driver.md).
"""

from __future__ import annotations

import argparse
import itertools
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import kernel_tuner
import numpy
import tripipe

RADIUS = 3
SOURCE = Path(__file__).with_name("convolution.cl")
# The space of Kernel Tuner's example (examples/opencl/convolution.py).
SPACE: dict[str, list[int]] = {
    "block_size_x": [16 * i for i in range(1, 9)],
    "block_size_y": [2**i for i in range(6)],
    "tile_size_x": [2**i for i in range(3)],
    "tile_size_y": [2**i for i in range(3)],
    "use_padding": [0, 1],
}
GRID = {"grid_div_x": ["block_size_x", "tile_size_x"], "grid_div_y": ["block_size_y", "tile_size_y"]}


class Predictions:
    """The predicted time of each set of parameters on a GPU, in microseconds; infinite where the GPU cannot run it."""

    def __init__(self, space: Mapping[str, Sequence[int]], size: int, gpu: str) -> None:
        self.names = list(space)
        points = list(itertools.product(*space.values()))
        # An analysis is a process of its own, so threads suffice.
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            times = pool.map(lambda point: predicted(dict(zip(self.names, point)), size, gpu), points)
            self.microseconds = dict(zip(points, times))

    def of(self, parameters: Mapping[str, Any]) -> float:
        """A metric: the prediction for these parameters, in microseconds."""
        return self.microseconds[tuple(parameters[name] for name in self.names)]

    def within(self, share: float) -> Callable[[dict[str, Any]], bool]:
        """A restriction: the fastest `share` of all sets that can run."""
        known = sorted(time for time in self.microseconds.values() if numpy.isfinite(time))
        limit = known[max(round(share * len(known)), 1) - 1]

        # Not a lambda, whose source Kernel Tuner would read.
        def is_kept(parameters: dict[str, Any]) -> bool:
            return self.of(parameters) <= limit

        return is_kept


def predicted(parameters: Mapping[str, int], size: int, gpu: str) -> float:
    """The predicted time of one set of parameters, in microseconds."""
    block = [parameters["block_size_x"], parameters["block_size_y"]]
    tile = [parameters["tile_size_x"], parameters["tile_size_y"]]
    groups = [-(-size // (block[axis] * tile[axis])) for axis in range(2)]
    (analysis,) = tripipe.analyze(
        SOURCE,
        {"width": size, "height": size},
        global_size=[groups[axis] * block[axis] for axis in range(2)],
        local_size=block,
        gpu=gpu,
        defines=parameters,
    ).analyses
    return analysis.prediction.seconds * 1e6 if analysis.prediction else numpy.inf


def tune(
    space: Mapping[str, Sequence[int]],
    size: int,
    predictions: Predictions,
    restrictions: Iterable[Callable[[dict[str, Any]], bool]] = (),
    **options: Any,
) -> list[dict[str, Any]]:
    """The results of Kernel Tuner, with the prediction beside each time."""
    generator = numpy.random.default_rng(1)
    image = generator.random((size + 2 * RADIUS, size + 2 * RADIUS), numpy.float32)
    weights = generator.random((2 * RADIUS + 1) ** 2, numpy.float32)
    result = numpy.zeros((size, size), numpy.float32)
    arguments = [image, weights, result, numpy.int32(size), numpy.int32(size)]
    results, _ = kernel_tuner.tune_kernel(
        "convolve",
        SOURCE.read_text(),
        (size, size),
        arguments,
        dict(space),
        restrictions=list(restrictions) or None,
        metrics={"predicted_us": predictions.of},
        lang="OpenCL",
        **GRID,
        **options,
    )
    return [each for each in results if isinstance(each["time"], float)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gpu", required=True, help="the GPU that is predicted, such as mali-g77")
    parser.add_argument("--keep", type=float, default=0.1, help="the share of the space that is measured (default 0.1)")
    parser.add_argument("--platform", type=int, default=0, help="the OpenCL platform that is measured on (default 0)")
    parser.add_argument("--size", type=int, default=1024, help="rows and columns of the image (default 1024)")
    parser.add_argument("--all", action="store_true", help="measure the whole space too, and compare")
    parser.add_argument("--cache", help="a file that Kernel Tuner keeps its measurements in, and goes on from")
    parser.add_argument("--iterations", type=int, default=7, help="runs of each set (default 7; 1 on a virtual GPU)")
    options = parser.parse_args()

    predictions = Predictions(SPACE, options.size, options.gpu)
    kept = predictions.within(options.keep)
    measured = {"platform": options.platform, "cache": options.cache, "iterations": options.iterations, "quiet": True}
    pruned = tune(SPACE, options.size, predictions, [kept], **measured)
    total = len(predictions.microseconds)
    print(f"{sum(map(numpy.isinf, predictions.microseconds.values()))} of {total} sets cannot run on {options.gpu}")
    best = min(pruned, key=lambda each: each["time"])
    print(f"{len(pruned)} of {total} sets were measured; best {1e3 * best['time']:.1f} us: {values(best)}")
    if options.all:
        every = tune(SPACE, options.size, predictions, **measured)
        fastest = min(every, key=lambda each: each["time"])
        print(f"of all {len(every)} that ran, best {1e3 * fastest['time']:.1f} us: {values(fastest)}")
        print(f"the best that was kept takes {best['time'] / fastest['time']:.3f} times as long")


def values(result: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {result[name]}" for name in SPACE)


if __name__ == "__main__":
    main()
