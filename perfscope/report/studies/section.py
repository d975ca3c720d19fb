"""What a section of a study's page declares."""

from collections.abc import Callable

from perfscope.report.sections.section import Context, Section
from perfscope.report.views import Linked
from perfscope.schema.study import Study, StudyRunRow
from perfscope.structures import dataclass

OVERVIEW, CHARTS, FINDINGS, RUNS, METHOD = 0, 10, 70, 80, 90
"""Places on the page: sections of one kind of study use 1 to 69, those that all share the rest."""


@dataclass(frozen=True)
class StudySection(Section):
    """One section: for which kinds of study, where on the page, and when it has nothing to say."""

    place: int = CHARTS  # sections are ordered by it, and by id where it is equal
    kinds: tuple[str, ...] = ()  # `scaling`, `sweep`, ...; empty for every kind
    applies: Callable[[Study], bool] = lambda _: True  # whether this study has anything for it


def to_report(run: StudyRunRow) -> Linked:
    """The name of a run with the link to its report where it has one."""
    link = run.report or ""
    is_beside = link.startswith(("./", "../")) and ":" not in link
    return Linked(run.label, link if is_beside else "")


__all__ = [
    "CHARTS",
    "FINDINGS",
    "METHOD",
    "OVERVIEW",
    "RUNS",
    "Context",
    "StudySection",
    "to_report",
]
