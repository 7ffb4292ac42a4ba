"""Operators, parts and reductions of arrays on a device, beside NumPy; what can be pickled."""

import pickle

import numpy
import pytest
import tripipe


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_quotients_are_numpy_s(context, random_array, dtype):
    x, y = random_array((7, 8), dtype), random_array((7, 8), dtype)
    y[0, :3] = [0, numpy.inf, numpy.nan]
    a, b = context.array(x), context.array(y)
    close = {"float16": 2e-3, "float32": 4e-7, "float64": 0}[dtype]
    with numpy.errstate(all="ignore"):
        for found, wanted in [
            (a / b, x / y),
            (a / y, x / y),
            (x / b, x / y),
            (a / 3, x / x.dtype.type(3)),
            (1 / b, 1 / y),
            (-a, -x),
        ]:
            assert isinstance(found, tripipe.Array) and found.dtype == dtype
            numpy.testing.assert_allclose(found.numpy(), wanted, rtol=close, atol=0)
    whole = context.array(numpy.arange(5, dtype=numpy.int32))
    assert (-whole).numpy().tolist() == [0, -1, -2, -3, -4]
    with pytest.raises(TypeError, match="a division of int32"):
        whole / 2
    with pytest.raises(TypeError, match="-1 is not a value of u8"):
        -context.array(numpy.zeros(3, numpy.uint8))


@pytest.mark.parametrize("shapes", [((4, 5), (5,)), ((4, 5), (4, 1)), ((5,), (4, 5)), ((2, 1, 3), (4, 1)), ((3,), (1,))])
def test_shapes_broadcast_as_numpy_s(context, random_array, shapes):
    x, y = (random_array(shape, numpy.float32) for shape in shapes)
    a, b = context.array(x), context.array(y)
    for found, wanted in [(a + b, x + y), (a - y, x - y), (x * b, x * y), (a.T.T - b if x.ndim == 2 else a - b, x - y)]:
        assert numpy.array_equal(found.numpy(), wanted)
    with pytest.raises(ValueError, match="other: .*broadcast"):
        a + numpy.zeros(7, numpy.float32)
    with pytest.raises(ValueError, match="other: .*types must be equal"):
        a + y.astype(numpy.float64)


@pytest.mark.parametrize("dtype", ["uint8", "int32", "float16", "float64"])
@pytest.mark.parametrize("shape", [(6,), (5, 6), (5, 6, 3), (2, 3, 4, 2)])
def test_parts_are_numpy_s(context, random_array, dtype, shape):
    source = random_array(shape, dtype)
    array = context.array(source)
    keys = [0, -1, slice(1, 3), slice(None), slice(-2, None), slice(3, 1)]
    if len(shape) > 1:
        keys += [(0, 1), (slice(1, 4), slice(1, 3)), (slice(None), -1), (1, slice(0, 0)), (slice(1, None),)]
    for key in keys:
        found, wanted = array[key], source[key]
        if isinstance(wanted, numpy.ndarray):
            assert isinstance(found, tripipe.Array) and found.shape == wanted.shape and found.dtype == dtype
            assert numpy.array_equal(found.numpy(), wanted)
        else:
            assert found == wanted
    if len(shape) == 2:
        assert numpy.array_equal(array.T[1:3].numpy(), source.T[1:3])
    assert len(list(array)) == shape[0]
    for key in (shape[0], -shape[0] - 1, slice(None, None, -1), [0, 1], None, "x", (0, 0, 0), Ellipsis):
        with pytest.raises(IndexError):
            array[key]


@pytest.mark.parametrize("dtype", ["uint8", "int32", "float16", "float32"])
def test_reductions_along_axes_are_numpy_s(context, random_array, dtype):
    source = random_array((5, 6, 3), dtype)
    array = context.array(source)
    wide = source.astype(numpy.float64)
    for axis in (0, -1, (0, 1)):
        assert numpy.allclose(array.sum(axis=axis), wide.sum(axis=axis), rtol=1e-5, atol=1e-4)
        assert numpy.allclose(array.mean(axis), wide.mean(axis=axis), rtol=1e-5, atol=1e-5)
        assert numpy.array_equal(array.min(axis), source.min(axis=axis))
        assert numpy.array_equal(array.max(axis=axis), source.max(axis=axis))
    assert abs(array.mean() - wide.mean()) <= 1e-5 * max(1, abs(wide).max())
    assert numpy.isnan(context.array(numpy.zeros(0, dtype)).mean())


@pytest.mark.parametrize("form", ["f16", "i8", "q8_0", "q4_0"])
@pytest.mark.parametrize("inputs", [64, 50])
def test_packed_weights_are_pickled_to_the_bit(random_array, form, inputs):
    packed = tripipe.pack(random_array((16, inputs), numpy.float32), form, context="cpu")
    x = random_array((3, inputs), numpy.float32)
    same = pickle.loads(pickle.dumps(packed))
    assert (same.format, same.shape, same.context.device) == (form, (inputs, 16), "cpu")
    assert numpy.array_equal(x @ same, x @ packed)
    # In the format, not in the 4 bytes of the source.
    assert len(pickle.dumps(packed)) < 16 * inputs * 4


def test_devices_and_explanations_are_pickled(context, random_array):
    for device in tripipe.devices():
        same = pickle.loads(pickle.dumps(device))
        assert same == device and hash(same) == hash(device) and same.name == device.name
    explained = tripipe.explain(random_array((30, 40), numpy.uint8), "sobel", context=context)
    same = pickle.loads(pickle.dumps(explained))
    assert str(same) == str(explained) and same._repr_html_() == explained._repr_html_()
    for name in ("operation", "kernel", "choices", "why", "predicted_seconds", "bound", "runners_up", "fallback"):
        assert getattr(same, name) == getattr(explained, name)


def test_the_version_is_that_of_the_package():
    from importlib.metadata import PackageNotFoundError, version

    try:
        assert tripipe.__version__ == version("tripipe")
    except PackageNotFoundError:
        pytest.skip("not installed")
