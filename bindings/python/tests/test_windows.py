"""Any weights, ranks, thresholds and smooth resizing, beside SciPy, NumPy and OpenCV."""

import cv2
import numpy
import pytest
import scipy.ndimage
import tripipe

KERNELS = [
    numpy.array([[0, -1, 0], [-1, 5, -1], [0, -1, 0]]),
    numpy.array([[1, 2, 3, 4, 5], [0, -7, 0, 2, 1], [9, 9, 9, -9, 3]]),
    numpy.array([[0.25, -1.5, 3.0]]),
    numpy.random.default_rng(1).uniform(-1, 1, (7, 5)),
]


@pytest.mark.parametrize("kernel", KERNELS, ids=["sharpen", "integers", "row", "real"])
@pytest.mark.parametrize("dtype", ["uint8", "int16", "float32"])
def test_any_weights_are_scipy_s(context, random_array, kernel, dtype):
    img = random_array((30, 40), dtype)
    if dtype == "int16":
        img //= 64
    limits = numpy.iinfo(dtype) if dtype != "float32" else None
    for ours, theirs in [
        (tripipe.correlate, scipy.ndimage.correlate),
        (tripipe.convolve, scipy.ndimage.convolve),
    ]:
        exact = theirs(img.astype(numpy.float64), kernel / 3, mode="reflect")
        found = ours(img, kernel, 3, border="reflect", context=context)
        assert found.dtype == img.dtype
        if limits is None:
            assert numpy.abs(found - exact).max() < 1e-5 * numpy.abs(kernel).sum()
        else:
            exact = numpy.clip(exact, limits.min, limits.max)
            assert numpy.abs(found - exact).max() <= (0.51 if kernel.dtype.kind == "i" else 1)


def test_weights_are_a_stage():
    chain = tripipe.Chain(tripipe.weights([[1, 2, 1]], 4) + ",sobel")
    assert chain.depth == (1, 2)
    for wrong in ([1, 2, 1], "x", [["a"]]):
        with pytest.raises(ValueError, match="kernel: "):
            tripipe.weights(wrong)
    with pytest.raises(ValueError, match="chain: .*2x1"):
        tripipe.correlate(numpy.zeros((5, 5), numpy.uint8), [[1, 2]])


@pytest.mark.parametrize("size", [3, 5, 7, 11])
@pytest.mark.parametrize("dtype", ["uint8", "int16", "uint16", "float16", "float32"])
def test_ranks_are_scipy_s(context, random_array, size, dtype):
    img = random_array((25, 30), dtype)
    modes = {"reflect": "reflect", "replicate": "nearest", "wrap": "wrap"}
    for (border, mode), percent in zip(modes.items(), (0, 37.5, 100)):
        wanted = scipy.ndimage.percentile_filter(img.astype("float64"), percent, size=size, mode=mode)
        found = tripipe.filter(img, f"percentile:{size}:{percent}", border=border, context=context)
        assert numpy.array_equal(found, wanted)
        wanted = scipy.ndimage.rank_filter(img.astype("float64"), 4, size=size, mode=mode)
        assert numpy.array_equal(tripipe.filter(img, f"rank:{size}:4", border=border, context=context), wanted)
    wanted = scipy.ndimage.median_filter(img.astype("float64"), size=size, mode="reflect")
    assert numpy.array_equal(tripipe.filter(img, f"median:{size}", border="reflect", context=context), wanted)


def test_medians_of_colours_are_opencv_s(random_array):
    img = random_array((60, 70, 3), numpy.uint8)
    for size in (7, 15, 31):
        found = tripipe.filter(img, f"median:{size}", border="replicate")
        assert numpy.array_equal(found, cv2.medianBlur(img, size))


@pytest.mark.parametrize("dtype", ["uint8", "int16", "uint16", "float16", "float32"])
def test_thresholds_are_comparisons(context, random_array, dtype):
    img = random_array((40, 50), dtype)
    levels = [0, -0.25, 0.5, 100, 127.5, 255, -3000, 32767, 65535, 1e30]
    if img.dtype.kind == "f":
        img[0, :4] = [numpy.nan, numpy.inf, -numpy.inf, 0]
        levels += [float(img[5, 5]), float(numpy.nextafter(img[5, 5], img.dtype.type(9)))]
    for level in levels:
        wanted = numpy.where(img.astype("float64") > numpy.float32(level), 255, 0)
        found = tripipe.filter(img, f"threshold:{numpy.float32(level)}", context=context)
        assert found.dtype == numpy.uint8
        assert numpy.array_equal(found, wanted), level
    if dtype == "uint8":
        assert numpy.array_equal(
            tripipe.filter(img, "threshold:99", context=context), cv2.threshold(img, 99, 255, cv2.THRESH_BINARY)[1]
        )


@pytest.mark.parametrize("how", ["cubic", "lanczos4"])
@pytest.mark.parametrize("dtype", ["uint8", "int16", "uint16", "float32"])
@pytest.mark.parametrize("size", [(60, 80), (31, 47), (20, 30), (7, 9)])
def test_smooth_resizing_is_opencv_s(context, random_array, how, dtype, size):
    img = random_array((20, 30, 3), dtype)
    found = tripipe.resize(img, size, how, context=context)
    method = {"cubic": cv2.INTER_CUBIC, "lanczos4": cv2.INTER_LANCZOS4}[how]
    # In float: OpenCV rounds the weights for bytes.
    wanted = cv2.resize(img.astype(numpy.float32), size[::-1], interpolation=method)
    if dtype != "float32":
        limits = numpy.iinfo(dtype)
        wanted = numpy.clip(wanted, limits.min, limits.max)
    # OpenCV's Lanczos weights are those of a table of sines.
    allowed = {"uint8": 1, "int16": 1 + 8, "uint16": 1 + 16, "float32": 3e-4}[dtype]
    assert numpy.abs(found.astype(numpy.float64) - wanted).max() <= allowed


def test_flat_images_stay_flat_when_they_are_resized(context):
    for how in ("cubic", "lanczos4"):
        for dtype, level in (("uint8", 255), ("int16", -32768), ("uint16", 65535)):
            flat = numpy.full((5, 7), level, dtype)
            assert (tripipe.resize(flat, (13, 4), how, context=context) == level).all()
