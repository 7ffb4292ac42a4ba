"""Stacks of images, pixels of other types, and chains with steps that resize or rotate: made of calls for single images."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NoReturn

import numpy
from numpy.typing import NDArray

from . import _tripipe

Images = NDArray[Any]
_IMAGES = ("uint8", "int16", "uint16", "float16", "float32")
_LARGEST = 2**24
_SHAPING = ("resize", "rotate")
_RESIZE = re.compile(r"resize:(\d*)x(\d*)(?::([a-z0-9]+))?$")


def takes(img: Any) -> bool:
    """Whether `stacked` can make images of it: an array of numbers with at least two axes."""
    try:
        array = numpy.asarray(img)
    except (TypeError, ValueError):
        return False
    return array.dtype.kind in "biuf" and array.ndim >= 2


def _has_channels(array: Any, channels: bool | None) -> bool:
    if channels is not None:
        return channels
    return bool(array.ndim >= 3 and 1 <= array.shape[-1] <= 4)


def _working(array: Images) -> Images:
    """The pixels in the type in which they are computed."""
    dtype = array.dtype
    if dtype.name in _IMAGES:
        return array
    if dtype.kind == "b":
        return array.view(numpy.uint8) if array.flags.c_contiguous else array.astype(numpy.uint8)
    if dtype.kind == "i" and dtype.itemsize == 1:
        return array.astype(numpy.int16)
    if dtype.kind in "iu" and array.size and (array.max() > _LARGEST or (dtype.kind == "i" and array.min() < -_LARGEST)):
        raise ValueError(
            f"img: {dtype} beyond 2^24 in magnitude: such pixels are computed in float32, which is not exact there; "
            'filter img.astype("float32") if that is good enough'
        )
    return array.astype(numpy.float32)


def _restored(result: Images, working: numpy.dtype[Any], dtype: numpy.dtype[Any]) -> Images:
    """The result in the type of the pixels, if the stages have kept the type in which they were computed."""
    if result.dtype != working or working == dtype:
        return result
    if dtype.kind == "b":
        return result.astype(numpy.bool_)
    if dtype.kind == "f":
        return result.astype(dtype)
    limits = numpy.iinfo(dtype)
    rounded: Images = numpy.rint(result.astype(numpy.float64))
    return numpy.clip(rounded, limits.min, limits.max).astype(dtype)


def stacked(
    img: Any, work: Callable[..., Images], channels: bool | None, out: Images | None
) -> Images:
    """The results of all images of a stack, whose axes before the rows are those of the result too."""
    array = numpy.asarray(img)
    has_channels = _has_channels(array, channels)
    axes = 3 if has_channels else 2
    if array.ndim < axes or (has_channels and not 1 <= array.shape[-1] <= 4):
        want = "(..., rows, columns, channels) with 1 to 4 channels" if has_channels else "(..., rows, columns)"
        raise ValueError(f"img: shape {array.shape}: want {want}")
    pixels = _working(array)
    if out is not None and numpy.may_share_memory(out, pixels):
        pixels = pixels.copy()
    lead = array.shape[:-axes]
    # An image without contents says what the result of one is, if there is none.
    first = work(pixels[(0,) * len(lead)] if all(lead) else numpy.zeros(array.shape[-axes:], pixels.dtype))
    is_given = out is not None and array.dtype == pixels.dtype
    shape = lead + first.shape
    if is_given:
        _check(out, shape, first.dtype)
    result: Images = out if is_given and out is not None else numpy.empty(shape, first.dtype)
    for place in numpy.ndindex(*lead):
        if any(place) or not lead:
            work(pixels[place], out=result[place])
        else:
            result[place] = first
    result = _restored(result, pixels.dtype, array.dtype.newbyteorder("="))
    if out is None or is_given:
        return result
    _check(out, shape, result.dtype)
    out[...] = result
    return out


def _check(out: Any, shape: tuple[int, ...], dtype: numpy.dtype[Any]) -> None:
    if not isinstance(out, numpy.ndarray):
        raise TypeError(f"out: {type(out).__name__} instead of an array of NumPy")
    if out.shape != shape or out.dtype != dtype:
        raise ValueError(f"out: {out.shape} of {out.dtype}, the result is {shape} of {dtype}")
    if not out.flags.writeable:
        raise ValueError("out: it is not writeable")


def _refused(step: str) -> NoReturn:
    raise ValueError(
        f"chain: `{step}`: want resize:WIDTHxHEIGHT[:HOW], one of the extents may be left out; "
        "HOW is nearest, linear, area, cubic or lanczos4"
    )


def _size(step: str, extents: tuple[int, int]) -> tuple[tuple[int, int], str]:
    """The rows and columns of a step that resizes an image with these, and the interpolation."""
    found = _RESIZE.match(step)
    if found is None or not (found[1] or found[2]):
        _refused(step)
    rows, columns = extents
    width, height = int(found[1] or 0), int(found[2] or 0)
    if not found[1]:
        width = max(1, (2 * columns * height + rows) // (2 * rows)) if rows else 0
    if not found[2]:
        height = max(1, (2 * rows * width + columns) // (2 * columns)) if columns else 0
    shrinks = width <= columns and height <= rows
    return (height, width), found[3] or ("area" if shrinks else "linear")


def _turn(step: str) -> dict[str, Any]:
    """The arguments of `rotate` of a step that turns an image."""
    name, _, numbers = step.partition(":")
    degrees, _, how = numbers.partition(":")
    try:
        return {"angle": float(degrees if name == "rotate" else ""), "interpolation": how or "linear"}
    except ValueError:
        raise ValueError(f"chain: `{step}`: want rotate:DEGREES[:HOW]; HOW is nearest, linear or cubic") from None


def in_steps(
    img: Any,
    chain: str,
    border: str | None,
    keep_alpha: bool | None,
    channels: bool | None,
    out: Images | None,
    context: Any,
) -> Any:
    """The result of a chain that has steps `resize:WIDTHxHEIGHT[:HOW]` or `rotate:DEGREES[:HOW]`, as the command's."""
    on_device = isinstance(img, _tripipe.Array)
    image = img if on_device else numpy.asarray(img)
    if not on_device:
        channels = _has_channels(image, channels)
    pieces: list[str] = []
    for step in (step.strip() for step in chain.split(",")):
        if step.startswith(_SHAPING) or not pieces or pieces[-1].startswith(_SHAPING):
            pieces.append(step)
        else:
            pieces[-1] += "," + step
    for index, piece in enumerate(pieces):
        options: dict[str, Any] = {"context": context}
        if not on_device:
            options |= {"channels": channels, "out": out if index + 1 == len(pieces) else None}
        before = image.ndim
        if piece.startswith("rotate"):
            image = _tripipe.rotate(image, **_turn(piece), **options)
        elif piece.startswith("resize"):
            last = image.ndim - (channels if channels is not None else image.ndim == 3)
            if last < 2:
                raise ValueError(f"img: shape {image.shape}: want at least (rows, columns)")
            size, how = _size(piece, (image.shape[last - 2], image.shape[last - 1]))
            image = _tripipe.resize(image, size, how, **options)
        else:
            image = _tripipe.filter(image, piece, border=border, keep_alpha=keep_alpha, **options)
        if not on_device and image.ndim != before:
            channels = image.ndim > before
    return image
