"""What results have in common: the text report, a page, and rows for pandas."""

from __future__ import annotations

import html
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import _command
from ._errors import CommandError

if TYPE_CHECKING:
    import pandas

_HEIGHT = 600


@dataclass(frozen=True)
class Report:
    """A result of the command: `print` shows its text report, a notebook its page."""

    text: str = field(repr=False, compare=False)
    """The text report."""
    json: str = field(repr=False, compare=False)
    """The result as the command wrote it: one JSON object per line."""

    def __str__(self) -> str:
        return self.text.rstrip("\n")

    def to_html(self) -> str:
        """The result as a page, which loads nothing from elsewhere.

        :raises CommandError: if the command fails.
        """
        with tempfile.TemporaryDirectory(prefix="tripipe-") as folder:
            source, page = Path(folder) / "result.json", Path(folder) / "page.html"
            source.write_text(self.json, encoding="utf-8")
            _command.run(["view", str(source), "--output", str(page)])
            return page.read_text(encoding="utf-8")

    def _repr_html_(self) -> str:
        try:
            page = self.to_html()
        except CommandError:
            return f"<pre>{html.escape(str(self))}</pre>"
        return (
            f"<iframe srcdoc='{html.escape(page)}' sandbox='allow-scripts' "
            f"style='width:100%;height:{_HEIGHT}px;border:0'></iframe>"
        )

    def to_pandas(self) -> pandas.DataFrame:
        """The result as a table.

        :raises ImportError: if pandas is not installed.
        """
        return table(self._rows())

    def _rows(self) -> list[dict[str, Any]]:
        raise NotImplementedError


def table(rows: Sequence[dict[str, Any]]) -> pandas.DataFrame:
    """Rows as a table of pandas."""
    try:
        import pandas
    except ImportError as error:
        raise ImportError('to_pandas needs pandas: pip install "tripipe[pandas]"') from error
    return pandas.DataFrame(rows)
