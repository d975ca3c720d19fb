"""The runs of the study: what each was, and how it came out."""

import shlex

from perfscope.report.formats import count, decimal, ratio, seconds
from perfscope.report.studies.section import RUNS, Context, StudySection, to_report
from perfscope.report.table import Column, Kind, Note, Table
from perfscope.report.text import shortened
from perfscope.schema.study import Study, StudyRunRow
from perfscope.units import counted

LONGEST_COMMAND = 120
MOST_RUNS = 200


def _how(run: StudyRunRow) -> str:
    """What was run, and how it ended."""
    command = shortened(shlex.join(run.command), LONGEST_COMMAND)
    return "; ".join(filter(None, (command, run.ending)))


RUN_COLUMNS = (
    Column("Run", to_report, kind=Kind.LINK, note=Note(_how)),
    Column("Ranks", "ranks", count),
    Column("Hosts", "hosts", count),
    Column("Wall time", "wall_s", seconds),
    Column("Steps", lambda run: run.steps or None, count),
    Column("Samples/s", "samples_per_s", decimal),
    Column("Parallel efficiency", "parallel_efficiency", ratio),
)


def _context(study: Study) -> Context:
    caption, found, file = "The runs of this study", study.runs, "study.json"
    table = Table(
        "runs-table", caption, RUN_COLUMNS, found, MOST_RUNS, "runs", file=file, has_caption=False
    )
    return {"takeaway": counted(len(found), "run"), "runs": table}


def _applies(study: Study) -> bool:
    return study.kind != "history"  # which has an index of its own


SECTION = StudySection(
    "runs", "Runs", "study_runs.html", _context, place=RUNS, applies=_applies, is_folded=True
)
