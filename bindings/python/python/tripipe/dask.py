"""Filters and products of arrays that are larger than a machine, with Dask.

>>> import dask.array, tripipe.dask
>>> scan = dask.array.zeros((40_000, 40_000), dtype="uint8", chunks=2048)
>>> edges = tripipe.dask.apply("gaussian:5,sobel", scan)

Results equal those of the whole array: to the bit for filters, whatever the chunks. Each worker
makes one context, when it is first needed.
"""

from __future__ import annotations

import itertools
import math
import os
import threading
import zlib
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any

import dask.base
import dask.array as da
import numpy
from dask.base import tokenize
from dask.core import flatten
from dask.highlevelgraph import HighLevelGraph

from ._tripipe import Chain, Context, _filter_inside as _write_inside, filter as _filter, matmul as _matmul

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["apply", "compute", "image", "matmul", "read_tiff", "read_zarr", "write_tiff", "write_zarr"]

_CONTEXTS: dict[tuple[int, str], Context] = {}
_LOCK = threading.Lock()


def _worker_index() -> int:
    """A number for the worker that runs this: its name in a local cluster, else from its address."""
    try:
        from distributed import get_worker

        worker = get_worker()
    except (ImportError, ValueError):
        return 0
    name = str(worker.name)
    return int(name) if name.isdigit() else zlib.crc32(str(worker.address).encode())


def _context(devices: Sequence[str]) -> Context:
    """The context of this worker, made on its first use. Workers take the devices in turn."""
    name = devices[_worker_index() % len(devices)]
    key = (os.getpid(), name)
    with _LOCK:
        if key not in _CONTEXTS:
            # Trials of the CPU path would make the last bits of floats depend on the chunk. A task takes one
            # thread, as Dask expects: tasks that take all cores wait for each other.
            _CONTEXTS[key] = Context(name, cpu_when_faster=False, threads=1)
        return _CONTEXTS[key]


def _devices(context: str | Sequence[str]) -> tuple[str, ...]:
    if isinstance(context, str):
        return (context,)
    devices = tuple(context) if isinstance(context, Sequence) else ()
    if not devices or not all(isinstance(device, str) for device in devices):
        raise TypeError("context: want the name of a device, or several: a Context cannot be sent to a worker")
    return devices


_SCRATCH = threading.local()
# Rows that are filtered at a time: what they need is then in the processor's caches.
_BAND_ROWS = 512


def _scratch(name: str, shape: tuple[int, ...], dtype: numpy.dtype[Any]) -> NDArray[Any]:
    """Memory of this thread, whose contents end with the next call: pages of fresh memory cost more than a copy."""
    size = math.prod(shape) * dtype.itemsize
    held: NDArray[numpy.uint8] | None = getattr(_SCRATCH, name, None)
    if held is None or held.size < size:
        held = numpy.empty(size, numpy.uint8)
        setattr(_SCRATCH, name, held)
    return held[:size].view(dtype).reshape(shape)


def _filter_block(
    block: NDArray[Any], chain: Chain, devices: tuple[str, ...], into: NDArray[Any] | None = None
) -> NDArray[Any]:
    return _filter(block, chain, out=into, context=_context(devices))


def _part(step: int, extent: int, reach: int) -> slice:
    """What of an axis a chunk needs of the neighbour at `step` from it: the last `reach`, all, or the first `reach`."""
    return (slice(0, extent), slice(0, reach), slice(extent - reach, extent))[step]


def _rims(block: NDArray[Any], reach: tuple[int, int]) -> dict[tuple[int, int], NDArray[Any]]:
    """Copies of what other chunks need of this one, by where it lies for them."""
    rows, columns = block.shape[:2]
    return {
        (y, x): block[_part(y, rows, reach[0]), _part(x, columns, reach[1])].copy()
        for y, x in _steps(reach)
    }


def _steps(reach: tuple[int, int]) -> list[tuple[int, int]]:
    """The places of neighbours: -1 before, 1 after, rows first."""
    rows, columns = ((-1, 0, 1) if extent else (0,) for extent in reach)
    return [(y, x) for y in rows for x in columns if (y, x) != (0, 0)]


def _filter_inside(
    block: NDArray[Any],
    around: list[dict[tuple[int, int], NDArray[Any]] | None],
    reach: tuple[int, int],
    chain: Chain,
    devices: tuple[str, ...],
    into: NDArray[Any] | None = None,
) -> NDArray[Any]:
    """The result of a chunk whose neighbours gave their rims, in the order of `_steps`; none at an edge of the image."""
    rows, columns = block.shape[:2]
    parts = {step: rims[step] for step, rims in zip(_steps(reach), around) if rims is not None}
    parts[0, 0] = block
    top, bottom = (reach[0] if (y, 0) in parts else 0 for y in (-1, 1))
    left, right = (reach[1] if (0, x) in parts else 0 for x in (-1, 1))
    across = {-1: slice(0, left), 0: slice(left, left + columns), 1: slice(left + columns, None)}
    extents = (left + columns + right, *block.shape[2:])
    context = _context(devices)
    shape, dtype = chain.output((rows, *block.shape[1:]), block.dtype)
    result: NDArray[Any] = numpy.empty(shape, dtype) if into is None else into
    # A border that wraps needs the opposite rows, and a device its whole work at once.
    is_whole = context.device != "cpu" or (chain.border == "wrap" and not reach[0])
    height, depth = (rows if is_whole else _BAND_ROWS), chain.depth[0]
    try:
        for first in range(0, rows, height):
            last = min(first + height, rows)
            # The rows of the chunk, and of the chunks above and below, that these depend on.
            start, stop = max(first - depth, -top), min(last + depth, rows + bottom)
            if is_whole:
                start, stop = -top, rows + bottom
            band = _scratch("source", (stop - start, *extents), block.dtype)
            for (y, x), part in parts.items():
                begin = {-1: -top, 0: 0, 1: rows}[y]
                low, high = max(start, begin), min(stop, begin + part.shape[0])
                if low < high:
                    band[low - start : high - start, across[x]] = part[low - begin : high - begin]
            if context.device == "cpu":
                _write_inside(band, chain, result[first:last], (first - start, left), context)
                continue
            whole = _scratch("result", (stop - start, extents[0], *shape[2:]), dtype)
            _filter(band, chain, out=whole, context=context)
            result[first:last] = whole[first - start : last - start, across[0]]
    except BaseException:
        # After Ctrl-C the operation may still use it.
        _SCRATCH.__dict__.clear()
        raise
    return result


def image(array: Any, context: str | Sequence[str] = "auto") -> Any:
    """The same array in chunks that ``dask_image.ndfilters`` filters with this package.

    Needs dask-image. ``minimum_filter``, ``maximum_filter``, ``median_filter``, ``rank_filter`` and
    ``percentile_filter`` give SciPy's results to the bit, ``gaussian_filter``, ``uniform_filter`` and ``sobel`` of float32 up to rounding. What this package computes otherwise, or not at all, is left to SciPy.
    """
    from . import _dask_image

    devices = _devices(context)
    _dask_image.register()
    array = da.asarray(array)
    meta = _dask_image.marked(array._meta, devices=devices)
    return array.map_blocks(_dask_image.marked, devices=devices, dtype=array.dtype, meta=meta)


def apply(
    chain: Chain | str,
    array: Any,
    *,
    border: str | None = None,
    keep_alpha: bool | None = None,
    context: str | Sequence[str] = "auto",
    store: Any = None,
) -> Any:
    """Filter an image of (rows, columns) or (rows, columns, channels) chunk by chunk.

    Chunks overlap by the depth of the chain. Borders are the chain's own: nothing is added around
    the image, except that with the border ``wrap`` chunks at an edge get pixels of the opposite one.
    ``context`` names the device of the workers, or several devices, which the workers take in turn.

    ``store`` is an array to write the result to, NumPy's or Zarr's, which is computed now and returned: in the memory of
    this process chunks are written where they belong, without a copy of each.
    """
    if isinstance(chain, str):
        chain = Chain(chain, border or "reflect101", keep_alpha=bool(keep_alpha))
    elif border is not None or keep_alpha is not None:
        raise ValueError("border, keep_alpha: a Chain has its own: give them to Chain(...)")
    array = da.asarray(array)
    devices = _devices(context)
    shape, dtype = chain.output(tuple(map(int, array.shape)), array.dtype)
    if array.ndim == 3:
        array = array.rechunk({2: -1})
    for axis, extent in enumerate(chain.depth):
        if array.shape[axis] <= 2 * extent:
            # The windows span the image: one chunk, with the chain's own border.
            array = array.rechunk({axis: -1})
        elif min(array.chunks[axis]) < extent:
            array = array.rechunk({axis: _merged(array.chunks[axis], extent)})
    if store is not None:
        _check_store(store, shape, dtype)
    # One chunk needs no neighbours.
    rows, columns = (chain.depth[axis] if array.numblocks[axis] > 1 else 0 for axis in (0, 1))
    chunks = array.chunks[:2] + tuple((extent,) for extent in shape[2:])
    meta = numpy.empty((0,) * len(shape), dtype)
    token = tokenize(array.name, chain.stages, chain.border, chain.keep_alpha, devices, id(store))
    name = f"tripipe-filter-{token}"
    works = partial(_works, array.chunks, store, chain, devices)
    if rows or columns:
        layer = _with_neighbours(name, array, (rows, columns), len(shape), chain, works)
    else:
        tail = (0,) * (array.ndim - 2)
        places = itertools.product(*map(range, array.numblocks[:2]))
        result_tail = (0,) * (len(shape) - 2)
        layer = {(name, *at, *result_tail): (works(at, None), (array.name, *at, *tail)) for at in places}
    graph = HighLevelGraph.from_collections(name, layer, dependencies=[array])
    result = da.Array(graph, name, chunks, dtype=dtype, meta=meta)
    if store is None:
        return result
    # Tasks of chunks that are written give nothing.
    dask.base.compute_as_if_collection(da.Array, graph, list(flatten(result.__dask_keys__())))
    return store


def _check_store(store: Any, shape: tuple[int, ...], dtype: numpy.dtype[Any]) -> None:
    if tuple(store.shape) != tuple(shape) or numpy.dtype(store.dtype) != dtype:
        raise ValueError(f"store: {tuple(store.shape)} of {store.dtype}, the result is {tuple(shape)} of {dtype}")
    if not isinstance(store, numpy.ndarray):
        return
    try:
        from distributed import default_client

        default_client()
    except (ImportError, ValueError):
        return
    raise ValueError("store: an array of NumPy, which the workers of a cluster cannot write to: give one of Zarr")


def _works(
    chunks: tuple[tuple[int, ...], ...],
    store: Any,
    chain: Chain,
    devices: tuple[str, ...],
    at: tuple[int, ...],
    reach: tuple[int, int] | None,
) -> Any:
    """What a task does with the chunk at a place, and with the rims of its neighbours if there is a reach."""
    work = (
        partial(_filter_block, chain=chain, devices=devices)
        if reach is None
        else partial(_filter_inside, reach=reach, chain=chain, devices=devices)
    )
    if store is None:
        return work
    starts = [sum(extents[:place]) for extents, place in zip(chunks, at)]
    part = tuple(slice(start, start + extents[place]) for start, extents, place in zip(starts, chunks, at))
    return partial(_stored, store=store, part=part, work=work)


def _stored(*arguments: Any, store: Any, part: tuple[slice, ...], work: Any) -> None:
    if isinstance(store, numpy.ndarray):
        work(*arguments, into=store[part])
    else:
        store[part] = work(*arguments)


def _with_neighbours(
    name: str,
    array: Any,
    reach: tuple[int, int],
    dimensions: int,
    chain: Chain,
    works: Any,
) -> dict[Any, Any]:
    """Two tasks for each chunk: what others need of it, and its result.

    `dask.array.overlap` makes nine, one for each part: schedulers of clusters take most of a
    millisecond for a task. A worker gets rims of other workers, never whole chunks.
    """
    layer: dict[Any, Any] = {}
    extents = array.numblocks[:2]
    tail, result_tail = (0,) * (array.ndim - 2), (0,) * (dimensions - 2)
    is_periodic = chain.border == "wrap"
    cut = partial(_rims, reach=reach)
    for at in itertools.product(*map(range, extents)):
        around: list[tuple[Any, ...] | None] = []
        for step in _steps(reach):
            next_to = [place + one for place, one in zip(at, step)]
            if is_periodic:
                next_to = [place % extent for place, extent in zip(next_to, extents)]
            is_inside = all(0 <= place < extent for place, extent in zip(next_to, extents))
            around.append((f"{name}-rims", *next_to) if is_inside else None)
        block = (array.name, *at, *tail)
        layer[(f"{name}-rims", *at)] = (cut, block)
        layer[(name, *at, *result_tail)] = (works(at, reach), block, around)
    return layer


def _merged(chunks: tuple[int, ...], least: int) -> tuple[int, ...]:
    """Chunks of which none is smaller than `least`: small ones are joined with their neighbours."""
    merged: list[int] = []
    for extent in chunks:
        if merged and merged[-1] < least:
            merged[-1] += extent
        else:
            merged.append(extent)
    if len(merged) > 1 and merged[-1] < least:
        last = merged.pop()
        merged[-1] += last
    return tuple(merged)


def _product_block(a: NDArray[Any], b: NDArray[Any], devices: tuple[str, ...]) -> NDArray[Any]:
    return _matmul(a, b, context=_context(devices))[:, None, :]


def matmul(a: Any, b: Any, *, context: str | Sequence[str] = "auto") -> Any:
    """The product of two matrices, chunk by chunk; sums of chunks are added in the type of the result.

    Products of int8 are exact. The last bits of floats depend on the chunks along the inner axis, as
    in every blocked product; float16 is added in float32.
    """
    a, b = da.asarray(a), da.asarray(b)
    devices = _devices(context)
    if a.ndim != 2 or b.ndim != 2:
        raise ValueError(f"a, b: shapes {a.shape} and {b.shape}: want matrices")
    if a.shape[1] != b.shape[0]:
        raise ValueError(f"b: shape {b.shape} does not fit a with shape {a.shape}")
    b = b.rechunk({0: a.chunks[1]})
    probe = _matmul(numpy.zeros((1, 1), a.dtype), numpy.zeros((1, 1), b.dtype), context="cpu")
    products = da.blockwise(
        _product_block,
        "ikj",
        a,
        "ik",
        b,
        "kj",
        devices=devices,
        dtype=probe.dtype,
        meta=numpy.empty((0, 0, 0), probe.dtype),
        adjust_chunks={"k": 1},
        align_arrays=False,
    )
    if products.shape[1] == 1:
        return products[:, 0, :]
    wide = numpy.float32 if probe.dtype == numpy.float16 else probe.dtype
    return products.sum(axis=1, dtype=wide).astype(probe.dtype)


def read_zarr(path: str, **options: Any) -> Any:
    """An array of a Zarr store, in its chunks; options as of ``dask.array.from_zarr``."""
    return da.from_zarr(path, **options)


def write_zarr(path: str, array: Any, *, progress: bool = False, **options: Any) -> None:
    """Compute an array into a Zarr store; options as of ``dask.array.to_zarr``."""
    if any(len(set(extents[:-1])) > 1 for extents in array.chunks):
        # A store has chunks of one size.
        array = array.rechunk(tuple(max(extents) for extents in array.chunks))
    with _progress(progress):
        da.to_zarr(array, path, **options)


def read_tiff(path: str, chunks: Any = None) -> Any:
    """An image of a TIFF file, read chunk by chunk: in its tiles or strips, or in ``chunks``."""
    import tifffile
    import zarr

    store = tifffile.imread(path, aszarr=True)
    found = zarr.open(store, mode="r")
    # A file with levels of detail is a group, whose first array is the image.
    found = found["0"] if isinstance(found, zarr.Group) else found
    return da.from_zarr(found) if chunks is None else da.from_zarr(found).rechunk(chunks)


def write_tiff(path: str, array: Any, *, tile: int = 256, progress: bool = False) -> None:
    """Compute an image into a tiled TIFF file, one row of chunks in memory at a time."""
    import tifffile

    if tile < 16 or tile % 16:
        raise ValueError(f"tile: {tile} is not a multiple of 16")
    array = da.asarray(array)
    if array.ndim not in (2, 3):
        raise ValueError(f"array: shape {array.shape}: want (rows, columns) or (rows, columns, channels)")
    rows = max(tile, max(array.chunks[0]) // tile * tile)

    def tiles() -> Iterator[NDArray[Any]]:
        for top in range(0, array.shape[0], rows):
            with _progress(progress):
                band = numpy.asarray(array[top : top + rows].compute())
            for y in range(0, band.shape[0], tile):
                for x in range(0, band.shape[1], tile):
                    part = band[y : y + tile, x : x + tile]
                    padding = [(0, tile - part.shape[0]), (0, tile - part.shape[1])]
                    yield numpy.pad(part, padding + [(0, 0)] * (part.ndim - 2))

    with tifffile.TiffWriter(path, bigtiff=array.nbytes > 2**31) as file:
        file.write(
            tiles(),
            shape=array.shape,
            dtype=array.dtype,
            tile=(tile, tile),
            photometric="rgb" if array.ndim == 3 and array.shape[2] in (3, 4) else "minisblack",
        )


def compute(array: Any, *, progress: bool = True) -> NDArray[Any]:
    """Compute an array, with a progress bar; on a cluster, that of its client."""
    try:
        from distributed import default_client, progress as show

        default_client()
    except (ImportError, ValueError):
        with _progress(progress):
            computed: NDArray[Any] = array.compute()
        return computed
    persisted = array.persist()
    if progress:
        show(persisted, notebook=False)
    gathered: NDArray[Any] = persisted.compute()
    return gathered


def _progress(is_shown: bool) -> Any:
    if not is_shown:
        return nullcontext()
    from dask.diagnostics.progress import ProgressBar

    return ProgressBar()
