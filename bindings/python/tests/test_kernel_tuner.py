"""The example for Kernel Tuner: its kernel against SciPy, its restriction and its metric, measured on PoCL."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import numpy
import pytest
import scipy.ndimage
import tripipe

pytestmark = pytest.mark.skipif(
    not (os.environ.get("TRIPIPE_REQUIRE_CLANG") and os.environ.get("TRIPIPE_REQUIRE_OPENCL")),
    reason="needs clang and an OpenCL device",
)
kernel_tuner = pytest.importorskip("kernel_tuner")
sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))
import kernel_tuner_convolution as example  # noqa: E402

# Eight sets, of which two have more work-items in a group than a Mali-G77 takes.
SPACE = {
    "block_size_x": [16, 128],
    "block_size_y": [4, 8],
    "tile_size_x": [1],
    "tile_size_y": [1, 2],
    "use_padding": [1],
}
SIZE = 90


def platform() -> int:
    import pyopencl

    return next(at for at, each in enumerate(pyopencl.get_platforms()) if "Portable" in each.name)


@pytest.fixture(scope="module")
def predictions() -> Any:
    return example.Predictions(SPACE, SIZE, "mali-g77")


def test_predictions_are_those_of_the_workbench(predictions: Any) -> None:
    assert len(predictions.microseconds) == 8
    impossible = [point for point, time in predictions.microseconds.items() if numpy.isinf(time)]
    # 128 x 8 work-items; a Mali-G77 has at most 512 in a group.
    assert impossible == [(128, 8, 1, 1, 1), (128, 8, 1, 2, 1)]
    # 6 x 23 groups of 16 x 4 cover 90 x 90 pixels.
    (analysis,) = tripipe.analyze(
        example.SOURCE,
        {"width": SIZE, "height": SIZE},
        global_size=(96, 92),
        local_size=(16, 4),
        gpu="mali-g77",
        defines={"block_size_x": 16, "block_size_y": 4, "tile_size_x": 1, "tile_size_y": 1, "use_padding": 1},
    ).analyses
    assert analysis.prediction is not None
    assert predictions.microseconds[(16, 4, 1, 1, 1)] == pytest.approx(1e6 * analysis.prediction.seconds)


def test_the_space_is_pruned_and_every_result_is_right(predictions: Any) -> None:
    options = {"platform": platform(), "quiet": True, "iterations": 1}
    generator = numpy.random.default_rng(1)
    image = generator.random((SIZE + 6, SIZE + 6), numpy.float32)
    weights = generator.random(49, numpy.float32)
    wanted = scipy.ndimage.correlate(image.astype(float), weights.reshape(7, 7).astype(float))[3:-3, 3:-3]
    answer = [None, None, wanted.astype(numpy.float32), None, None]

    every = example.tune(SPACE, SIZE, predictions, answer=answer, atol=1e-3, **options)
    assert len(every) == 8, "each is right: Kernel Tuner drops those that differ from the answer"
    for result in every:
        point = tuple(result[name] for name in SPACE)
        assert result["predicted_us"] == predictions.microseconds[point]

    half = example.tune(SPACE, SIZE, predictions, [predictions.within(0.5)], **options)
    fastest = sorted(time for time in predictions.microseconds.values() if numpy.isfinite(time))[:3]
    assert sorted(result["predicted_us"] for result in half) == fastest

    (only,) = example.tune(SPACE, SIZE, predictions, [predictions.within(0.0)], **options)
    assert only["predicted_us"] == fastest[0]
