"""What `tripipe check` finds: docs/findings.md."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ._result import Report


@dataclass(frozen=True)
class Location:
    """A location in a source."""

    file: str
    line: int
    column: int | None
    text: str | None
    """The text of the line."""


@dataclass(frozen=True)
class WorkItem:
    """A work-item: `get_global_id` as `id`, `get_local_id` and `get_group_id`, each of x, y and z."""

    id: tuple[int, int, int]
    local: tuple[int, int, int]
    group: tuple[int, int, int]


@dataclass(frozen=True)
class Memory:
    """The memory that a finding is about; sizes and offsets in bytes."""

    object: str
    space: str
    object_bytes: int | None
    offset: int | None
    bytes: int | None


@dataclass(frozen=True)
class Related:
    """A further location, such as the other side of a race."""

    message: str
    location: Location | None
    work_item: WorkItem | None


@dataclass(frozen=True)
class Finding:
    """Something wrong with an instruction, however often it occurred."""

    code: str
    severity: str
    """`error`, `warning` or `note`."""
    message: str
    fix: str
    kernel: str
    location: Location | None
    instruction: str | None
    count: int
    work_item: WorkItem | None
    """The first one that it occurred in."""
    memory: Memory | None
    related: tuple[Related, ...]

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


@dataclass(frozen=True)
class CheckedLaunch:
    """A launch that was run with checks."""

    kernel: str
    global_size: tuple[int, int, int]
    local_size: tuple[int, int, int]
    seconds: float
    """How long the checks took."""


@dataclass(frozen=True)
class CheckReport(Report):
    """The result of :func:`tripipe.check`."""

    launches: tuple[CheckedLaunch, ...]
    checks: tuple[str, ...]
    """The codes that were looked for."""
    left_out: tuple[str, ...]
    """What could not be checked."""
    errors: int
    warnings: int
    notes: int
    findings: tuple[Finding, ...]

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
