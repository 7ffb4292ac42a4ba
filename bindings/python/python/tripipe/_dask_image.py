"""Filters of dask-image by this package, for chunks that ask for it: see `tripipe.dask.image`."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy
import scipy.ndimage

from ._tripipe import Chain, filter as _filter
from .dask import _context

_PIXELS = ("uint8", "uint16", "int16", "float16", "float32")
# The borders of SciPy by their names here. A constant is left to SciPy, which converts it in a way of its own.
_BORDERS = {"reflect": "reflect", "mirror": "reflect101", "nearest": "replicate", "wrap": "wrap"}
_LOCK = threading.Lock()
_REGISTERED: list[bool] = []


class Chunk(numpy.ndarray[Any, Any]):
    """An array of NumPy whose type selects these filters in dask-image's dispatch."""

    devices: tuple[str, ...] = ("auto",)

    def __array_finalize__(self, source: Any) -> None:
        self.devices = getattr(source, "devices", ("auto",))


def marked(block: Any, *, devices: tuple[str, ...]) -> Chunk:
    """A view of a chunk with the type that dask-image's dispatch looks at."""
    view: Chunk = numpy.asarray(block).view(Chunk)
    view.devices = devices
    return view


def _filtered(block: Any, stage: str, size: int, mode: str, devices: tuple[str, ...]) -> Any:
    """The result of a stage; `None` if SciPy has to compute it."""
    if block.ndim != 2 or block.dtype.name not in _PIXELS or mode not in _BORDERS or min(block.shape) < size:
        return None
    try:
        chain = Chain(stage, _BORDERS[mode])
    except ValueError:
        # A size that there is no filter for.
        return None
    return marked(_filter(numpy.asarray(block), chain, context=_context(devices)), devices=devices)


def _square(extents: Sequence[Any], origin: Any) -> int | None:
    """The size of a square window around the pixel."""
    sizes = {int(extent) for extent in extents}
    size = sizes.pop()
    return size if not sizes and size % 2 and not numpy.any(numpy.asarray(origin)) else None


def _ordered(
    block: Any,
    *,
    name: str,
    devices: tuple[str, ...],
    footprint: Any,
    mode: str = "reflect",
    origin: Any = 0,
    **options: Any,
) -> Any:
    size = _square(footprint.shape, origin) if footprint.all() else None
    found = None
    if size is not None:
        stage = {
            "minimum_filter": f"erode:{size}",
            "maximum_filter": f"dilate:{size}",
            "median_filter": f"median:{size}",
            "rank_filter": f"rank:{size}:{options.get('rank')}",
            "percentile_filter": f"percentile:{size}:{options.get('percentile')}",
        }[name]
        found = _filtered(block, stage, size, mode, devices)
    if found is None:
        plain = getattr(scipy.ndimage, name)(
            numpy.asarray(block), footprint=footprint, mode=mode, origin=origin, **options
        )
        found = marked(plain, devices=devices)
    return found


def _uniform(
    block: Any, *, devices: tuple[str, ...], size: Any, mode: str = "reflect", origin: Any = 0, **options: Any
) -> Any:
    square = _square(size, origin)
    found = None
    if square is not None and block.dtype == numpy.float32:
        found = _filtered(block, f"box:{square}", square, mode, devices)
    if found is None:
        plain = scipy.ndimage.uniform_filter(numpy.asarray(block), size=size, mode=mode, origin=origin, **options)
        found = marked(plain, devices=devices)
    return found


def _gaussian(
    block: Any,
    *,
    devices: tuple[str, ...],
    sigma: Any,
    order: Any = 0,
    mode: str = "reflect",
    truncate: float = 4.0,
    **options: Any,
) -> Any:
    found = None
    if block.dtype == numpy.float32 and not numpy.any(numpy.asarray(order)) and len(set(sigma)) == 1:
        deviation = float(sigma[0])
        # SciPy's window.
        size = 2 * int(truncate * deviation + 0.5) + 1
        found = _filtered(block, f"gaussian:{size}:{deviation!r}", size, mode, devices)
    if found is None:
        plain = scipy.ndimage.gaussian_filter(
            numpy.asarray(block), sigma, order=order, mode=mode, truncate=truncate, **options
        )
        found = marked(plain, devices=devices)
    return found


def _sobel(block: Any, *, devices: tuple[str, ...], axis: int = -1, mode: str = "reflect", **options: Any) -> Any:
    found = None
    if block.dtype == numpy.float32:
        found = _filtered(block, "sobel-y" if axis in (0, -2) else "sobel-x", 3, mode, devices)
    if found is None:
        plain = scipy.ndimage.sobel(numpy.asarray(block), axis=axis, mode=mode, **options)
        found = marked(plain, devices=devices)
    return found


def register() -> None:
    """Registers the filters with dask-image's dispatch, once; only chunks of `Chunk` use them."""
    from dask_image.dispatch import _dispatch_ndfilters as dispatch

    def add(name: str, work: Callable[..., Any]) -> None:
        def chosen(array: Any, *_: Any, **__: Any) -> Any:
            return partial(work, devices=getattr(array._meta, "devices", ("auto",)))

        getattr(dispatch, f"dispatch_{name}").register(Chunk, chosen)

    with _LOCK:
        if not _REGISTERED:
            for name in ("minimum_filter", "maximum_filter", "median_filter", "rank_filter", "percentile_filter"):
                add(name, partial(_ordered, name=name))
            add("sobel", _sobel)
            add("uniform_filter", _uniform)
            add("gaussian_filter", _gaussian)
            _REGISTERED.append(True)
