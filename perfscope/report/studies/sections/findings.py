"""Findings about the runs together, shown like those of a single run."""

from perfscope.report.sections import findings
from perfscope.report.studies.section import FINDINGS, Context, StudySection
from perfscope.savings import Wholes
from perfscope.schema.study import Study


def _context(study: Study) -> Context:
    return findings.all_findings(study.findings, Wholes(None, None))


def _applies(study: Study) -> bool:
    return bool(study.findings)


SECTION = StudySection(
    "findings",
    "All findings",
    findings.SECTION.template,
    _context,
    place=FINDINGS,
    applies=_applies,
)
