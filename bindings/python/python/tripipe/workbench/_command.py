"""The command `tripipe` as a child process."""

from __future__ import annotations

import functools
import os
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ._errors import ArgumentError, CommandError, MissingCommandError, MissingToolError

_NAME = "tripipe.exe" if os.name == "nt" else "tripipe"
_SECONDS_TO_END = 5.0
# How the command says that a compiler is missing.
_MISSING_TOOL = " found (looked for "
# How it names one of its arguments: `invalid value '0' for '--threads <N>': reason`, and `--arg n: reason`.
_INVALID = re.compile(
    r"invalid value '(?P<value>.*?)' for '--?(?P<flag>[A-Za-z][a-z-]*)[^']*'(?P<reason>.*)", re.DOTALL
)
_REFUSED = re.compile(r"--(?P<flag>[a-z-]+)(?: (?P<name>\w+))?: (?P<reason>.*)", re.DOTALL)
# Arguments of functions whose flag has another name.
_RENAMED = {
    "D": "defines",
    "I": "include",
    "element": "elements",
    "global": "global_size",
    "local": "local_size",
    "sizes": "problem",
    "vectors": "elements",
}


@dataclass(frozen=True)
class Output:
    """What a run of the command wrote."""

    code: int
    text: str
    errors: str


def command_path() -> Path:
    """The command: the one that `TRIPIPE_COMMAND` names, else that of this package, else the first in `PATH`.

    :raises MissingCommandError: if there is none.
    """
    named = os.environ.get("TRIPIPE_COMMAND")
    if named:
        if not os.access(named, os.X_OK) or os.path.isdir(named):
            raise MissingCommandError(f"TRIPIPE_COMMAND: {named} is not an executable file")
        return Path(named)
    for folder in _folders():
        path = folder / _NAME
        if path.is_file() and os.access(path, os.X_OK):
            return path
    found = shutil.which("tripipe")
    if found is None:
        raise MissingCommandError(
            "the command `tripipe` is neither beside this package nor in PATH; install a wheel that has it "
            "(scripts/build-python), or name the command by TRIPIPE_COMMAND"
        )
    return Path(found)


def _folders() -> list[Path]:
    """Where installers put commands of this package: those of the environment, of the user, of `--target`."""
    folders = [sysconfig.get_path("scripts")]
    if hasattr(sysconfig, "get_preferred_scheme"):
        folders.append(sysconfig.get_path("scripts", scheme=sysconfig.get_preferred_scheme("user")))
    target = Path(__file__).parents[2] / "bin"
    return [Path(folder) for folder in folders if folder] + [target]


def package_version() -> str | None:
    """The version of this package; None if it is not installed but only on the path."""
    # It takes longer to import than all the rest.
    from importlib import metadata

    try:
        return metadata.version("tripipe")
    except metadata.PackageNotFoundError:
        return None


@functools.cache
def _check_version(path: Path) -> None:
    """Raises an error if the command is not of this package's version."""
    ours = package_version()
    found = _start(path, ["--version"], None).text.split()
    # The commit may follow, in parentheses.
    if len(found) < 2 or found[0] != "tripipe":
        raise MissingCommandError(f"{path} is not the command of Tripipe: --version prints {' '.join(found)!r}")
    if ours is not None and found[1] != ours:
        raise MissingCommandError(
            f"{path} has version {found[1]}, and this package {ours}; install both of one version, or name another "
            "command by TRIPIPE_COMMAND"
        )


def run(arguments: Sequence[str], *, folder: Path | None = None, partial: bool = False) -> Output:
    """Run the command in `folder`, or in the working folder.

    Exit codes 0 and 1 (findings) are results, and with `partial` every other one that comes with output. After Ctrl-C
    the command is ended before `KeyboardInterrupt` goes on.

    :raises CommandError: with the command's message, for every other exit code.
    """
    path = command_path()
    _check_version(path)
    output = _start(path, arguments, folder)
    if output.code not in (0, 1) and not (partial and output.text.strip()):
        message = error_message(output.errors) or f"`tripipe {arguments[0]}` ended with {output.code}"
        of_argument = _of_argument(message)
        kind = MissingToolError if _MISSING_TOOL in message else ArgumentError if of_argument else CommandError
        raise kind(of_argument or message, output.code, tuple(arguments), output.errors)
    return output


def _of_argument(message: str) -> str | None:
    """The message of the command about one of its flags, as one about an argument in Python."""
    if message.startswith("no GPU model is called "):
        return f"gpu: {message}"
    if found := _INVALID.fullmatch(message):
        reason = found["reason"].removesuffix(" (see --help)")
        # What else is known about it: `: reason`, or ` [possible values: ...] tip: ...`.
        shown = reason[2:] if reason.startswith(": ") else f"{found['value']!r}{reason}"
        return f"{_argument(found['flag'])}: {shown}"
    if found := _REFUSED.fullmatch(message):
        name = found["name"] if found["flag"] == "arg" and found["name"] else _argument(found["flag"])
        return f"{name}: {found['reason']}"
    return None


def _argument(flag: str) -> str:
    return _RENAMED.get(flag, flag.replace("-", "_"))


def flag(name: str, value: object) -> list[str]:
    """A flag with its value, which may begin with `-`; nothing for None."""
    return [] if value is None else [f"--{name}={value}"]


def error_message(errors: str) -> str:
    """The error on standard error, without what was reported before it."""
    lines = [line for line in errors.splitlines() if line.strip()]
    found = [line for line in lines if line.startswith("error: ")]
    return found[-1].removeprefix("error: ") if found else "\n".join(lines[-5:])


def _start(path: Path, arguments: Sequence[str], folder: Path | None) -> Output:
    try:
        child = subprocess.Popen(
            [str(path), *arguments],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            errors="replace",
            env={**os.environ, "LC_ALL": "C.UTF-8"},
        )
    except OSError as error:
        raise MissingCommandError(f"{path} cannot be started: {error}", None, tuple(arguments)) from None
    try:
        text, errors = child.communicate()
    except BaseException:
        _end(child)
        raise
    return Output(child.returncode, text, errors)


def _end(child: subprocess.Popen[str]) -> None:
    """Ends the child: by an interruption, after which it removes its temporary files, or by force."""
    try:
        child.send_signal(signal.SIGTERM if sys.platform == "win32" else signal.SIGINT)
        child.communicate(timeout=_SECONDS_TO_END)
    except (subprocess.TimeoutExpired, ValueError):
        pass
    finally:
        if child.poll() is None:
            child.kill()
            child.wait()
