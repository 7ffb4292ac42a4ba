"""Matrix products and image filters on phone GPUs, OpenCL devices and the CPU; a workbench for OpenCL kernels.

>>> import numpy, tripipe
>>> photo = numpy.zeros((480, 640, 3), numpy.uint8)
>>> edges = tripipe.filter(photo, "gray,gaussian:5,sobel")
>>> edges.shape
(480, 640)

Functions take arrays of NumPy, or an :class:`Array`, which stays on its device. ``context`` is a
:class:`Context` or the name of a device, such as ``"cpu"`` or ``"opencl:0"``; by default the best
device of the machine.

`check`, `analyze`, `simulate`, `improve` and `tune` are the workbench: :mod:`tripipe.workbench`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ._reductions import dot, max, min, sum
from ._tripipe import (
    Array,
    Chain,
    Context,
    Device,
    DeviceError,
    Error,
    Explanation,
    Packed,
    UnsupportedError,
    affine,
    array,
    devices,
    explain,
    explain_matmul,
    filter,
    from_frame,
    histogram,
    matmul,
    pack,
    resize,
    rotate,
    stages,
    to_frame,
)
from ._tripipe import VERSION as __version__
from ._colour import color
from ._windows import convolve, correlate, weights

if TYPE_CHECKING:
    from . import workbench
    from .workbench import analyze, check, improve, simulate, simulate_grid, tune

__all__ = [
    "Array",
    "Chain",
    "Context",
    "Device",
    "DeviceError",
    "Error",
    "Explanation",
    "Packed",
    "UnsupportedError",
    "__version__",
    "affine",
    "analyze",
    "array",
    "check",
    "color",
    "convolve",
    "correlate",
    "devices",
    "dot",
    "explain",
    "explain_matmul",
    "filter",
    "from_frame",
    "histogram",
    "improve",
    "matmul",
    "max",
    "min",
    "pack",
    "resize",
    "rotate",
    "simulate",
    "simulate_grid",
    "stages",
    "sum",
    "to_frame",
    "tune",
    "weights",
    "workbench",
]


def __getattr__(name: str) -> Any:
    """The workbench, on first use: importing it takes as long as importing NumPy."""
    if name not in ("analyze", "check", "improve", "simulate", "simulate_grid", "tune", "workbench"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    workbench = import_module(".workbench", __name__)
    return workbench if name == "workbench" else getattr(workbench, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
