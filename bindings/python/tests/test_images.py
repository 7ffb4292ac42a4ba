"""Stacks of images, pixels of other types, results over their sources, and chains that resize."""

import numpy
import pytest
import scipy.ndimage
import tripipe


@pytest.mark.parametrize("chain", ["median:3", "gaussian:5,sobel-x", "erode:3"])
@pytest.mark.parametrize("shape", [(3, 20, 30), (2, 3, 20, 30), (2, 20, 30, 3), (1, 1, 2, 20, 30), (0, 20, 30)])
def test_stacks_are_their_images(random_array, chain, shape):
    stack = random_array(shape, numpy.uint8)
    axes = 3 if shape[-1] == 3 else 2
    found = tripipe.filter(stack, chain, context="cpu")
    assert found.shape == shape and found.dtype == stack.dtype
    for place in numpy.ndindex(*shape[:-axes]):
        assert numpy.array_equal(found[place], tripipe.filter(stack[place], chain, context="cpu"))
    small = tripipe.resize(stack, (10, 15), "area", context="cpu")
    assert small.shape == (*shape[:-axes], 10, 15, *shape[len(shape) - axes + 2 :])
    for place in numpy.ndindex(*shape[:-axes]):
        assert numpy.array_equal(small[place], tripipe.resize(stack[place], (10, 15), "area", context="cpu"))


def test_channels_says_which_axes_are_an_image(random_array):
    volume = random_array((5, 12, 3), numpy.uint8)
    wanted = scipy.ndimage.median_filter(volume, size=(1, 3, 3), mode="nearest")
    found = tripipe.filter(volume, "median:3", border="replicate", channels=False)
    assert numpy.array_equal(found, wanted)
    # Three axes are an image with channels by default.
    wanted = scipy.ndimage.median_filter(volume, size=(3, 3, 1), mode="nearest")
    for channels in (None, True):
        found = tripipe.filter(volume, "median:3", border="replicate", channels=channels)
        assert numpy.array_equal(found, wanted)
    assert tripipe.filter(volume, "gray").shape == (5, 12)
    assert tripipe.filter(random_array((2, 5, 12, 3), numpy.uint8), "gray").shape == (2, 5, 12)
    with pytest.raises(ValueError, match=r"img: shape \(5, 12\): want \(..., rows, columns, channels\)"):
        tripipe.filter(volume[:, :, 0], "median:3", channels=True)


@pytest.mark.parametrize("dtype", ["bool", "int8", "int32", "uint32", "int64", "float64", ">f8"])
def test_pixels_of_other_types_have_results_of_their_type(dtype):
    generator = numpy.random.default_rng(3)
    numbers = generator.integers(0, 2 if dtype == "bool" else 100, (30, 40)).astype(dtype)
    for chain, wanted in [
        ("median:3", scipy.ndimage.median_filter(numbers, size=3, mode="nearest")),
        ("erode:3", scipy.ndimage.minimum_filter(numbers, size=3, mode="nearest")),
        ("dilate:3", scipy.ndimage.maximum_filter(numbers, size=3, mode="nearest")),
    ]:
        found = tripipe.filter(numbers, chain, border="replicate")
        # In the machine's order of bytes, as NumPy's functions.
        assert found.dtype == numbers.dtype.newbyteorder("=") and numpy.array_equal(found, wanted)
        out = numpy.empty(numbers.shape, found.dtype)
        assert tripipe.filter(numbers, chain, border="replicate", out=out) is out
        assert numpy.array_equal(out, wanted)
    # Stages that change the type decide.
    assert tripipe.filter(numbers, "convert:f16").dtype == numpy.float16
    assert tripipe.filter(numbers, "convert:f32,threshold:0,convert:u16").dtype == numpy.uint16


def test_wide_integers_are_exact_or_refused():
    numbers = numpy.random.default_rng(4).integers(-(2**20), 2**20, (20, 20), numpy.int32)
    wanted = scipy.ndimage.sobel(numbers.astype(numpy.int64), 1, mode="nearest")
    assert numpy.array_equal(tripipe.filter(numbers, "sobel-x", border="replicate"), wanted)
    numbers[3, 4] = -(2**24) - 1
    with pytest.raises(ValueError, match=r"img: int32 beyond 2\^24"):
        tripipe.filter(numbers, "median:3")


def test_float64_has_the_precision_of_float32(random_array):
    img = random_array((40, 50), numpy.float64)
    found = tripipe.filter(img, "gaussian:9:1.5", border="reflect")
    wanted = scipy.ndimage.gaussian_filter(img, 1.5, radius=4, mode="reflect")
    assert found.dtype == numpy.float64 and numpy.abs(found - wanted).max() < 1e-6


@pytest.mark.parametrize("chain", ["gaussian:5", "threshold:100", "swap-red-blue", "median:3,sobel"])
def test_results_may_replace_their_source(random_array, chain):
    img = random_array((40, 50, 3), numpy.uint8)
    wanted = tripipe.filter(img, chain)
    for part in (numpy.s_[:], numpy.s_[:, ::1]):
        own = img.copy()
        assert tripipe.filter(own[part], chain, out=own[part], context="cpu") is not None
        assert numpy.array_equal(own, wanted)
    # Over a part of it.
    memory = numpy.zeros((41, 50, 3), numpy.uint8)
    memory[:40] = img
    tripipe.filter(memory[:40], chain, out=memory[1:])
    assert numpy.array_equal(memory[1:], wanted)
    stack = numpy.stack([img[..., 0], img[..., 1], img[..., 2]])
    if chain != "swap-red-blue":
        wanted = tripipe.filter(stack.copy(), chain)
        tripipe.filter(stack, chain, out=stack)
        assert numpy.array_equal(stack, wanted)


def test_chains_resize(context, random_array):
    img = random_array((40, 60, 3), numpy.uint8)
    step = tripipe.filter(img, "gaussian:5", context=context)
    step = tripipe.resize(step, (20, 30), "area", context=context)
    wanted = tripipe.filter(step, "gray,sobel", context=context)
    assert numpy.array_equal(tripipe.filter(img, "gaussian:5,resize:30x20,gray,sobel", context=context), wanted)
    assert tripipe.filter(context.array(img), "resize:90x:cubic,gray").shape == (60, 90)
    assert tripipe.filter(img, "resize:x10:nearest").shape == (10, 15, 3)
    out = numpy.empty((10, 15), numpy.uint8)
    assert tripipe.filter(img, "gray,resize:15x10", out=out) is out
    stack = random_array((2, 3, 40, 60), numpy.uint8)
    assert tripipe.filter(stack, "median:3,resize:30x20").shape == (2, 3, 20, 30)
    for wrong in ("resize", "resize:x", "resize:10", "resize:10x10:best", "gray,resize:-1x4"):
        with pytest.raises(ValueError, match="chain: `resize|interpolation: "):
            tripipe.filter(img, wrong)
