"""Filters with the caller's own weights."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, overload

import numpy

from ._tripipe import Array, Context, filter

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


def weights(kernel: ArrayLike, divisor: int | float = 1) -> str:
    """The stage of a chain that sums a window with these weights, a matrix with odd extents up to 31, and divides.

    >>> weights([[1, 2, 1], [2, 4, 2], [1, 2, 1]], 16)
    'weights:1 2 1/2 4 2/1 2 1:16'

    Sums with integers are exact for pixels of integers. As OpenCV's ``filter2D`` and ``scipy.ndimage.correlate``, the
    kernel is not mirrored.
    """
    matrix = numpy.asarray(kernel)
    if matrix.ndim != 2 or matrix.dtype.kind not in "biuf":
        raise ValueError(f"kernel: shape {matrix.shape} of {matrix.dtype}: want a matrix of numbers")
    rows = "/".join(" ".join(str(number) for number in row) for row in matrix.tolist())
    return f"weights:{rows}" + (f":{divisor}" if divisor != 1 else "")


@overload
def correlate(
    img: Array, kernel: ArrayLike, divisor: int | float = 1, *, border: str | None = None,
    keep_alpha: bool | None = None, context: Context | str | None = None,
) -> Array: ...
@overload
def correlate(
    img: ArrayLike, kernel: ArrayLike, divisor: int | float = 1, *, border: str | None = None,
    keep_alpha: bool | None = None, channels: bool | None = None, out: NDArray[Any] | None = None,
    context: Context | str | None = None,
) -> NDArray[Any]: ...
def correlate(img: Any, kernel: ArrayLike, divisor: int | float = 1, **options: Any) -> Any:
    """Filter an image with the caller's own weights: `filter` with the stage of `weights`."""
    return filter(img, weights(kernel, divisor), **options)


@overload
def convolve(
    img: Array, kernel: ArrayLike, divisor: int | float = 1, *, border: str | None = None,
    keep_alpha: bool | None = None, context: Context | str | None = None,
) -> Array: ...
@overload
def convolve(
    img: ArrayLike, kernel: ArrayLike, divisor: int | float = 1, *, border: str | None = None,
    keep_alpha: bool | None = None, channels: bool | None = None, out: NDArray[Any] | None = None,
    context: Context | str | None = None,
) -> NDArray[Any]: ...
def convolve(img: Any, kernel: ArrayLike, divisor: int | float = 1, **options: Any) -> Any:
    """As `correlate`, with the kernel mirrored along both axes: ``scipy.ndimage.convolve``."""
    matrix = numpy.asarray(kernel)
    return filter(img, weights(matrix[::-1, ::-1] if matrix.ndim == 2 else matrix, divisor), **options)
