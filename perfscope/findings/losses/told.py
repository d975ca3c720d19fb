"""A finding that another one speaks for."""

from dataclasses import replace

from perfscope.findings.core.finding import Finding
from perfscope.schema.enums import Status


def told_only(finding: Finding, identity: str, title: str) -> Finding:
    """A finding that claims nothing, as another one tells most of its time."""
    said = f"Most of this time has a finding of its own: {title}."
    return replace(
        finding,
        status=Status.INFO,
        gain=None,
        first=None,
        summary=f"{finding.summary} {said}",
        overlaps=(*finding.overlaps, identity),
    )
