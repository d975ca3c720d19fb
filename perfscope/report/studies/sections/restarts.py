"""The attempts of a job: what each kept and lost."""

from perfscope.report.formats import count, seconds
from perfscope.report.studies.section import Context, StudySection
from perfscope.report.table import Column, Kind, Note, Table
from perfscope.schema.restarts import Attempt, Restarts
from perfscope.schema.study import Study
from perfscope.units import counted, format_seconds

MOST_ATTEMPTS = 200


def found_in(study: Study) -> Restarts:
    """What became of the time of the job."""
    assert study.restarts is not None
    return study.restarts


def attempts(found: Restarts) -> Table:
    """A row for each attempt."""
    columns = (
        Column("Attempt", "label", kind=Kind.TEXT, note=Note(lambda one: one.ending)),
        Column("ranks", "ranks", count),
        Column("began after", "start_s", seconds),
        Column("gap before", "gap_s", seconds),
        Column("start-up", "start_up_s", seconds),
        Column("kept", "kept_s", seconds),
        Column("lost", "lost_s", seconds, note=Note(_lost_steps)),
        Column("steps", "steps", count),
        Column("checkpoints", "checkpoints", count),
    )
    caption = "Where the time of each attempt went"
    return Table(
        "attempts", caption, columns, found.attempts, MOST_ATTEMPTS, "attempts", file="study.json"
    )


def interval(found: Restarts) -> str:
    """How often checkpoints would cost least, "" where that is not known."""
    best = found.interval
    if best is None:
        return ""
    now = "" if best.seconds is None else f" (now every {format_seconds(best.seconds)})"
    return (
        f"A checkpoint every {format_seconds(best.best_s)}{now} would cost least: each takes "
        f"{format_seconds(best.cost_s)}, and the job ran {format_seconds(best.between_failures_s)} "
        "per failure."
    )


def _lost_steps(one: Attempt) -> str:
    return counted(one.lost_steps, "step") if one.lost_steps else ""


def _context(study: Study) -> Context:
    found = found_in(study)
    return {"attempts": attempts(found), "interval": interval(found)}


SECTION = StudySection("attempts", "Attempts", "restarts.html", _context, kinds=("restarts",))
