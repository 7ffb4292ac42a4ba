"""What `tripipe check` finds: docs/findings.md."""

from ._schema import CheckedLaunch, CheckReport, Finding, Location, Memory, Related, WorkItem

__all__ = ["CheckReport", "CheckedLaunch", "Finding", "Location", "Memory", "Related", "WorkItem"]
