"""What can go wrong with the command."""

from __future__ import annotations

from .._tripipe import Error


class CommandError(Error):
    """The command `tripipe` failed. The message is its own."""

    code: int | None
    """The exit code; negative for a signal, None if the command could not be started."""

    arguments: tuple[str, ...]
    """The arguments of the command."""

    errors: str
    """All that it wrote on standard error, such as the compiler's messages."""

    def __init__(
        self, message: str, code: int | None = None, arguments: tuple[str, ...] = (), errors: str = ""
    ) -> None:
        super().__init__(message)
        self.code = code
        self.arguments = arguments
        self.errors = errors


class ArgumentError(CommandError, ValueError):
    """An argument is wrong. The message names it first."""


class MissingCommandError(CommandError):
    """There is no command `tripipe`, or not the one of this package."""


class MissingToolError(CommandError):
    """A compiler that the command needs is not installed."""


class FormatError(Error):
    """The output of the command is not what this package reads."""
