"""Filters against OpenCV and SciPy: shapes, strides, types, borders."""

import cv2
import numpy
import pytest
import scipy.ndimage
import tripipe

BORDERS = {
    "reflect101": cv2.BORDER_REFLECT_101,
    "reflect": cv2.BORDER_REFLECT,
    "replicate": cv2.BORDER_REPLICATE,
    "constant:0": cv2.BORDER_CONSTANT,
}
LAPLACE8 = numpy.array([[1, 1, 1], [1, -8, 1], [1, 1, 1]], numpy.float32)


def sobel(img, border):
    across = cv2.Sobel(img, cv2.CV_32S if img.dtype != numpy.uint8 else cv2.CV_16S, 1, 0, borderType=border)
    down = cv2.Sobel(img, cv2.CV_16S, 0, 1, borderType=border)
    return numpy.minimum(abs(across.astype(int)) + abs(down.astype(int)), 255).astype(numpy.uint8)


@pytest.mark.parametrize("border", BORDERS)
@pytest.mark.parametrize("shape", [(1, 1), (3, 2), (17, 33), (40, 61)])
def test_gray_images_equal_opencv(context, random_array, border, shape):
    img = random_array(shape, numpy.uint8)
    flag = BORDERS[border]
    found = tripipe.filter(img, "median:3", border="replicate", context=context)
    assert numpy.array_equal(found, cv2.medianBlur(img, 3))
    found = tripipe.filter(img, "sobel", border=border, context=context)
    assert numpy.array_equal(found, sobel(img, flag))
    found = tripipe.filter(img, "box:3", border=border, context=context)
    exact = cv2.blur(img.astype(numpy.float64), (3, 3), borderType=flag)
    assert numpy.abs(found - exact).max() <= 0.5 + 1e-9
    found = tripipe.filter(img, "dilate:3", border=border, context=context)
    kernel = numpy.ones((3, 3), numpy.uint8)
    wanted = cv2.dilate(img, kernel, borderType=flag, borderValue=0)
    assert numpy.array_equal(found, wanted)


@pytest.mark.parametrize("channels", [1, 3, 4])
def test_packed_channels_equal_opencv(context, random_array, channels):
    img = random_array((31, 45, channels), numpy.uint8)
    found = tripipe.filter(img, "erode:3", border="reflect101", context=context)
    kernel = numpy.ones((3, 3), numpy.uint8)
    wanted = cv2.erode(img, kernel, borderType=cv2.BORDER_REFLECT_101)
    assert found.shape == img.shape
    assert numpy.array_equal(found, wanted.reshape(img.shape))


def test_wrapped_borders_equal_scipy(context, random_array):
    img = random_array((20, 23), numpy.float32)
    found = tripipe.filter(img, "laplace8", border="wrap", context=context)
    wanted = scipy.ndimage.correlate(img.astype(numpy.float64), LAPLACE8, mode="wrap")
    assert numpy.abs(found - wanted).max() < 1e-5


@pytest.mark.parametrize("dtype", [numpy.uint8, numpy.int16, numpy.uint16, numpy.float16, numpy.float32])
def test_every_type_of_pixels(context, random_array, dtype):
    img = random_array((25, 30), dtype)
    found = tripipe.filter(img, "gaussian:5", context=context)
    assert found.dtype == dtype and found.shape == img.shape
    # Integers are rounded, half precision has 11 bits.
    weights = cv2.getGaussianKernel(5, 0)[:, 0]
    wanted = scipy.ndimage.correlate1d(img.astype(numpy.float64), weights, 0, mode="mirror")
    wanted = scipy.ndimage.correlate1d(wanted, weights, 1, mode="mirror")
    bound = {"float16": 2.0**-11, "float32": 2.0**-20}.get(numpy.dtype(dtype).name, 0.5)
    assert numpy.abs(found.astype(numpy.float64) - wanted).max() <= bound + 1e-9


def test_chains_convert_and_change_channels(context, random_array):
    img = random_array((24, 32, 3), numpy.uint8)
    gray = cv2.cvtColor(img, cv2.COLOR_RGB2GRAY)
    found = tripipe.filter(img, "gray,erode:3", context=context)
    wanted = cv2.erode(gray, numpy.ones((3, 3), numpy.uint8), borderType=cv2.BORDER_REFLECT_101)
    assert numpy.array_equal(found, wanted)
    found = tripipe.filter(img, "gray,convert:f32:0.5:1", context=context)
    assert found.dtype == numpy.float32
    assert numpy.array_equal(found, gray.astype(numpy.float32) * 0.5 + 1)
    assert tripipe.filter(gray, "rgb", context=context).shape == (24, 32, 3)


@pytest.mark.parametrize(
    ("source", "target", "code"),
    [
        ("rgb", "gray", cv2.COLOR_RGB2GRAY),
        ("bgr", "gray", cv2.COLOR_BGR2GRAY),
        ("rgb", "bgr", cv2.COLOR_RGB2BGR),
        ("rgb", "yuv", cv2.COLOR_RGB2YUV),
        ("yuv", "rgb", cv2.COLOR_YUV2RGB),
        ("bgr", "ycrcb", cv2.COLOR_BGR2YCrCb),
        ("rgb", "rgba", cv2.COLOR_RGB2RGBA),
    ],
)
def test_colours_equal_opencv(context, random_array, source, target, code):
    img = random_array((19, 27, 3), numpy.uint8)
    assert numpy.array_equal(tripipe.color(img, source, target, context=context), cv2.cvtColor(img, code))


def test_resized_images(context, random_array):
    img = random_array((36, 48, 3), numpy.uint8)
    half = tripipe.resize(img, (18, 24), "area", context=context)
    assert numpy.array_equal(half, cv2.resize(img, (24, 18), interpolation=cv2.INTER_AREA))
    nearest = tripipe.resize(img, (72, 96), "nearest", context=context)
    assert numpy.array_equal(nearest, numpy.repeat(numpy.repeat(img, 2, 0), 2, 1))
    large = tripipe.resize(img, (50, 100), context=context)
    wanted = cv2.resize(img, (100, 50), interpolation=cv2.INTER_LINEAR)
    assert numpy.abs(large.astype(int) - wanted).max() <= 1


STRIDES = {
    "reversed rows": lambda img: img[::-1],
    "reversed columns": lambda img: img[:, ::-1],
    "reversed channels": lambda img: img[:, :, ::-1],
    "every second row": lambda img: img[::2],
    "every second column": lambda img: img[:, ::2],
    "a part": lambda img: img[3:20, 5:31],
    "Fortran order": lambda img: numpy.asfortranarray(img),
    "planes": lambda img: numpy.moveaxis(numpy.ascontiguousarray(numpy.moveaxis(img, 2, 0)), 0, 2),
    "planes with gaps": lambda img: numpy.moveaxis(numpy.ascontiguousarray(numpy.moveaxis(img, 2, 0)), 0, 2)[2:9, 1:30],
    "transposed": lambda img: img.transpose(1, 0, 2),
    "broadcast": lambda img: numpy.broadcast_to(img[:1], img.shape),
    "one row": lambda img: img[4:5],
    "one column": lambda img: img[:, 4:5],
    "no rows": lambda img: img[:0],
}


@pytest.mark.parametrize("strides", STRIDES)
@pytest.mark.parametrize("dtype", [numpy.uint8, numpy.float32])
def test_any_strides(context, random_array, strides, dtype):
    whole = random_array((28, 35, 3), dtype)
    img = STRIDES[strides](whole)
    before = img.copy()
    found = tripipe.filter(img, "dilate:3", context=context)
    assert numpy.array_equal(img, before)
    wanted = scipy.ndimage.maximum_filter(img, (3, 3, 1), mode="mirror") if img.size else img
    assert numpy.array_equal(found, wanted)


def test_unaligned_and_swapped_arrays(context, random_array):
    img = random_array((12, 14), numpy.float32)
    wanted = tripipe.filter(img, "erode:3", context=context)
    raw = numpy.zeros(img.nbytes + 1, numpy.uint8)
    raw[1:] = img.view(numpy.uint8).reshape(-1)
    unaligned = raw[1:].view(numpy.float32).reshape(img.shape)
    assert numpy.array_equal(tripipe.filter(unaligned, "erode:3", context=context), wanted)
    swapped = img.astype(img.dtype.newbyteorder(">"))
    assert numpy.array_equal(tripipe.filter(swapped, "erode:3", context=context), wanted)


def test_out_is_written_and_returned(context, random_array):
    img = random_array((22, 26, 3), numpy.uint8)
    wanted = tripipe.filter(img, "dilate:3", context=context)
    canvas = numpy.zeros((30, 40, 3), numpy.uint8)
    part = canvas[4:26, 7:33]
    assert tripipe.filter(img, "dilate:3", out=part, context=context) is part
    assert numpy.array_equal(part, wanted)
    canvas[4:26, 7:33] = 0
    assert not canvas.any()
    planes = numpy.moveaxis(numpy.zeros((3, 22, 26), numpy.uint8), 0, 2)
    tripipe.filter(img, "dilate:3", out=planes, context=context)
    assert numpy.array_equal(planes, wanted)


def test_alpha_is_kept(context, random_array):
    img = random_array((15, 18, 4), numpy.uint8)
    found = tripipe.filter(img, "erode:3", keep_alpha=True, context=context)
    assert numpy.array_equal(found[:, :, 3], img[:, :, 3])
    assert numpy.array_equal(
        found[:, :, 0], cv2.erode(img[:, :, 0], numpy.ones((3, 3), numpy.uint8), borderType=cv2.BORDER_REFLECT_101)
    )


def test_frames_equal_opencv(context, random_array):
    frame = random_array((36, 32), numpy.uint8)
    found = tripipe.from_frame(frame.reshape(-1), (24, 32), context=context)
    assert numpy.array_equal(found, cv2.cvtColor(frame, cv2.COLOR_YUV2RGB_NV12))
    back = tripipe.to_frame(found, context=context)
    luma = cv2.cvtColor(found, cv2.COLOR_RGB2YUV_I420)[:24]
    assert numpy.array_equal(back[: 24 * 32].reshape(24, 32), luma)


def test_the_histogram_equals_numpy(context, random_array):
    img = random_array((33, 21, 3), numpy.uint8)
    wanted = numpy.bincount(img.reshape(-1), minlength=256)
    assert numpy.array_equal(tripipe.histogram(img, context=context), wanted)


@pytest.mark.skipif(not any(device.choice == "opencl:0" for device in tripipe.devices()), reason="no OpenCL device")
def test_a_device_is_chosen_with_its_copies(random_array):
    """The first calls are the CPU path's, whatever the driver compiles meanwhile; all results are the same."""
    context = tripipe.Context("opencl:0")
    img = random_array((120, 160), numpy.uint8)
    wanted = cv2.medianBlur(img, 5)
    for _ in range(8):
        found = tripipe.filter(img, "median:5", border="replicate", context=context)
        assert numpy.array_equal(found, wanted)
    explained = tripipe.explain(img, "median:5", border="replicate", context=context)
    assert explained.copied is not None and "with copies" in explained.copied
    assert explained.copied in str(explained)
    assert tripipe.sum(img, context=context) == img.astype(int).sum()
    assert all(seconds >= 0 for _, seconds in context.compilations)


@pytest.mark.parametrize("chain", ["erode:3", "dilate:3", "median:3", "box:3", "gaussian:3", "gaussian:3:1.0"])
@pytest.mark.parametrize("dtype", [numpy.float16, numpy.float32])
def test_a_nan_is_in_every_window_that_holds_it(context, chain, dtype):
    img = numpy.zeros((7, 7), dtype)
    img[3, 3] = numpy.nan
    found = numpy.argwhere(numpy.isnan(tripipe.filter(img, chain, context=context)))
    assert found.tolist() == [[row, column] for row in (2, 3, 4) for column in (2, 3, 4)]


@pytest.mark.parametrize("dtype", [numpy.uint16, numpy.int16])
@pytest.mark.parametrize("size", [3, 5, 7, 9, 15, 31])
def test_gaussians_of_16_bits_are_within_one_level(context, dtype, size):
    limits = numpy.iinfo(dtype)
    img = numpy.random.default_rng(size).integers(limits.min, limits.max + 1, (50, 60), dtype)
    for sigma in (0.6, 1.0, 4.0):
        x = numpy.arange(size) - size // 2
        weights = numpy.exp(-x * x / (2 * sigma * sigma))
        weights /= weights.sum()
        exact = numpy.pad(img.astype(float), size // 2, mode="reflect")
        exact = numpy.apply_along_axis(numpy.convolve, 0, exact, weights, "valid")
        exact = numpy.apply_along_axis(numpy.convolve, 1, exact, weights, "valid")
        found = tripipe.filter(img, f"gaussian:{size}:{sigma}", context=context)
        assert numpy.abs(found - exact).max() <= 1
    flat = numpy.full((9, 9), 100, dtype)
    assert numpy.array_equal(tripipe.filter(flat, f"gaussian:{size}", context=context), flat)
