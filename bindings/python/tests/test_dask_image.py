"""Filters of dask-image: chunks that `tripipe.dask.image` marks give what SciPy gives."""

import dask.array as da
import dask_image.ndfilters as ndfilters
import numpy
import pytest
import tripipe._dask_image
import tripipe.dask

MODES = ["reflect", "mirror", "nearest", "wrap", "constant"]


@pytest.fixture
def used(monkeypatch):
    """The stages that were computed here, not by SciPy."""
    stages = []
    plain = tripipe._dask_image._filter

    def noted(block, chain, **options):
        stages.append(chain.stages)
        return plain(block, chain, **options)

    monkeypatch.setattr(tripipe._dask_image, "_filter", noted)
    return stages


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dtype", ["uint8", "int16", "uint16", "float32"])
def test_ordered_filters_give_scipys_results_to_the_bit(random_array, used, dtype, mode):
    img = da.from_array(random_array((61, 83), dtype), chunks=(17, 30))
    for name, size, stage in [
        ("minimum_filter", 5, "erode:5"),
        ("maximum_filter", 3, "dilate:3"),
        ("median_filter", 3, "median:3"),
        ("median_filter", 7, "median:7"),
    ]:
        used.clear()
        find = getattr(ndfilters, name)
        wanted = find(img, size=size, mode=mode).compute(scheduler="sync")
        assert not used, "arrays that are not marked are SciPy's"
        found = find(tripipe.dask.image(img, "cpu"), size=size, mode=mode).compute(scheduler="sync")
        assert found.dtype == wanted.dtype and numpy.array_equal(found, wanted), (name, mode)
        assert set(used) == (set() if mode == "constant" else {stage})


@pytest.mark.parametrize("mode", MODES)
def test_blurs_of_floats_give_scipys_results_up_to_rounding(random_array, used, mode):
    img = da.from_array(random_array((70, 64), "float32"), chunks=(35, 32))
    marked = tripipe.dask.image(img, "cpu")
    for find in [
        lambda array: ndfilters.gaussian_filter(array, 1.2, mode=mode),
        lambda array: ndfilters.uniform_filter(array, 5, mode=mode),
    ]:
        used.clear()
        wanted, found = find(img).compute(scheduler="sync"), find(marked).compute(scheduler="sync")
        # Numbers up to 1, sums of up to 11 x 11 products.
        assert numpy.abs(found - wanted).max() < 2.0**-20, mode
        assert bool(used) == (mode != "constant")


@pytest.mark.parametrize("mode", MODES)
def test_ranks_and_slopes_are_computed_here(random_array, used, mode):
    img = da.from_array(random_array((70, 64), "float32"), chunks=(35, 32))
    marked = tripipe.dask.image(img, "cpu")
    for find in [
        lambda array: ndfilters.percentile_filter(array, 30, size=5, mode=mode),
        lambda array: ndfilters.rank_filter(array, 7, size=5, mode=mode),
        lambda array: ndfilters.sobel(array, axis=0, mode=mode),
        lambda array: ndfilters.sobel(array, axis=-1, mode=mode),
    ]:
        used.clear()
        wanted, found = find(img).compute(scheduler="sync"), find(marked).compute(scheduler="sync")
        assert numpy.abs(found - wanted).max() < 2.0**-18, mode
        assert bool(used) == (mode != "constant")


def test_what_scipy_has_to_compute_is_left_to_it(random_array, used):
    img = da.from_array(random_array((40, 50), "uint8"), chunks=(20, 25))
    marked = tripipe.dask.image(img, "cpu")
    cross = numpy.array([[0, 1, 0], [1, 1, 1], [0, 1, 0]], bool)
    for find in [
        lambda array: ndfilters.minimum_filter(array, footprint=cross),
        lambda array: ndfilters.maximum_filter(array, size=4),
        lambda array: ndfilters.maximum_filter(array, size=3, origin=1),
        lambda array: ndfilters.gaussian_filter(array, 1.5),
        lambda array: ndfilters.sobel(array, axis=0),
        lambda array: ndfilters.median_filter(array, size=33),
    ]:
        wanted = find(img).compute(scheduler="sync")
        assert numpy.array_equal(find(marked).compute(scheduler="sync"), wanted)
    assert not used
    deep = da.zeros((6, 7, 8), dtype="uint8", chunks=4)
    assert ndfilters.minimum_filter(tripipe.dask.image(deep), size=3).compute().shape == (6, 7, 8)
