"""Arguments of kernels: what arrays and numbers cannot express."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Union

import numpy
from numpy.typing import NDArray

Access = Literal["read", "write", "read-write"]

ELEMENTS = {
    "int8": "char",
    "uint8": "uchar",
    "bool": "uchar",
    "int16": "short",
    "uint16": "ushort",
    "int32": "int",
    "uint32": "uint",
    "int64": "long",
    "uint64": "ulong",
    "float16": "half",
    "float32": "float",
    "float64": "double",
}
"""The types of OpenCL C by those of NumPy."""

_CHANNELS = {
    "uint8": "unorm-int8",
    "int8": "snorm-int8",
    "uint16": "unorm-int16",
    "int16": "snorm-int16",
    "int32": "signed-int32",
    "uint32": "unsigned-int32",
    "float16": "half-float",
    "float32": "float",
}
_LETTERS = {"intensity": 1, "luminance": 1, "depth": 1, "srgba": 4, "sbgra": 4}
_AXES = {
    "1d": ("width",),
    "1d-buffer": ("width",),
    "1d-array": ("layers", "width"),
    "2d": ("height", "width"),
    "2d-array": ("layers", "height", "width"),
    "3d": ("depth", "height", "width"),
}


@dataclass(frozen=True)
class Buffer:
    """A buffer without contents, or with an array and an access.

    A kernel that reads a buffer without contents before it writes it has a bug, which :func:`tripipe.check` finds.
    """

    shape: tuple[int, ...]
    dtype: numpy.dtype[Any]
    access: Access
    contents: NDArray[Any] | None

    def __init__(
        self,
        contents: Any = None,
        *,
        shape: int | Sequence[int] | None = None,
        dtype: Any = None,
        access: Access = "read-write",
    ) -> None:
        if (contents is None) == (shape is None):
            raise ValueError("Buffer: give either contents or a shape")
        array = None if contents is None else numpy.asarray(contents, dtype)
        extents = array.shape if array is not None else _extents(shape)
        object.__setattr__(self, "contents", array)
        object.__setattr__(self, "shape", extents)
        object.__setattr__(self, "dtype", numpy.dtype(dtype or "float32") if array is None else array.dtype)
        object.__setattr__(self, "access", _one_of("access", access, ("read", "write", "read-write")))


@dataclass(frozen=True)
class Local:
    """Local memory of this many bytes."""

    bytes: int


@dataclass(frozen=True)
class Sampler:
    """A sampler."""

    addressing: Literal["none", "clamp-to-edge", "clamp", "repeat", "mirrored-repeat"] = "clamp-to-edge"
    filter: Literal["nearest", "linear"] = "nearest"
    normalized: bool = False


@dataclass(frozen=True)
class Image:
    """An image: of (rows, columns) or (rows, columns, channels), as `kind` and `order` say; the numbers in memory.

    Without `contents`, `shape` is that of the texels and `dtype` their type.
    """

    shape: tuple[int, ...]
    dtype: numpy.dtype[Any]
    order: str
    channel: str
    kind: str
    access: Access
    contents: NDArray[Any] | None

    def __init__(
        self,
        contents: Any = None,
        *,
        shape: Sequence[int] | None = None,
        dtype: Any = None,
        order: str = "rgba",
        channel: str | None = None,
        kind: str = "2d",
        access: Access = "read-write",
    ) -> None:
        if (contents is None) == (shape is None):
            raise ValueError("Image: give either contents or a shape")
        axes = _AXES[_one_of("kind", kind, tuple(_AXES))]
        array = None if contents is None else numpy.asarray(contents, dtype)
        extents = array.shape if array is not None else _extents(shape)
        element = numpy.dtype(dtype or "float32") if array is None else array.dtype
        lanes = _LETTERS.get(order, len(order))
        if array is not None:
            has_lanes = len(extents) == len(axes) + 1
            if (extents[-1] if has_lanes else 1) != lanes or len(extents) not in (len(axes), len(axes) + 1):
                raise ValueError(
                    f"Image: shape {extents} of contents; a {kind} image of order {order!r} has "
                    f"({', '.join(axes)}{f', {lanes}' if lanes > 1 else ''})"
                )
            extents = extents[: len(axes)]
        elif len(extents) != len(axes):
            raise ValueError(f"Image: shape {extents}; a {kind} image has ({', '.join(axes)})")
        if channel is None and element.name not in _CHANNELS:
            raise TypeError(f"Image: texels of {element}; give a channel, or one of {', '.join(_CHANNELS)}")
        object.__setattr__(self, "contents", array)
        object.__setattr__(self, "shape", extents + ((lanes,) if lanes > 1 else ()))
        object.__setattr__(self, "dtype", element)
        object.__setattr__(self, "order", order)
        object.__setattr__(self, "channel", channel or _CHANNELS[element.name])
        object.__setattr__(self, "kind", kind)
        object.__setattr__(self, "access", _one_of("access", access, ("read", "write", "read-write")))

    def extents(self) -> dict[str, int]:
        """Texels by axis: width, height, depth, layers."""
        axes = _AXES[self.kind]
        return dict(zip(axes, self.shape[: len(axes)], strict=True))


Argument = Union[
    NDArray[Any],
    "numpy.generic",
    Buffer,
    Image,
    Local,
    Sampler,
    int,
    float,
    bytes,
    Sequence[float],
    None,
]
"""An argument of a kernel.

An array is a buffer with its contents, for reading only if the array is read-only; the same array twice is the same
buffer. A number is a scalar, a list or tuple of numbers a vector, `bytes` a struct, None a null pointer.
"""


def _extents(shape: int | Sequence[int] | None) -> tuple[int, ...]:
    if shape is None:
        return ()
    return (int(shape),) if isinstance(shape, int) else tuple(int(extent) for extent in shape)


def _one_of(name: str, value: Any, known: tuple[str, ...]) -> Any:
    if value not in known:
        raise ValueError(f"{name}: {value!r}; there are {', '.join(known)}")
    return value
