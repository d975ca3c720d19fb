"""What a history says in sentences, and how it was found."""

from perfscope.schema.history import History, HistoryGroup
from perfscope.studies.common.comparable import are_different
from perfscope.studies.compare.labels import written
from perfscope.studies.history.change_points import LEAST_POINTS
from perfscope.studies.history.history import newest_group
from perfscope.units import capitalized, counted, format_change


def verdict(found: History) -> tuple[str, str]:
    """Status and sentence on the first screen."""
    if not found.groups:
        return "info", "No run of this history counts, so that nothing can be said."
    group = newest_group(found.groups)
    status, sentence = _judged(found, group)
    if len(found.groups) > 1:
        sentence += f" Judged is the trend of the newest run: {group.label}."
    if mixed := are_different(group.programs, who="The runs of this trend"):
        return "fail" if status == "fail" else "warn", f"{mixed} {sentence}"
    return status, " ".join(filter(None, (are_different(found.programs), sentence)))


def _judged(found: History, group: HistoryGroup) -> tuple[str, str]:
    speed = group.speed
    count = sum(value is not None for value in speed.values)
    if not count:
        return "info", f"No run tells its speed: {speed.reason}."
    label = capitalized(speed.label)
    level = written(speed.segments[-1].level, speed.unit)
    if not speed.changes:
        least = found.least_points
        short = count < least
        told = (
            f"; {least} points are needed to show a change, and there are {count}" if short else ""
        )
        state = "info" if short else "pass"
        return state, f"{label} shows no change over {counted(count, 'point')}: {level}{told}."
    last = speed.changes[-1]
    where, before = group.points[last.at], written(last.before, speed.unit)
    sentence = (
        f"{label} is {level} since {where.label} ({where.day}), {format_change(last.ratio)} "
        f"against {before} before, which is {'worse' if last.is_worse else 'better'}."
    )
    return "warn" if last.is_worse else "pass", sentence + _with_it(group.with_last_change)


def _with_it(told: str) -> str:
    return f" What changed most with it: {told}." if told else ""


def how_measured(found: History) -> list[tuple[str, str]]:
    """Definitions behind the numbers of the page."""
    return [
        ("Point", _POINT),
        ("Change", _CHANGE.format(level=100 * found.level, factor=found.factor)),
        ("What a change needs", _NEEDS.format(least=LEAST_POINTS, points=found.least_points)),
        ("Level", "The median of the points between two changes."),
        ("What the time was lost to", _LOSSES.format(factor=found.factor)),
    ]


_POINT = (
    "The median of all runs of one commit; where the commit was not recorded, one run. Points are "
    "in the order of their first start. Only runs with the same command, ranks and batch size are "
    "in one trend, and runs that failed are in none."
)
_CHANGE = (
    "The place where the ranks of the values before and after differ most, if at most "
    "{level:.0f} % of 1,999 permutations of the series reach that, and the levels differ by a "
    "factor of {factor:g}; each part is then searched again."
)
_NEEDS = (
    "At least {least} points on each side, and {points} in all: the newest points may have "
    "changed before this can be shown. Use perfscope compare with repeats to judge one commit."
)
_LOSSES = (
    "Seconds per rank (mean) by the loss accounts of the runs. A change of one is told where it "
    "changes the time of the whole run by a factor of {factor:g}."
)
