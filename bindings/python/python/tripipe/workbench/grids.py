"""Predictions of one kernel for every combination of macros and sizes."""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ._errors import CommandError
from ._result import table
from .simulations import SimulationReport

if TYPE_CHECKING:
    import pandas

    from ._launch import Arguments, ProgramLike, Sizes

__all__ = ["Cell", "Grid", "simulate_grid"]


@dataclass(frozen=True)
class Cell:
    """One combination, with what is predicted for it."""

    defines: Mapping[str, object]
    """The macros."""
    global_size: Sizes | None
    """The work-items that were asked for."""
    local_size: Sizes | None
    """The work-group that was asked for; `None` for the driver's choice."""
    report: SimulationReport | None
    """The predictions; `None` if there are none."""
    error: str | None
    """Why there are none: the kernel does not compile with these macros, or no GPU can run it."""

    @property
    def seconds(self) -> float:
        """The sum of the times on all GPUs; infinite if one of them cannot run it."""
        if self.report is None or not self.report.ok:
            return math.inf
        return math.fsum(each.seconds for each in self.report.predictions)


@dataclass(frozen=True)
class Grid:
    """The result of :func:`tripipe.workbench.simulate_grid`, in the order of the combinations."""

    cells: tuple[Cell, ...]

    @property
    def best(self) -> Cell:
        """The combination that takes the least time on all GPUs together.

        :raises ValueError: if none has a time on every GPU.
        """
        best = min(self.cells, key=lambda cell: cell.seconds, default=None)
        if best is None or math.isinf(best.seconds):
            raise ValueError("no combination has a time on every GPU")
        return best

    def to_pandas(self) -> pandas.DataFrame:
        """The rows of all reports as a table, with a column for each macro and the sizes that were asked for.

        :raises ImportError: if pandas is not installed.
        """
        rows: list[dict[str, Any]] = []
        for cell in self.cells:
            asked: dict[str, Any] = {
                **cell.defines,
                "asked_global_size": cell.global_size,
                "asked_local_size": cell.local_size,
            }
            found = cell.report._rows() if cell.report else [{"error": cell.error}]
            rows += [asked | row for row in found]
        return table(rows)


def simulate_grid(
    program: ProgramLike,
    arguments: Arguments | None = None,
    *,
    defines: Mapping[str, Sequence[object]] | None = None,
    global_size: Sequence[Sizes] | None = None,
    local_size: Sequence[Sizes | None] | None = None,
    threads: int | None = None,
    **options: Any,
) -> Grid:
    """Predict the time of every combination of macros and sizes, several at a time.

    :param arguments: As for :func:`check`, the same for all.
    :param defines: The values of each macro.
    :param global_size: The ranges to try, a list; left out, that of the launch file.
    :param local_size: The work-groups to try, a list; `None` in it is the driver's choice.
    :param threads: How many run at a time; by default as many as there are cores.
    :param options: Those of :func:`simulate`, the same for all.
    :raises TypeError: if one of the lists is not a list.
    """
    from . import simulate

    macros = dict(defines or {})
    ranges, groups = _listed("global_size", global_size), _listed("local_size", local_size)
    values = [_listed(f"defines[{name!r}]", given) for name, given in macros.items()]

    def cell(one: tuple[tuple[object, ...], Any, Any]) -> Cell:
        chosen, over, group = one
        named = dict(zip(macros, chosen))
        try:
            report = simulate(
                program, arguments, defines=named, global_size=over, local_size=group, **options
            )
        except CommandError as failed:
            return Cell(named, over, group, None, str(failed))
        return Cell(named, over, group, report, None)

    combinations = list(itertools.product(itertools.product(*values), ranges, groups))
    with ThreadPoolExecutor(threads or os.cpu_count() or 1) as pool:
        return Grid(tuple(pool.map(cell, combinations)))


def _listed(name: str, values: Sequence[Any] | None) -> Sequence[Any]:
    if values is None:
        return [None]
    if isinstance(values, (str, tuple)) or not isinstance(values, Sequence) or not values:
        raise TypeError(f"{name}: {values!r}; want a list of what is tried")
    return values
