"""Arrays of devices: what they hold, and how other libraries see them."""

import copy
import pickle
import threading

import numpy
import pytest
import tripipe

TYPES = ["uint8", "int8", "uint16", "int16", "uint32", "int32", "float16", "float32", "float64"]


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("shape", [(5,), (3, 4), (3, 4, 2), (0,), (2, 0), (2, 3, 4, 2)])
def test_arrays_come_back(context, random_array, dtype, shape):
    source = random_array(shape, dtype)
    array = context.array(source)
    assert (array.shape, array.dtype, array.ndim) == (shape, source.dtype, len(shape))
    assert (array.size, array.nbytes) == (source.size, source.nbytes)
    assert numpy.array_equal(array.numpy(), source)
    assert numpy.array_equal(numpy.asarray(array), source)
    assert numpy.array_equal(numpy.array(array), source)
    assert numpy.array_equal(numpy.from_dlpack(array), source)
    assert array.__dlpack_device__() == (1, 0)


def test_the_cpu_path_shares_its_memory(random_array):
    context = tripipe.Context("cpu")
    array = context.array(random_array((40, 30), numpy.float32))
    views = [numpy.asarray(array), numpy.asarray(array)]
    # Older versions do not know read-only arrays in DLPack, and get a copy.
    if numpy.lib.NumpyVersion(numpy.__version__) >= "2.1.0":
        views.append(numpy.from_dlpack(array))
    assert len({view.__array_interface__["data"][0] for view in views}) == 1
    assert not views[0].flags.writeable
    with pytest.raises(ValueError, match="read-only"):
        views[0][0, 0] = 1
    copied = numpy.array(array)
    copied[0, 0] = 5
    wanted = views[0].copy()
    # The view keeps the memory.
    del array, context
    assert numpy.array_equal(views[0], wanted)


def test_transposed_arrays(context, random_array):
    source = random_array((6, 9), numpy.float32)
    array = context.array(source).T
    assert array.shape == (9, 6)
    assert numpy.array_equal(array.numpy(), source.T)
    assert numpy.array_equal(numpy.asarray(array), source.T)
    assert numpy.array_equal((array + array).numpy(), source.T + source.T)
    assert numpy.array_equal(array.reshape((54,)).numpy(), source.T.reshape(-1))
    assert numpy.array_equal(tripipe.filter(array, "erode:3").numpy(), tripipe.filter(source.T, "erode:3"))


def test_conversions_round_and_saturate(context):
    source = numpy.array([-1.5, 0.5, 1.5, 2.5, 300.0, numpy.nan], numpy.float32)
    assert context.array(source).astype("uint8").numpy().tolist() == [0, 0, 2, 2, 255, 0]
    assert context.array(source).astype(numpy.float64).numpy().dtype == numpy.float64


def test_arithmetic(context, random_array):
    x, y = random_array((7, 8), numpy.float32), random_array((7, 8), numpy.float32)
    a, b = context.array(x), context.array(y)
    assert numpy.array_equal((a + b).numpy(), x + y)
    assert numpy.array_equal((a - b).numpy(), x - y)
    assert numpy.array_equal((a * b).numpy(), x * y)
    assert numpy.array_equal((a + 0.5).numpy(), x + numpy.float32(0.5))
    assert numpy.array_equal((2 * a).numpy(), x * 2)
    assert numpy.array_equal((a + y).numpy(), x + y)
    # Integers saturate.
    bytes_ = context.array(numpy.array([250, 3], numpy.uint8))
    assert (bytes_ + 10).numpy().tolist() == [255, 13]
    with pytest.raises(TypeError, match="other: 300 is not a value of u8"):
        bytes_ + 300


@pytest.mark.parametrize("dtype", TYPES)
def test_reductions_equal_numpy(context, random_array, dtype):
    source = random_array((31, 7), dtype)
    array = context.array(source)
    wanted = source.astype(numpy.float64 if source.dtype.kind == "f" else numpy.int64)
    if source.dtype.kind == "f":
        assert abs(array.sum() - wanted.sum()) < 1e-3
        assert abs(array.dot(array) - (wanted * wanted).sum()) < 1e-3
    else:
        assert array.sum() == wanted.sum()
        if source.itemsize < 4:
            assert array.dot(array) == (wanted * wanted).sum()
    assert (array.min(), array.max()) == (source.min(), source.max())
    assert (array.argmin(), array.argmax()) == (source.argmin(), source.argmax())
    assert tripipe.sum(source, context=context) == array.sum()
    assert tripipe.max(source, context=context) == array.max()


def test_arrays_move_between_contexts(context, random_array):
    source = random_array((5, 6), numpy.int16)
    there = context.array(source).to("cpu")
    assert there.context.device == "cpu"
    assert numpy.array_equal(there.numpy(), source)
    assert numpy.array_equal(pickle.loads(pickle.dumps(there)).numpy(), source)
    with pytest.raises(ValueError, match="b: it is on"):
        tripipe.matmul(tripipe.Context("cpu").array(source), there)


def test_chains_are_values(random_array):
    chain = tripipe.Chain("gray,gaussian:5:1.2,sobel", "wrap")
    assert chain.depth == (3, 3)
    assert chain.output((10, 12, 3), "uint8") == ((10, 12), numpy.dtype("uint8"))
    for same in [pickle.loads(pickle.dumps(chain)), copy.copy(chain)]:
        assert same == chain and hash(same) == hash(chain)
    assert chain != tripipe.Chain("gray,gaussian:5:1.2,sobel")
    assert repr(chain) == 'Chain("gray,gaussian:5:1.2,sobel", "wrap")'
    img = random_array((20, 20, 3), numpy.uint8)
    assert numpy.array_equal(chain(img), tripipe.filter(img, chain))
    for name, *_ in tripipe.stages():
        assert isinstance(name, str)


def test_explanations_print_and_render(context, random_array):
    img = random_array((64, 64, 3), numpy.uint8)
    explained = tripipe.explain(img, "gray,sobel", context=context)
    assert "gray,sobel of 64x64, 3 x u8" in str(explained)
    assert explained.why in str(explained)
    page = explained._repr_html_()
    assert page.startswith("<table>") and "kernel" in page and "why" in page
    a = random_array((32, 16), numpy.float32)
    product = tripipe.explain_matmul(a, a.T, context=context)
    assert "32x32x16" in product.operation
    assert "q4_0" in tripipe.pack(a, context=context).explain().operation
    tripipe.filter(context.array(img), "sobel")
    assert any("sobel" in known.operation for known in context.explain())


def test_arrays_have_a_preview(context, random_array):
    import cv2

    img = random_array((300, 400, 3), numpy.uint8)
    array = context.array(img)
    assert repr(array) == f"Array(shape=(300, 400, 3), dtype=uint8, device='{context.device}')".replace("'", '"')
    page = array._repr_html_()
    data = page.split("base64,")[1].split("'")[0]
    import base64

    picture = cv2.imdecode(numpy.frombuffer(base64.b64decode(data), numpy.uint8), cv2.IMREAD_COLOR)[:, :, ::-1]
    assert picture.shape == (144, 192, 3)
    wanted = cv2.resize(img, (192, 144), interpolation=cv2.INTER_AREA)
    assert numpy.abs(picture.astype(int) - wanted).max() <= 1
    assert "<pre>" in context.array(numpy.ones(4, numpy.float32))._repr_html_()


def test_devices_are_listed():
    names = [device.choice for device in tripipe.devices()]
    assert names[0] == "cpu"
    virtual = {device.choice: device for device in tripipe.devices(virtual=True)}
    assert virtual["virtual:mali-g77"].model == "Mali-G77"
    assert virtual["virtual:mali-g77"].kind == "virtual"


def test_any_number_of_threads(context, random_array):
    img = random_array((60, 70, 3), numpy.uint8)
    a = random_array((20, 20), numpy.float32)
    placed = context.array(img)
    wanted = tripipe.filter(img, "gray,sobel", context=context)
    product = tripipe.matmul(a, a, context=context)
    failures = []

    def work():
        try:
            for _ in range(5):
                assert numpy.array_equal(tripipe.filter(img, "gray,sobel", context=context), wanted)
                assert numpy.array_equal(tripipe.filter(placed, "gray,sobel").numpy(), wanted)
                assert numpy.array_equal(tripipe.matmul(a, a, context=context), product)
        except BaseException as failed:
            failures.append(failed)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_operators_of_numpy_stay_on_the_device(context, random_array):
    """An `Array` on the right gives an `Array`: NumPy computes nothing with a copy of it."""
    x = random_array((4, 5), numpy.float32)
    y = random_array((4, 5), numpy.float32)
    array = context.array(y)
    square = context.array(y.T.copy())
    for found, wanted in [
        (x + array, x + y),
        (x - array, x - y),
        (x * array, x * y),
        (x @ square, x @ y.T),
        (2 - array, 2 - y),
        (numpy.float32(2) * array, 2 * y),
    ]:
        assert isinstance(found, tripipe.Array)
        assert numpy.allclose(found.numpy(), wanted, rtol=1e-5, atol=1e-4)
    for refused in [lambda: numpy.add(x, array), lambda: numpy.sqrt(array), lambda: x % array]:
        with pytest.raises(TypeError, match="Array|unsupported"):
            refused()
    # With a copy, as it is asked for.
    assert isinstance(x % numpy.asarray(array), numpy.ndarray)


def test_integer_sums_are_exact_or_an_error(context):
    largest = context.array(numpy.full(100, 2**31 - 1, numpy.int32))
    assert largest.sum() == 100 * (2**31 - 1)
    with pytest.raises(OverflowError, match=str(100 * (2**31 - 1) ** 2)):
        largest.dot(largest)
    one = context.array(numpy.full(1, -(2**31), numpy.int32))
    assert one.dot(one) == 2**62


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_sums_of_nothing_are_plus_0(context, dtype):
    nothing = context.array(numpy.zeros(0, dtype))
    assert str(nothing.sum()) == "0.0" and str(nothing.dot(nothing)) == "0.0"
