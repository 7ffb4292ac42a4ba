"""Reductions of arrays of the host and of devices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._tripipe import Array, Context, _context_of_host, array

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


def _placed(x: ArrayLike | Array, context: Context | str | None) -> Array:
    if isinstance(x, Array):
        if context is not None:
            raise ValueError("context: the array is in a context: copy it with to()")
        return x
    return array(x, _context_of_host(context))


def sum(x: ArrayLike | Array, *, context: Context | str | None = None) -> int | float:
    """The sum of all elements: exact for integers, in float32 for float16 and float32."""
    return _placed(x, context).sum()


def min(x: ArrayLike | Array, *, context: Context | str | None = None) -> int | float:
    """The smallest element; NaN is ignored."""
    return _placed(x, context).min()


def max(x: ArrayLike | Array, *, context: Context | str | None = None) -> int | float:
    """The largest element; NaN is ignored."""
    return _placed(x, context).max()


def dot(
    x: ArrayLike | Array, y: ArrayLike | Array, *, context: Context | str | None = None
) -> int | float:
    """The sum of the products of two arrays of the same shape and type."""
    if isinstance(y, Array) and not isinstance(x, Array):
        x, y = y, x
    placed: Any = y
    return _placed(x, context).dot(placed)
