"""Dask: chunks give what the whole array gives."""

import itertools

import dask
import dask.array as da
import numpy
import pytest
import tripipe
import tripipe.dask

BORDERS = ["none", "constant:7", "replicate", "reflect", "reflect101", "wrap"]
CHAINS = [
    "laplace",
    "laplace8",
    "sobel",
    "scharr",
    "gaussian:7:1.7",
    "box:5",
    "unsharp:5",
    "median:5",
    "median:9",
    "weights:1 2 -1/0 3 1/1 1 1/2 0 0/1 1 5:7",
    "threshold:99",
    "erode:7,dilate:3",
    "dilate-cross:5",
    "bilateral:5:30:2",
    "gaussian:5,sobel,median:3",
    "convert:f32:0.01,gaussian:9:2,convert:u8:100",
]
DTYPES = ["uint8", "int16", "uint16", "float16", "float32"]


@pytest.mark.parametrize("border", BORDERS)
@pytest.mark.parametrize("stages", CHAINS)
def test_chunks_equal_the_whole_image_to_the_bit(random_array, stages, border):
    chain = tripipe.Chain(stages, border)
    for dtype in DTYPES:
        img = random_array((61, 83), dtype)
        if dtype == "float16":
            img *= 100
        wanted = tripipe.filter(img, chain)
        for chunks in [(17, 23), ((40, 3, 18), (5, 1, 60, 17))]:
            found = tripipe.dask.apply(chain, da.from_array(img, chunks=chunks), context="cpu")
            assert (found.shape, found.dtype) == (wanted.shape, wanted.dtype)
            assert found.compute(scheduler="threads").tobytes() == wanted.tobytes(), (dtype, chunks)


@pytest.mark.parametrize("border", BORDERS)
@pytest.mark.parametrize(
    "stages", ["gaussian:5,sobel", "erode:7,dilate:3", "convert:f32:0.01,gaussian:9:2,convert:u8:100"]
)
def test_chunks_are_filtered_in_bands(random_array, monkeypatch, stages, border):
    chain = tripipe.Chain(stages, border)
    img = random_array((61, 83), "uint8")
    wanted = tripipe.filter(img, chain)
    for rows, chunks in itertools.product([1, 4, 7, 13], [(17, 23), (61, 30), (30, 83)]):
        monkeypatch.setattr(tripipe.dask, "_BAND_ROWS", rows)
        found = tripipe.dask.apply(chain, da.from_array(img, chunks=chunks), context="cpu")
        assert found.compute(scheduler="threads").tobytes() == wanted.tobytes(), (rows, chunks)


def test_every_stage_that_has_a_name(random_array):
    numbers = {
        "SIZE": "5",
        "SIZE[:SIGMA]": "5:1.1",
        "SIZE[:AMOUNT]": "5:0.7",
        "SIZE:PERCENT": "5:30",
        "SIZE:PLACE": "5:7",
        "ROWS[:DIVISOR]": "1 2 1/-2 4 2/1 2 1:16",
        "LEVEL": "100",
        "SIZE:COLOR:SPACE": "7:40:3",
        "": "",
        "TYPE[:SCALE[:OFFSET]]": "f32:0.5:1",
    }
    for (name, takes, _), border in itertools.product(tripipe.stages(), BORDERS):
        stage = f"{name}:{numbers[takes]}" if takes else name
        chain = tripipe.Chain(stage, border)
        for shape in [(47, 52), (47, 52, 3), (47, 52, 4)]:
            img = random_array(shape, "uint8")
            try:
                wanted = tripipe.filter(img, chain)
            except ValueError:
                continue
            found = tripipe.dask.apply(chain, da.from_array(img, chunks=(15, 22, 2)[: len(shape)]))
            assert found.shape == wanted.shape
            assert found.compute(scheduler="threads").tobytes() == wanted.tobytes(), (stage, border, shape)


@pytest.mark.parametrize("border", BORDERS)
@pytest.mark.parametrize("shape", [(1, 40), (4, 40), (9, 9), (13, 2)])
def test_windows_wider_than_the_image(random_array, shape, border):
    img = random_array(shape, "float32")
    chain = tripipe.Chain("gaussian:9:3,box:5,median:3", border)
    wanted = tripipe.filter(img, chain)
    found = tripipe.dask.apply(chain, da.from_array(img, chunks=(3, 4)))
    assert found.compute().tobytes() == wanted.tobytes()


def test_devices_give_the_same(context, random_array):
    img = random_array((50, 40, 3), "uint8")
    wanted = tripipe.filter(img, "gray,gaussian:5,sobel", context=context)
    # Kernels are built for each size of chunks.
    found = tripipe.dask.apply("gray,gaussian:5,sobel", da.from_array(img, chunks=(25, 40, 1)), context=context.device)
    assert numpy.array_equal(found.compute(), wanted)


@pytest.mark.parametrize("dtype", ["int8", "float16", "float32", "float64"])
def test_products_of_chunks(random_array, dtype):
    a, b = random_array((37, 53), dtype), random_array((53, 29), dtype)
    found = tripipe.dask.matmul(da.from_array(a, chunks=(10, 12)), da.from_array(b, chunks=(20, 13)))
    exact = a.astype("int64" if dtype == "int8" else "float64") @ b
    found = found.compute()
    if dtype == "int8":
        assert found.dtype == numpy.int32 and numpy.array_equal(found, exact)
    else:
        unit = {"float16": 2.0**-9, "float32": 2.0**-20, "float64": 2.0**-49}[dtype]
        assert found.dtype == dtype and numpy.abs(found - exact).max() < 20 * unit


def test_files(tmp_path, random_array):
    img = random_array((300, 400, 3), "uint8")
    chunked = tripipe.dask.apply("dilate:3", da.from_array(img, chunks=(128, 130, 3)))
    wanted = tripipe.filter(img, "dilate:3")
    tripipe.dask.write_zarr(str(tmp_path / "img.zarr"), chunked)
    assert numpy.array_equal(tripipe.dask.read_zarr(str(tmp_path / "img.zarr")).compute(), wanted)
    tripipe.dask.write_tiff(str(tmp_path / "img.tif"), chunked, tile=64)
    again = tripipe.dask.read_tiff(str(tmp_path / "img.tif"))
    assert again.numblocks[0] > 1
    assert numpy.array_equal(again.compute(), wanted)
    import cv2

    read = cv2.imread(str(tmp_path / "img.tif"), cv2.IMREAD_COLOR_RGB)
    assert numpy.array_equal(read, wanted)


def test_bad_input_is_named(random_array):
    img = da.zeros((9, 9), dtype="uint8")
    with pytest.raises(ValueError, match="chain: unknown filter"):
        tripipe.dask.apply("blurr", img)
    with pytest.raises(TypeError, match="context: want the name"):
        tripipe.dask.apply("sobel", img, context=tripipe.Context("cpu"))
    with pytest.raises(ValueError, match="border, keep_alpha"):
        tripipe.dask.apply(tripipe.Chain("sobel"), img, border="wrap")
    with pytest.raises(ValueError, match="b: shape"):
        tripipe.dask.matmul(da.zeros((3, 4)), da.zeros((3, 4)))
    with pytest.raises(ValueError, match="tile: 100"):
        tripipe.dask.write_tiff("x.tif", img, tile=100)


def test_two_processes_one_of_which_is_killed(random_array):
    from distributed import Client, LocalCluster

    img = random_array((400, 500), "float32")
    wanted = tripipe.filter(img, "gaussian:9:2,sobel", context="cpu")
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 5}),
        LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        chunked = da.from_array(img, chunks=(60, 70))
        found = tripipe.dask.apply("gaussian:9:2,sobel", chunked, context=["cpu"])
        running = client.compute(found)
        victim = next(iter(client.scheduler_info()["workers"]))
        pids = client.run(lambda: __import__("os").getpid(), workers=[victim])
        __import__("os").kill(pids[victim], 9)
        assert numpy.array_equal(running.result(timeout=120), wanted)


@pytest.mark.parametrize("border", ["reflect101", "wrap", "none"])
@pytest.mark.parametrize("chain", ["gaussian:5,sobel", "threshold:50", "gray,median:7", "gray"])
def test_results_are_written_where_they_belong(random_array, border, chain):
    img = random_array((61, 83, 3) if "gray" in chain else (61, 83), "uint8")
    wanted = tripipe.filter(img, chain, border=border)
    source = da.from_array(img, chunks=(17, 30, 2)[: img.ndim])
    memory = numpy.zeros((70, 90), "uint8")
    store = memory[3:64, 4:87]
    assert tripipe.dask.apply(chain, source, border=border, context="cpu", store=store) is store
    assert numpy.array_equal(store, wanted)
    memory[3:64, 4:87] = 0
    assert not memory.any()


def test_results_are_written_to_zarr(random_array, tmp_path):
    zarr = pytest.importorskip("zarr")
    img = random_array((61, 83), "uint8")
    store = zarr.create_array(str(tmp_path / "edges.zarr"), shape=img.shape, chunks=(20, 30), dtype="uint8")
    tripipe.dask.apply("sobel", da.from_array(img, chunks=(20, 30)), context="cpu", store=store)
    assert numpy.array_equal(store[:], tripipe.filter(img, "sobel"))
    with pytest.raises(ValueError, match=r"store: \(61, 82\) of uint8, the result is \(61, 83\)"):
        tripipe.dask.apply("sobel", da.from_array(img), store=numpy.zeros((61, 82), "uint8"))
