"""Findings about the runs together, shown like those of a single run."""

from __future__ import annotations

from perfscope.report.access import Document, rows
from perfscope.report.sections import findings
from perfscope.report.studies.section import FINDINGS, StudySection


def _applies(document: Document) -> bool:
    return bool(rows(document, "findings"))


SECTION = StudySection(
    "findings",
    "All findings",
    findings.SECTION.template,
    findings.SECTION.context,
    place=FINDINGS,
    applies=_applies,
)
