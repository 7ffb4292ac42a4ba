"""Searches for the fastest kernel of a family of the library."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, Union

from . import _command
from ._command import flag
from ._decode import decode, documents
from ._errors import ArgumentError, CommandError, FormatError
from .searches import Search, TuneReport

_VERSION = 1
Size = Union[int, str, Sequence[int]]


def tune(
    family: Literal["gemm", "filter", "quantised"],
    problem: str | int | Sequence[Size],
    *,
    device: str | Sequence[str] = "auto",
    elements: str | None = None,
    formats: str | Sequence[str] | None = None,
    size: tuple[int, int] | None = None,
    channels: int | None = None,
    border: str | None = None,
    strategy: Literal["learned", "predicted", "random", "exhaustive"] = "learned",
    limit: float | None = 120.0,
    candidates: int | None = None,
    runs: int | None = None,
    seed: int = 1,
    log: str | os.PathLike[str] | None = None,
    also: Sequence[str] = (),
    only: bool = False,
    verify: bool = False,
    table: str | os.PathLike[str] | None = None,
) -> TuneReport:
    """Find the fastest parameters of the library's kernels on a device.

    :param problem: For products, one or several sizes (rows, columns, length of the sums), as tuples or texts such as
        ``"196x512x4608"``; for filters, the chain, such as ``"gray,gaussian:5"``.
    :param device: A device, or several: ``"opencl:0"``, ``"virtual:mali-g77"``.
    :param elements: The type: ``"f32"``, ``"f16"`` ... for products, ``"u8"`` ... for filters.
    :param formats: Formats of quantised weights.
    :param size: Rows and columns of the image of a filter, `channels` and `border` as for :func:`tripipe.filter`.
    :param limit: Seconds for all; None for no limit.
    :param candidates: How many candidates are tried for each problem.
    :param log: A file that keeps all outcomes, from which a search continues; none by default.
    :param also: Parameters to try too, or, with `only`, to try alone.
    :param table: A file for the table that the library reads.
    :raises CommandError: if nothing could be tried.
    """
    if family not in ("gemm", "filter", "quantised"):
        raise ValueError(f"family: {family!r}; there are gemm, filter, quantised")
    arguments = ["tune", family]
    of_filters = {"size": size, "channels": channels, "border": border}
    if family == "filter":
        if not isinstance(problem, str):
            raise TypeError(f"problem: {type(problem).__name__} is not a chain of filters, such as 'gray,sobel'")
        arguments.append(problem)
        arguments += flag("size", None if size is None else f"{size[1]}x{size[0]}")
        arguments += [*flag("channels", channels), *flag("border", border), *flag("element", elements)]
    else:
        for name, value in of_filters.items():
            if value is not None:
                raise ValueError(f"{name}: only for filters, and this is {family}")
        arguments += flag("sizes", ",".join(_sizes(problem)))
        arguments += flag("vectors" if family == "quantised" else "elements", elements)
    if formats is not None and family != "quantised":
        raise ValueError(f"formats: only for quantised, and this is {family}")
    arguments += flag("formats", formats if formats is None or isinstance(formats, str) else ",".join(formats))
    arguments += flag("device", device if isinstance(device, str) else ",".join(device))
    arguments += [*flag("strategy", strategy), *flag("seed", seed)]
    arguments += flag("log", "none" if log is None else os.fspath(log))
    arguments += flag("limit", "none" if limit is None else limit)
    arguments += [*flag("candidates", candidates), *flag("runs", runs)]
    arguments += [each for parameters in also for each in flag("also", parameters)]
    arguments += ["--only"] if only else []
    arguments += ["--verify"] if verify else []
    arguments += flag("table", None if table is None else os.fspath(table))
    with tempfile.TemporaryDirectory(prefix="tripipe-") as folder:
        report = Path(folder) / "report.txt"
        try:
            found = _command.run([*arguments, "--format", "json", "--text", str(report)], partial=True)
        except CommandError as error:
            raise _of_problem(error, family) from None
        text = report.read_text(encoding="utf-8") if report.is_file() else ""
    if not found.text.strip():
        raise FormatError(f"`tripipe tune` wrote no result: {text.strip()}")
    searches = tuple(
        decode(Search, document, f"tune[{at}]")
        for at, document in enumerate(documents(found.text, "tune", _VERSION))
    )
    return TuneReport(text, found.text, searches)


def _of_problem(error: CommandError, family: str) -> CommandError:
    """An error about what is tuned, with the name of its argument."""
    message = str(error)
    if message.startswith("there is no filter "):
        message = f"problem: {message}"
    elif message.startswith("size "):
        message = f"{'size' if family == 'filter' else 'problem'}: {message}"
    else:
        return error
    return ArgumentError(message, error.code, error.arguments, error.errors)


def _sizes(problem: str | int | Sequence[Size]) -> list[str]:
    if isinstance(problem, (str, int)):
        return [str(problem)]
    if len(problem) == 3 and all(isinstance(extent, int) for extent in problem):
        return ["x".join(map(str, problem))]
    sizes = []
    for each in problem:
        if not isinstance(each, (str, int)) and len(each) != 3:
            raise ValueError(f"problem: {each!r}; want (rows, columns, length of the sums)")
        sizes.append(str(each) if isinstance(each, (str, int)) else "x".join(map(str, each)))
    return sizes
