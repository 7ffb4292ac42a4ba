#!/usr/bin/env python3
"""Runs a launch file on Oclgrind's OpenCL: the same launch that `tripipe check` takes.

    oclgrind [OPTIONS] python3 benches/oclgrind/host.py LAUNCH.toml

Needs Python 3.11 or newer and Debian's `oclgrind`, no OpenCL headers: the library is called through ctypes. Prints a line
of JSON with the work-items of the launch and the processor and wall time from enqueue to finish, in seconds.

Exit code: 0 when the launch ran, 3 when the program does not build, 2 when anything else fails.
"""

import ctypes
import json
import pathlib
import struct
import sys
import time
import tomllib

# Where Debian's package has it. The `oclgrind` command puts it in front of the system's OpenCL for programs that link
# it; this one is loaded at run time.
LIBRARY = "/usr/lib/oclgrind/liboclgrind-rt.so"

# Names and numbers of CL/cl.h.
CL_DEVICE_TYPE_ALL = 0xFFFFFFFF
CL_PROGRAM_BUILD_LOG = 0x1183
CL_KERNEL_ARG_TYPE_NAME = 0x1198
CL_MEM_COPY_HOST_PTR = 1 << 5
CL_MEM_OBJECT_IMAGE2D = 0x10F1
ACCESS = {"read-write": 1 << 0, "write": 1 << 1, "read": 1 << 2}
CHANNEL_ORDER = {"r": 0x10B0, "rg": 0x10B2, "rgba": 0x10B5}
CHANNEL_TYPE = {"unorm-int8": 0x10D2, "float": 0x10DE}
ADDRESSING = {"none": 0x1130, "clamp-to-edge": 0x1131, "clamp": 0x1132, "repeat": 0x1133, "mirrored-repeat": 0x1134}
FILTER = {"nearest": 0x1140, "linear": 0x1141}

# OpenCL C's scalars as the struct module spells them, with their bits if they are integers.
SCALARS = {
    "char": ("b", 8), "uchar": ("B", 8), "short": ("h", 16), "ushort": ("H", 16), "int": ("i", 32), "uint": ("I", 32),
    "long": ("q", 64), "ulong": ("Q", 64), "half": ("e", None), "float": ("f", None), "double": ("d", None),
}


class Element:
    """A scalar or vector type by its name in OpenCL C."""

    def __init__(self, name):
        scalar = name.rstrip("0123456789")
        self.lanes = int(name[len(scalar):] or 1)
        self.code, self.bits = SCALARS[scalar]
        self.signed = self.code.islower()

    def pack(self, numbers):
        """Bytes of all numbers, a vector of 3 in the room of 4."""
        if self.bits is not None:
            wrap = 1 << self.bits
            numbers = [int(number) % wrap for number in numbers]
            if self.signed:
                numbers = [number - wrap if number >= wrap // 2 else number for number in numbers]
        if self.lanes == 3:
            triples = [numbers[at:at + 3] for at in range(0, len(numbers), 3)]
            numbers = [number for triple in triples for number in (*triple, 0)]
        return struct.pack(f"={len(numbers)}{self.code}", *numbers)


def random_numbers(element, count, seed=1, low=None, high=None):
    """The numbers that docs/launch-files.md defines: Wyrand, one 64-bit draw a number."""
    mask, state = (1 << 64) - 1, seed
    if element.bits is None:
        low, high = 0 if low is None else low, 1 if high is None else high
    else:
        low = low if low is not None else (-(1 << element.bits - 1) if element.signed else 0)
        high = high if high is not None else (1 << element.bits - element.signed) - 1
    for _ in range(count):
        state = (state + 0x2D358DCCAA6C78A5) & mask
        product = state * (state ^ 0x8BB84B93962EACC9)
        draw = (product ^ product >> 64) & mask
        if element.bits is None:
            yield low + (high - low) * ((draw >> 11) / (1 << 53))
        else:
            yield low + (draw * (high - low + 1) >> 64)


def contents(argument, element, count):
    """The bytes an argument starts with, or None for memory that nobody wrote."""
    numbers = count * element.lanes
    if "values" in argument:
        return element.pack(argument["values"])
    if "fill" in argument:
        return element.pack([argument["fill"]] * numbers)
    if "range" in argument:
        start, step = argument["range"].get("start", 0), argument["range"].get("step", 1)
        return element.pack([start + step * at for at in range(numbers)])
    if "random" in argument:
        return element.pack(list(random_numbers(element, numbers, **argument["random"])))
    return None


class ImageFormat(ctypes.Structure):
    """`cl_image_format`"""

    _fields_ = [("order", ctypes.c_uint), ("type", ctypes.c_uint)]


class ImageDescription(ctypes.Structure):
    """`cl_image_desc`"""

    _fields_ = [("type", ctypes.c_uint)] + [
        (name, ctypes.c_size_t) for name in ("width", "height", "depth", "array", "row_pitch", "slice_pitch")
    ] + [("mip_levels", ctypes.c_uint), ("samples", ctypes.c_uint), ("buffer", ctypes.c_void_p)]


class OpenCl:
    """The first device of the library, a queue on it, and calls that fail loudly."""

    def __init__(self):
        self.library = ctypes.CDLL(LIBRARY)
        platform, self.device = ctypes.c_void_p(), ctypes.c_void_p()
        self.call("clGetPlatformIDs", 1, ctypes.byref(platform), None)
        kind = ctypes.c_ulong(CL_DEVICE_TYPE_ALL)
        self.call("clGetDeviceIDs", platform, kind, 1, ctypes.byref(self.device), None)
        self.context = self.make("clCreateContext", None, 1, ctypes.byref(self.device), None, None)
        self.queue = self.make("clCreateCommandQueue", self.context, self.device, ctypes.c_ulong(0))

    def call(self, name, *arguments):
        """Calls a function that returns an error code."""
        error = getattr(self.library, name)(*arguments)
        if error:
            sys.exit(f"{name}: OpenCL error {error}")

    def make(self, name, *arguments):
        """Calls a function that returns an object, with the error code as its last argument."""
        function, error = getattr(self.library, name), ctypes.c_int()
        function.restype = ctypes.c_void_p
        made = ctypes.c_void_p(function(*arguments, ctypes.byref(error)))
        if error.value:
            sys.exit(f"{name}: OpenCL error {error.value}")
        return made

    def build(self, text, options):
        """A program; ends with exit code 3 when it does not build."""
        source = ctypes.c_char_p(text.encode())
        program = self.make("clCreateProgramWithSource", self.context, 1, ctypes.byref(source), None)
        if self.library.clBuildProgram(program, 1, ctypes.byref(self.device), options.encode(), None, None):
            log = ctypes.create_string_buffer(65536)
            self.call("clGetProgramBuildInfo", program, self.device, CL_PROGRAM_BUILD_LOG, len(log), log, None)
            print(log.value.decode(), file=sys.stderr)
            sys.exit(3)
        return program

    def buffer(self, access, size, data):
        """A buffer, with contents or without."""
        flags = ctypes.c_ulong(ACCESS[access] | (CL_MEM_COPY_HOST_PTR if data else 0))
        return self.make("clCreateBuffer", self.context, flags, ctypes.c_size_t(size), data)

    def image(self, access, image, data):
        """A 2D image, with contents or without."""
        flags = ctypes.c_ulong(ACCESS[access] | (CL_MEM_COPY_HOST_PTR if data else 0))
        texels = ImageFormat(CHANNEL_ORDER[image["order"]], CHANNEL_TYPE[image["channel"]])
        shape = ImageDescription(type=CL_MEM_OBJECT_IMAGE2D, width=image["width"], height=image["height"])
        return self.make("clCreateImage", self.context, flags, ctypes.byref(texels), ctypes.byref(shape), data)

    def sampler(self, sampler):
        """A sampler."""
        modes = sampler["normalized"], ADDRESSING[sampler["addressing"]], FILTER[sampler["filter"]]
        return self.make("clCreateSampler", self.context, *modes)


def image_element(image):
    """What the numbers of an image are."""
    lanes = {"r": "", "rg": "2", "rgba": "4"}[image["order"]]
    return Element({"unorm-int8": "uchar", "float": "float"}[image["channel"]] + lanes)


def set_arguments(opencl, kernel, arguments):
    """Makes the memory and sets all arguments of a launch."""
    made = []
    for index, argument in enumerate(arguments):
        size, value, access = ctypes.sizeof(ctypes.c_void_p), None, argument.get("access", "read-write")
        if "buffer" in argument:
            element = Element(argument["buffer"])
            data = contents(argument, element, argument["count"])
            memory = opencl.buffer(access, argument["count"] * len(element.pack([0] * element.lanes)), data)
            value = ctypes.byref(memory)
        elif "image" in argument:
            image = argument["image"]
            data = contents(argument, image_element(image), image["width"] * image["height"])
            memory = opencl.image(access, image, data)
            value = ctypes.byref(memory)
        elif "same_as" in argument:
            memory = made[argument["same_as"]]
            value = ctypes.byref(memory)
        elif "sampler" in argument:
            memory = opencl.sampler(argument["sampler"])
            value = ctypes.byref(memory)
        elif "value" in argument:
            name = ctypes.create_string_buffer(64)
            opencl.call("clGetKernelArgInfo", kernel, index, CL_KERNEL_ARG_TYPE_NAME, len(name), name, None)
            memory = Element(name.value.decode()).pack([argument["value"]])
            size, value = len(memory), memory
        elif "local" in argument:
            memory, size = None, argument["local"]
        else:
            memory = ctypes.c_void_p()
            value = ctypes.byref(memory)
        made.append(memory)
        opencl.call("clSetKernelArg", kernel, index, ctypes.c_size_t(size), value)
    return made


def main():
    path = pathlib.Path(sys.argv[1])
    launch = tomllib.loads(path.read_text())
    for sizes in ("global", "local"):
        if isinstance(launch.get(sizes), int):
            launch[sizes] = [launch[sizes]]
    opencl = OpenCl()
    options = launch.get("options", "") + " -cl-kernel-arg-info"
    program = opencl.build((path.parent / launch["source"]).read_text(), options.strip())
    kernel = opencl.make("clCreateKernel", program, launch["kernel"].encode())
    # Kept until the launch is done.
    memory = set_arguments(opencl, kernel, launch["argument"])
    dimensions = len(launch["global"])
    sizes = ctypes.c_size_t * dimensions
    local = sizes(*launch["local"]) if "local" in launch else None
    wall, cpu = time.perf_counter(), time.process_time()
    opencl.call(
        "clEnqueueNDRangeKernel", opencl.queue, kernel, dimensions, None, sizes(*launch["global"]), local, 0, None, None
    )
    opencl.call("clFinish", opencl.queue)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    items = 1
    for size in launch["global"]:
        items *= size
    print(json.dumps({"work_items": items, "cpu_seconds": cpu, "wall_seconds": wall, "arguments": len(memory)}))


if __name__ == "__main__":
    main()
