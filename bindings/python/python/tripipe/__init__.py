"""Matrix products and image filters on phone GPUs, OpenCL devices and the CPU.

>>> import numpy, tripipe
>>> photo = numpy.zeros((480, 640, 3), numpy.uint8)
>>> edges = tripipe.filter(photo, "gray,gaussian:5,sobel")
>>> edges.shape
(480, 640)

Functions take arrays of NumPy, or an :class:`Array`, which stays on its device. ``context`` is a
:class:`Context` or the name of a device, such as ``"cpu"`` or ``"opencl:0"``; by default the best
device of the machine.
"""

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
    stages,
    to_frame,
)
from ._colour import color

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
    "array",
    "color",
    "devices",
    "dot",
    "explain",
    "explain_matmul",
    "filter",
    "from_frame",
    "histogram",
    "matmul",
    "max",
    "min",
    "pack",
    "resize",
    "stages",
    "sum",
    "to_frame",
]
