"""An index of all runs of a history, with links to their reports."""

from collections.abc import Mapping, Sequence

from perfscope.report.formats import count, decimal, ratio, seconds
from perfscope.report.studies.section import RUNS, Context, StudySection, to_report
from perfscope.report.studies.sections.history_trends import trends
from perfscope.report.table import Column, Kind, Note, Table
from perfscope.schema.study import HistoryRunRow, Study
from perfscope.units import counted

MOST_RUNS = 1000


def _context(study: Study) -> Context:
    found = trends(study)
    reasons = {one.run: one.reason for one in found.left_out}
    runs = [run for run in study.runs if isinstance(run, HistoryRunRow)]
    return {
        "takeaway": counted(len(runs), "run"),
        "runs": _table(runs, reasons),
        "unreadable": [(one.path, one.reason) for one in found.unreadable],
    }


def _table(runs: Sequence[HistoryRunRow], reasons: Mapping[int, str]) -> Table:
    columns = (
        Column(
            "Run",
            lambda row: to_report(row[0]),
            kind=Kind.LINK,
            note=Note(lambda row: f"not in a trend: {row[1]}" if row[1] else ""),
        ),
        Column("Day (UTC)", lambda row: row[0].day, kind=Kind.TEXT),
        Column(
            "Commit",
            lambda row: row[0].commit.short if row[0].commit else None,
            kind=Kind.CODE,
            longest=12,
            absent="unknown",
            note=Note(lambda row: row[0].commit.branch if row[0].commit else ""),
        ),
        Column("Ranks", lambda row: row[0].ranks, count),
        Column("Wall time", lambda row: row[0].wall_s, seconds),
        Column("Samples/s", lambda row: row[0].samples_per_s, decimal),
        Column("Median step", lambda row: row[0].step_s_median, seconds),
        Column("Parallel efficiency", lambda row: row[0].parallel_efficiency, ratio),
    )
    rows = [(run, reasons.get(place, "")) for place, run in enumerate(runs)][::-1]
    caption = "All runs, the newest first"
    return Table(
        "index-table",
        caption,
        columns,
        rows,
        MOST_RUNS,
        "runs",
        file="study.json",
        has_caption=False,
    )


SECTION = StudySection(
    "index",
    "All runs",
    "history_index.html",
    _context,
    place=RUNS,
    kinds=("history",),
    is_folded=True,
)
