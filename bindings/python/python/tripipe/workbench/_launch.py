"""Launch files: what the command runs, with arguments from Python."""

from __future__ import annotations

import json
import math
import os
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Union

import numpy
from numpy.typing import NDArray

from . import _command
from ._errors import ArgumentError, CommandError
from .arguments import ELEMENTS, Argument, Buffer, Image, Local, Sampler

ProgramLike = Union[str, "os.PathLike[str]"]
Sizes = Union[int, Sequence[int]]
Arguments = Union[Mapping[str, Argument], Sequence[Argument]]

# What OpenCL C that is given as text is called.
_TEXT = "kernel.cl"
_NUMBERS = (bool, int, float, numpy.bool_, numpy.integer, numpy.floating)


@dataclass
class Program:
    """A program or a launch file, and how it is built."""

    path: Path
    """Absolute, or the name of a file in `folder`."""
    shown: str
    folder: Path | None
    """The working folder of the command; None for that of this process."""
    build: list[str]
    hidden: tuple[str, ...] = ()
    """What the command may call the program instead of `shown`."""

    @property
    def is_launch(self) -> bool:
        """Whether it is a launch file."""
        return self.path.suffix.lower() in (".toml", ".sim")

    def visible(self, text: str) -> str:
        """A text of the command with the program's name as the caller gave it."""
        for name in self.hidden:
            text = text.replace(name, self.shown)
        return text

    def run(
        self, arguments: Sequence[str], launch: Launch | None = None, *, partial: bool = False
    ) -> _command.Output:
        """Run the command; errors name the program and the arguments as the caller gave them."""
        try:
            output = _command.run([*arguments, *self.build], folder=self.folder, partial=partial)
        except CommandError as error:
            message = launch.named(str(error)) if launch else str(error)
            kind = type(error)
            if "has no kernel `" in message:
                kind, message = ArgumentError, f"kernel: {message}"
            elif message != str(error):
                kind = ArgumentError
            errors = self.visible(error.errors)
            raise kind(self.visible(message), error.code, error.arguments, errors) from None
        return _command.Output(output.code, self.visible(output.text), self.visible(output.errors))


@dataclass
class Written:
    """A file that an argument is written to after a run."""

    path: Path
    dtype: numpy.dtype[Any]
    shape: tuple[int, ...]
    is_bytes: bool

    def read(self) -> NDArray[Any]:
        """Its contents."""
        if self.is_bytes:
            return numpy.fromfile(self.path, numpy.uint8).view(self.dtype).reshape(self.shape)
        return numpy.asarray(numpy.load(self.path)).view(self.dtype).reshape(self.shape)


@dataclass
class Launch:
    """A launch file in a temporary folder."""

    path: Path
    written: dict[int, Written] = field(default_factory=dict)
    starts: list[tuple[int, str]] = field(default_factory=list)
    """The line that each argument starts at, with its name."""

    def named(self, message: str) -> str:
        """The message with the argument's name instead of the location in the temporary file."""

        def name(found: re.Match[str]) -> str:
            names = [name for start, name in self.starts if start <= int(found.group(1))]
            return f"{names[-1]}: " if names else ""

        if counted := re.search(r": (kernel .* takes \d+ arguments?.*), the file has (\d+)$", message):
            return f"arguments: {counted[1]}, and there are {counted[2]}"
        return re.sub(re.escape(str(self.path)) + r":(\d+):\d+: ", name, message)


@contextmanager
def opened(
    program: ProgramLike,
    defines: Mapping[str, object] | None,
    include: Sequence[ProgramLike],
    options: str,
) -> Iterator[tuple[Program, Path]]:
    """The program with a temporary folder, which ends with the context."""
    build = []
    for name, value in (defines or {}).items():
        if not re.fullmatch(r"[A-Za-z_]\w*", name):
            raise ValueError(f"defines: {name!r} is not the name of a macro")
        build += ["-D", f"{name}={int(value) if isinstance(value, (bool, numpy.bool_)) else value}"]
    for each in include:
        build += ["-I", os.path.abspath(os.fspath(each))]
    if options:
        build += ["--options", options]
    with tempfile.TemporaryDirectory(prefix="tripipe-") as name:
        folder = Path(name)
        if isinstance(program, str) and ("{" in program or "\n" in program):
            source = folder / _TEXT
            source.write_text(program, encoding="utf-8")
            yield Program(Path(_TEXT), _TEXT, folder, build, _spellings(source)), folder
            return
        if not isinstance(program, (str, os.PathLike)):
            raise TypeError(f"program: {type(program).__name__} is not a path or OpenCL C")
        path = Path(os.path.abspath(program))
        if not os.fspath(program) or path.is_dir():
            raise ValueError(
                f"program: {os.fspath(program)!r} is a folder, not a program; name a file, or give OpenCL C"
            )
        if not path.is_file():
            raise FileNotFoundError(f"program: there is no file {os.fspath(program)}")
        shown = os.fspath(program)
        yield Program(path, shown, None, build, _spellings(path) if shown != str(path) else ()), folder


def _spellings(path: Path) -> tuple[str, ...]:
    """A path in texts and in JSON, as it is and without links; the longest first."""
    plain = {str(path), os.path.realpath(path)}
    return tuple(sorted(plain | {json.dumps(name, ensure_ascii=False)[1:-1] for name in plain}, key=len, reverse=True))


def sizes(name: str, given: Sizes | None, least: int = 1) -> list[int] | None:
    """One to three numbers of work-items."""
    if given is None:
        return None
    numbers = [given] if isinstance(given, (int, numpy.integer)) else list(given)
    if not 1 <= len(numbers) <= 3 or not all(isinstance(each, (int, numpy.integer)) for each in numbers):
        raise TypeError(f"{name}: {given!r}; want a number of work-items, or one for each of up to 3 dimensions")
    if any(each < least for each in numbers):
        raise ValueError(f"{name}: {given!r} has a number below {least}")
    return [int(each) for each in numbers]


def commas(numbers: Sequence[int]) -> str:
    """Numbers as the command takes them."""
    return ",".join(map(str, numbers))


def launch_file(
    program: Program,
    folder: Path,
    arguments: Arguments | None,
    *,
    kernel: str | None,
    global_size: Sizes | None,
    local_size: Sizes | None,
    offset: Sizes | None,
    dump: bool = False,
) -> Launch:
    """The launch file of a program, or of its caller.

    Arguments that a mapping leaves out are guessed, as `tripipe template` does.
    """
    if program.is_launch:
        for name, value in [
            ("arguments", arguments),
            ("kernel", kernel),
            ("global_size", global_size),
            ("local_size", local_size),
            ("offset", offset),
        ]:
            if value is not None:
                raise ValueError(f"{name}: {program.shown} is a launch file, which has its own")
        return Launch(program.path)
    extents = sizes("global_size", global_size)
    group = sizes("local_size", local_size)
    start = sizes("offset", offset, 0)
    lines = [f"{'spirv' if program.path.suffix == '.spv' else 'source'} = {_text(str(program.path))}"]
    launch = Launch((program.folder or folder) / "launch.toml")
    if arguments is None or isinstance(arguments, Mapping):
        header, guesses = _template(program, kernel, extents)
        blocks = _by_name(arguments or {}, guesses)
    else:
        if extents is None:
            raise ValueError("global_size: the number of work-items is needed where arguments are given in order")
        header, blocks = {}, [(f"arguments[{at}]", each) for at, each in enumerate(arguments)]
    kernel = kernel or header.get("kernel")
    lines += [f"kernel = {_text(kernel)}"] if kernel else []
    lines.append(f"global = {extents or header['global']}")
    # The guess of the template holds for its own sizes.
    if group or (header.get("local") and extents is None):
        lines.append(f"local = {group or header['local']}")
    lines += [f"offset = {start}"] if start else []
    writer = _Writer(folder, launch, dump)
    for index, (name, value) in enumerate(blocks):
        launch.starts.append((len(lines) + 1, name))
        lines += ["[[argument]]", *(value.lines if isinstance(value, _Guess) else writer.argument(index, name, value))]
    launch.path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return launch


@dataclass(frozen=True)
class _Guess:
    """An argument as the template has it."""

    lines: list[str]


def _template(
    program: Program, kernel: str | None, extents: list[int] | None
) -> tuple[dict[str, Any], list[tuple[str, _Guess]]]:
    """The header of the template, and its arguments by name."""
    arguments = ["template", str(program.path)]
    arguments += ["--kernel", kernel] if kernel else []
    arguments += ["--global", commas(extents)] if extents else []
    header, *blocks = program.run(arguments).text.split("\n[[argument]]\n")
    keys: dict[str, Any] = {}
    for line in header.splitlines():
        key, _, value = line.partition(" = ")
        if key in ("kernel", "global", "local"):
            # What JSON and TOML share: strings, numbers, lists of them.
            keys[key] = json.JSONDecoder().raw_decode(value)[0]
    guesses = []
    for block in blocks:
        lines = block.rstrip().splitlines()
        named = [line.partition(" = ")[2] for line in lines if line.startswith("name = ")]
        guesses.append((json.loads(named[0]) if named else "", _Guess(lines)))
    return keys, guesses


def _by_name(
    arguments: Mapping[str, Argument], guesses: list[tuple[str, _Guess]]
) -> list[tuple[str, Any]]:
    names = [name for name, _ in guesses]
    for name in arguments:
        if name not in names:
            raise ValueError(f"arguments: the kernel has no argument {name!r}; it has {', '.join(names)}")
    return [(name, arguments[name] if name in arguments else guess) for name, guess in guesses]


class _Writer:
    """Arguments as the lines of a launch file, with their contents in files."""

    def __init__(self, folder: Path, launch: Launch, dump: bool) -> None:
        self._folder = folder
        self._launch = launch
        self._dump = dump
        self._seen: dict[int, int] = {}

    def argument(self, index: int, name: str, value: Argument) -> list[str]:
        lines = [] if name.startswith("arguments[") else [f"name = {_text(name)}"]
        if isinstance(value, (numpy.ndarray, Buffer, Image)) and not (
            isinstance(value, numpy.ndarray) and value.ndim == 0
        ):
            if id(value) in self._seen:
                return [*lines, f"same_as = {self._seen[id(value)]}"]
            self._seen[id(value)] = index
            if isinstance(value, Image):
                return lines + self._image(index, name, value)
            if isinstance(value, numpy.ndarray):
                value = Buffer(value, access="read-write" if value.flags.writeable else "read")
            return lines + self._buffer(index, name, value)
        if value is None:
            return [*lines, "null = true"]
        if isinstance(value, Local):
            return [*lines, f"local = {value.bytes}"]
        if isinstance(value, Sampler):
            keys = f"normalized = {str(value.normalized).lower()}, addressing = {_text(value.addressing)}"
            return [*lines, f"sampler = {{ {keys}, filter = {_text(value.filter)} }}"]
        if isinstance(value, numpy.void):
            value = value.tobytes()
        if isinstance(value, bytes):
            return [*lines, f"bytes = {_text(value.hex(' '))}"]
        if isinstance(value, numpy.ndarray):
            value = value.item()
        if isinstance(value, (list, tuple)) and value and all(isinstance(each, _NUMBERS) for each in value):
            return [*lines, f"value = [{', '.join(_number(each) for each in value)}]"]
        if isinstance(value, _NUMBERS):
            return [*lines, f"value = {_number(value)}"]
        raise TypeError(
            f"{name}: {type(value).__name__}; want an array, a number, a list of numbers, bytes, None, or a Buffer, "
            "Image, Sampler or Local of tripipe.workbench"
        )

    def _buffer(self, index: int, name: str, buffer: Buffer) -> list[str]:
        count = math.prod(buffer.shape)
        if count * buffer.dtype.itemsize == 0:
            raise ValueError(
                f"{name}: shape {buffer.shape} of {buffer.dtype} is empty, and OpenCL has no empty buffers"
            )
        lines = [f'access = "{buffer.access}"']
        element = ELEMENTS.get(buffer.dtype.name)
        contents = None if buffer.contents is None else numpy.ascontiguousarray(buffer.contents)
        if element is None:
            if buffer.dtype.kind != "V" or buffer.dtype.hasobject:
                raise TypeError(f"{name}: elements of {buffer.dtype}; there are {', '.join(ELEMENTS)}, and structs")
            # Structs are bytes.
            lines += ['buffer = "uchar"', f"count = {count * buffer.dtype.itemsize}"]
        else:
            lines += [f'buffer = "{element}"', f"count = {list(buffer.shape)}"]
        if contents is not None and element is None:
            # Bytes of a file have no type, which could differ from the kernel's.
            path = self._folder / f"argument-{index}.bin"
            path.write_bytes(contents.tobytes())
            lines.append(f"file = {_text(str(path))}")
        elif contents is not None:
            path = self._folder / f"argument-{index}.npy"
            little = contents.astype(contents.dtype.newbyteorder("<"), copy=False)
            numpy.save(path, little.view(numpy.uint8) if contents.dtype == bool else little)
            lines.append(f"npy = {_text(str(path))}")
        if buffer.access != "read":
            lines += self._written(index, buffer.dtype.newbyteorder("="), buffer.shape, is_bytes=element is None)
        return lines

    def _image(self, index: int, name: str, image: Image) -> list[str]:
        keys = [f"{axis} = {extent}" for axis, extent in image.extents().items()]
        keys += ["over_buffer = true"] if image.kind == "1d-buffer" else []
        keys += [f"order = {_text(image.order)}", f"channel = {_text(image.channel)}"]
        lines = [f"image = {{ {', '.join(keys)} }}", f'access = "{image.access}"']
        if image.contents is not None:
            if image.contents.size == 0:
                raise ValueError(f"{name}: shape {image.shape} is empty")
            path = self._folder / f"argument-{index}.bin"
            little = image.contents.astype(image.dtype.newbyteorder("<"), copy=False)
            path.write_bytes(little.tobytes())
            lines.append(f"file = {_text(str(path))}")
        if image.access != "read":
            lines += self._written(index, image.dtype.newbyteorder("="), image.shape, is_bytes=True)
        return lines

    def _written(
        self, index: int, dtype: numpy.dtype[Any], shape: tuple[int, ...], *, is_bytes: bool
    ) -> list[str]:
        if not self._dump:
            return []
        path = self._folder / f"written-{index}.{'bin' if is_bytes else 'npy'}"
        self._launch.written[index] = Written(path, dtype, shape, is_bytes)
        return [f"dump = {_text(str(path))}"]


def _text(text: str) -> str:
    """A string of TOML, whose escapes those of JSON are."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _number(value: Any) -> str:
    if isinstance(value, (bool, int, numpy.bool_, numpy.integer)):
        return str(int(value))
    return str(float(value))
