"""Products against NumPy."""

import numpy
import pytest
import tripipe


def close(found, wanted, k, dtype):
    if numpy.dtype(dtype).kind == "i":
        return numpy.array_equal(found, wanted)
    unit = {2: 2.0**-10, 4: 2.0**-23, 8: 2.0**-52}[numpy.dtype(dtype).itemsize]
    return numpy.abs(found.astype(numpy.float64) - wanted).max(initial=0) <= (k + 4) * unit


def exact(a, b):
    wide = numpy.int64 if a.dtype.kind == "i" else numpy.float64
    return a.astype(wide) @ b.astype(wide)


TYPES = [numpy.float32, numpy.float64, numpy.float16, numpy.int8]


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("extents", [(1, 1, 1), (5, 7, 3), (33, 20, 41), (0, 4, 3), (4, 5, 0)])
def test_products_equal_numpy(context, random_array, dtype, extents):
    m, n, k = extents
    a, b = random_array((m, k), dtype), random_array((k, n), dtype)
    found = tripipe.matmul(a, b, context=context)
    assert found.shape == (m, n)
    assert found.dtype == (numpy.int32 if dtype == numpy.int8 else dtype)
    assert close(found, exact(a, b), k, dtype)


@pytest.mark.parametrize("dtype", TYPES)
def test_vectors_and_stacks_as_numpy(context, random_array, dtype):
    shapes = [
        ((6,), (6,)),
        ((6,), (6, 4)),
        ((3, 6), (6,)),
        ((2, 3, 6), (2, 6, 4)),
        ((3, 6), (5, 6, 4)),
        ((5, 3, 6), (6, 4)),
        ((1, 3, 6), (5, 6, 4)),
    ]
    for left, right in shapes:
        a, b = random_array(left, dtype), random_array(right, dtype)
        found = tripipe.matmul(a, b, context=context)
        wanted = exact(a, b)
        assert found.shape == wanted.shape, (left, right)
        assert close(found, wanted, 6, dtype), (left, right)


STRIDES = {
    "transposed": lambda x: numpy.ascontiguousarray(x.T).T,
    "reversed": lambda x: x[::-1, ::-1],
    "every second": lambda x: numpy.repeat(numpy.repeat(x, 2, 0), 2, 1)[::2, ::2],
    "broadcast": lambda x: numpy.broadcast_to(x[:1], x.shape),
}


@pytest.mark.parametrize("strides", STRIDES)
def test_any_strides(context, random_array, strides):
    change = STRIDES[strides]
    a, b = change(random_array((13, 17), numpy.float32)), change(random_array((17, 9), numpy.float32))
    assert close(tripipe.matmul(a, b, context=context), exact(a, b), 17, numpy.float32)


@pytest.mark.parametrize("dtype", TYPES)
def test_bias_and_activation(context, random_array, dtype):
    a, b = random_array((12, 16), dtype), random_array((16, 10), dtype)
    bias = random_array((10,), numpy.int32 if dtype == numpy.int8 else dtype)
    if dtype == numpy.int8:
        bias //= 2**16
    wanted = exact(a, b) + bias
    found = tripipe.matmul(a, b, bias=bias, activation="relu", context=context)
    assert close(found, numpy.maximum(wanted, 0), 17, dtype)
    found = tripipe.matmul(a, b, bias=bias, activation=(-1, 2), context=context)
    assert close(found, numpy.clip(wanted, -1, 2), 17, dtype)


def test_sums_in_half_precision(context, random_array):
    a, b = random_array((8, 64), numpy.float16), random_array((64, 8), numpy.float16)
    found = tripipe.matmul(a, b, accumulate="f16", context=context)
    assert numpy.abs(found.astype(float) - exact(a, b)).max() < 0.2


def test_nan_is_kept_by_activations(context):
    a = numpy.array([[numpy.nan, 1]], numpy.float32)
    b = numpy.eye(2, dtype=numpy.float32)
    assert numpy.isnan(tripipe.matmul(a, b, activation="relu", context=context)).all()


def test_products_of_arrays_stay_on_the_device(context, random_array):
    a, b = random_array((14, 18), numpy.float32), random_array((11, 18), numpy.float32)
    placed = context.array(a)
    product = placed @ context.array(b).T
    assert isinstance(product, tripipe.Array) and product.context is context
    assert close(product.numpy(), exact(a, b.T), 18, numpy.float32)
    chained = tripipe.matmul(product.T, placed)
    assert close(chained.numpy(), exact(exact(a, b.T).T, a), 40, numpy.float32)
    assert isinstance(tripipe.matmul(a, context.array(b).T), tripipe.Array)


@pytest.mark.parametrize("format", ["f16", "i8", "q8_0", "q4_0"])
@pytest.mark.parametrize("dtype", [numpy.float32, numpy.float16])
def test_packed_weights(context, random_array, format, dtype):
    weights = random_array((48, 64), numpy.float32)
    packed = tripipe.pack(weights, format, context=context)
    # As a matrix on the right of `@`.
    assert (packed.format, packed.shape) == (format, weights.T.shape)
    # A quantised number is off by at most half a step of its block.
    step = {"f16": 2.0**-11, "i8": 1 / 127, "q8_0": 1 / 127, "q4_0": 1 / 7}[format]
    for shape in [(64,), (5, 64)]:
        x = random_array(shape, dtype)
        wanted = x.astype(float) @ weights.T.astype(float)
        bound = step * numpy.abs(x).astype(float).sum(-1).max() + 0.05
        found = x @ packed
        assert found.dtype == dtype and found.shape == wanted.shape
        assert numpy.abs(found.astype(float) - wanted).max() <= bound
        placed = context.array(x) @ packed
        assert isinstance(placed, tripipe.Array)
        assert numpy.array_equal(placed.numpy(), found)


def test_a_context_limits_the_threads_of_products(random_array):
    a, b = random_array((300, 200), numpy.float32), random_array((200, 310), numpy.float32)
    wanted = exact(a, b)
    # More than there are processors are as many as there are.
    for threads in (None, 1, 2, 1000):
        limited = tripipe.Context("cpu", threads=threads)
        assert close(tripipe.matmul(a, b, context=limited), wanted, 200, numpy.float32)
        product = limited.array(a) @ limited.array(b)
        assert close(product.numpy(), wanted, 200, numpy.float32)
    with pytest.raises(ValueError, match="threads: 0"):
        tripipe.Context("cpu", threads=0)
