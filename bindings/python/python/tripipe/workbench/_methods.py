"""What classes of results can do beside having fields, which `_schema` adds: texts, properties, rows for pandas."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._result import Report

if TYPE_CHECKING:
    from ._schema import Trial


class AdviceMethods:
    """The text of advice."""

    code: str
    severity: str
    file: str | None
    line: int | None
    message: str

    def __str__(self) -> str:
        where = f"{self.file}:{self.line}: " if self.line else ""
        return f"{where}{self.severity}[{self.code}]: {self.message}"


class AnalysisMethods:
    """What an analysis says in short."""

    longest_path: Any

    @property
    def bound(self) -> str:
        """The pipe that bounds the most expensive path."""
        return str(self.longest_path.bound)


class FindingMethods:
    """The text of a finding, and where it is."""

    code: str
    severity: str
    message: str
    location: Any

    @property
    def file(self) -> str | None:
        """The file of its location."""
        return self.location.file if self.location else None

    @property
    def line(self) -> int | None:
        """The line of its location, from 1."""
        return self.location.line if self.location else None

    def __str__(self) -> str:
        where = f"{self.file}:{self.line}: " if self.location else ""
        return f"{where}{self.severity}[{self.code}]: {self.message}"


class CheckReportMethods(Report):
    """What a check says in short, and its findings as rows."""

    errors: int
    warnings: int
    findings: Any

    @property
    def ok(self) -> bool:
        """Whether there are neither errors nor warnings."""
        return self.errors == 0 and self.warnings == 0

    def _rows(self) -> list[dict[str, Any]]:
        return [
            {
                "code": each.code,
                "severity": each.severity,
                "message": each.message,
                "fix": each.fix,
                "kernel": each.kernel,
                "file": each.file,
                "line": each.line,
                "count": each.count,
                "memory": each.memory.object if each.memory else None,
            }
            for each in self.findings
        ]


class PredictionMethods:
    """Counters by name."""

    counters: Any

    def counter(self, name: str) -> float:
        """The value of a counter.

        :raises KeyError: if there is none of this name with a value.
        """
        for each in self.counters:
            if each.name == name and each.value is not None:
                return float(each.value)
        raise KeyError(name if self.counters else f"{name}: simulate with counters=True")


class SearchMethods:
    """The best of a search."""

    subject: str
    device: str
    trials: Any

    @property
    def best(self) -> Trial:
        """The fastest candidate.

        :raises ValueError: if none has a time.
        """
        trials: tuple[Trial, ...] = self.trials
        for trial in trials:
            if trial.seconds is not None:
                return trial
        raise ValueError(f"{self.subject} on {self.device}: no candidate has a time")
