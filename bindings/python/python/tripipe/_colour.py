"""Conversions of colour."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, overload

from ._tripipe import Array, Context, filter

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

_STAGES = {
    ("rgb", "gray"): "gray",
    ("rgba", "gray"): "gray",
    ("bgr", "gray"): "gray-bgr",
    ("bgra", "gray"): "gray-bgr",
    ("gray", "rgb"): "rgb",
    ("gray", "bgr"): "rgb",
    ("rgb", "bgr"): "swap-red-blue",
    ("bgr", "rgb"): "swap-red-blue",
    ("rgba", "bgra"): "swap-red-blue",
    ("bgra", "rgba"): "swap-red-blue",
    ("rgb", "rgba"): "add-alpha",
    ("bgr", "bgra"): "add-alpha",
    ("rgba", "rgb"): "drop-alpha",
    ("bgra", "bgr"): "drop-alpha",
    ("rgb", "yuv"): "yuv",
    ("yuv", "rgb"): "from-yuv",
    ("bgr", "yuv"): "swap-red-blue,yuv",
    ("yuv", "bgr"): "from-yuv,swap-red-blue",
    ("rgb", "ycrcb"): "ycrcb",
    ("ycrcb", "rgb"): "from-ycrcb",
    ("bgr", "ycrcb"): "swap-red-blue,ycrcb",
    ("ycrcb", "bgr"): "from-ycrcb,swap-red-blue",
}


@overload
def color(
    img: Array, source: str, target: str, *, context: Context | str | None = None
) -> Array: ...
@overload
def color(
    img: ArrayLike,
    source: str,
    target: str,
    *,
    out: NDArray[Any] | None = None,
    context: Context | str | None = None,
) -> NDArray[Any]: ...
def color(
    img: Any,
    source: str,
    target: str,
    *,
    out: NDArray[Any] | None = None,
    context: Context | str | None = None,
) -> Any:
    """Convert an image from one space of colours to another, with OpenCV's coefficients.

    The spaces are ``rgb``, ``bgr``, ``rgba``, ``bgra``, ``gray``, ``yuv`` and ``ycrcb``.
    """
    stages = _STAGES.get((source, target))
    if stages is None:
        pairs = ", ".join(f"{a} to {b}" for a, b in _STAGES)
        raise ValueError(f"source, target: no conversion from {source!r} to {target!r}; there are {pairs}")
    return filter(img, stages, out=out, context=context)
