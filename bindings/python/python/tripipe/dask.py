"""Filters and products of arrays that are larger than a machine, with Dask.

>>> import dask.array, tripipe.dask
>>> scan = dask.array.zeros((40_000, 40_000), dtype="uint8", chunks=2048)
>>> edges = tripipe.dask.apply("gaussian:5,sobel", scan)

Results equal those of the whole array: to the bit for filters, whatever the chunks. Each worker
makes one context, when it is first needed.
"""

from __future__ import annotations

import os
import threading
import zlib
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import dask.array as da
import numpy

from ._tripipe import Chain, Context, filter as _filter, matmul as _matmul

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["apply", "compute", "matmul", "read_tiff", "read_zarr", "write_tiff", "write_zarr"]

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
            # Trials of the CPU path would make the last bits of floats depend on the chunk.
            _CONTEXTS[key] = Context(name, cpu_when_faster=False)
        return _CONTEXTS[key]


def _devices(context: str | Sequence[str]) -> tuple[str, ...]:
    if isinstance(context, str):
        return (context,)
    devices = tuple(context) if isinstance(context, Sequence) else ()
    if not devices or not all(isinstance(device, str) for device in devices):
        raise TypeError("context: want the name of a device, or several: a Context cannot be sent to a worker")
    return devices


def _filter_block(block: NDArray[Any], chain: Chain, devices: tuple[str, ...]) -> NDArray[Any]:
    return _filter(block, chain, context=_context(devices))


def apply(
    chain: Chain | str,
    array: Any,
    *,
    border: str | None = None,
    keep_alpha: bool | None = None,
    context: str | Sequence[str] = "auto",
) -> Any:
    """Filter an image of (rows, columns) or (rows, columns, channels) chunk by chunk.

    Chunks overlap by the depth of the chain. Borders are the chain's own: nothing is added around
    the image, except that with the border ``wrap`` chunks at an edge get pixels of the opposite one.
    ``context`` names the device of the workers, or several devices, which the workers take in turn.
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
    depth: dict[int, int] = {}
    boundary: dict[int, Any] = {}
    for axis, reach in enumerate(chain.depth):
        if array.shape[axis] <= 2 * reach:
            # The windows span the image: one chunk, with the chain's own border.
            array = array.rechunk({axis: -1})
        # One chunk needs no neighbours.
        depth[axis] = reach if array.numblocks[axis] > 1 else 0
        boundary[axis] = "periodic" if chain.border == "wrap" and depth[axis] else "none"
    for axis, extent in depth.items():
        if min(array.chunks[axis]) < extent:
            array = array.rechunk({axis: _merged(array.chunks[axis], extent)})
    drop_axis, new_axis = None, None
    if array.ndim == 3:
        depth[2], boundary[2] = 0, "none"
    if len(shape) < array.ndim:
        drop_axis = 2
    elif len(shape) > array.ndim:
        new_axis = 2
    overlapped = da.overlap.overlap(array, depth, boundary)
    chunks = overlapped.chunks[:2] + tuple((extent,) for extent in shape[2:])
    filtered = da.map_blocks(
        _filter_block,
        overlapped,
        chain,
        devices,
        dtype=dtype,
        chunks=chunks,
        drop_axis=drop_axis,
        new_axis=new_axis,
        meta=numpy.empty((0,) * len(shape), dtype),
        name=None,
    )
    trimmed = {axis: depth.get(axis, 0) for axis in range(len(shape))}
    return da.overlap.trim_internal(
        filtered, trimmed, {axis: boundary.get(axis, "none") for axis in trimmed}
    )


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
