"""Arrays and explanations as HTML, for notebooks."""

from __future__ import annotations

import base64
import html
import struct
import zlib
from typing import TYPE_CHECKING, Any

import numpy

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ._tripipe import Array

_PREVIEW = 192
_CORNER = 6


def table_html(title: str, rows: list[tuple[str, str]]) -> str:
    """A table with a row for each pair."""
    cells = "".join(
        f"<tr><td style='text-align:left'><b>{html.escape(name)}</b></td>"
        f"<td style='text-align:left'>{html.escape(text)}</td></tr>"
        for name, text in rows
    )
    return f"<table><caption>{html.escape(title)}</caption>{cells}</table>"


def array_html(array: Array) -> str:
    """The properties of an array, and a picture or some of its elements."""
    rows = [
        ("shape", " x ".join(map(str, array.shape))),
        ("dtype", str(array.dtype)),
        ("device", f"{array.context.device}: {array.context.name}"),
        ("bytes", f"{array.nbytes:,}"),
    ]
    return table_html("tripipe.Array", rows) + (_picture(array) or _corner(array))


def _corner(array: Array) -> str:
    if array.size == 0:
        return ""
    text = numpy.array2string(
        numpy.asarray(array), threshold=_CORNER * _CORNER, edgeitems=_CORNER // 2
    )
    return f"<pre>{html.escape(text)}</pre>"


def _picture(array: Array) -> str | None:
    """An image of bytes as a small PNG; None for other arrays."""
    is_image = array.ndim == 2 or array.ndim == 3 and array.shape[2] in (1, 3, 4)
    if not is_image or array.dtype != numpy.uint8 or min(array.shape[:2]) < 16:
        return None
    height, width = array.shape[:2]
    scale = min(1.0, _PREVIEW / max(height, width))
    if scale < 1.0:
        from ._tripipe import resize

        size = (max(1, round(height * scale)), max(1, round(width * scale)))
        array = resize(array, size, "area")
    encoded = base64.b64encode(png(numpy.asarray(array))).decode()
    return f"<img src='data:image/png;base64,{encoded}'/>"


def png(pixels: NDArray[Any]) -> bytes:
    """A PNG of an image of bytes with 1, 3 or 4 channels."""
    if pixels.ndim == 3 and pixels.shape[2] == 1:
        pixels = pixels[:, :, 0]
    height, width = pixels.shape[:2]
    color = 0 if pixels.ndim == 2 else {3: 2, 4: 6}[pixels.shape[2]]

    def chunk(name: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        )

    rows = pixels.reshape(height, -1)
    lines = numpy.zeros((height, rows.shape[1] + 1), numpy.uint8)
    lines[:, 1:] = rows
    header = struct.pack(">IIBBBBB", width, height, 8, color, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(lines.tobytes(), 6))
        + chunk(b"IEND", b"")
    )
