"""Findings about the runs together, shown like those of a single run."""

from __future__ import annotations

from perfscope.report.sections import findings
from perfscope.report.studies.access import Document, rows
from perfscope.report.studies.section import FINDINGS, Context, StudySection
from perfscope.savings import Wholes
from perfscope.schema.read import known
from perfscope.schema.study import Study


def _context(document: Document) -> Context:
    return findings.all_findings(known(document, Study).findings, Wholes(None, None))


def _applies(document: Document) -> bool:
    return bool(rows(document, "findings"))


SECTION = StudySection(
    "findings",
    "All findings",
    findings.SECTION.template,
    _context,
    place=FINDINGS,
    applies=_applies,
)
