"""The best configuration lies at the edge of the grid: beyond it may be a better one."""

from perfscope.findings.core.finding import Evidence, Quiet, not_applicable, passed
from perfscope.schema.enums import Confidence, Status
from perfscope.structures import dataclass
from perfscope.studies.findings.catalog import StudyDiagnosis, StudyFinding
from perfscope.sweep.study.model import Result, Sweep
from perfscope.sweep.study.stored import Axis

TITLE = "The best configuration is at the edge of the grid"


@dataclass(frozen=True)
class _Edge:
    """An end of an axis at which the best configuration lies."""

    axis: str  # its name
    value: str  # of the best configuration
    beyond: str  # a value to try next
    limit: str  # why there is nothing to try, "" when there is
    # how much faster it is than its neighbor inside, None when that was not measured
    gain: float | None


def judge(study: Sweep) -> StudyFinding | Quiet:
    """Whether the grid ends where it was fastest."""
    numeric = [axis for axis in study.axes if axis.numbers is not None and len(axis.values) > 1]
    best = study.best
    if best is None or not numeric or len(study.measured) < 2:
        return not_applicable(
            f"No configuration is named the best: {study.no_best}."
            if study.no_best
            else "No numbers were varied, or fewer than two configurations were measured.",
            Confidence.MEDIUM,
        )
    edges = [edge for axis in numeric if (edge := _edge(study, best, axis)) is not None]
    free = [edge for edge in edges if not edge.limit]
    if not free:
        return passed(_closed_summary(edges), Confidence.MEDIUM)
    inside = [n for n in study.noise.numbers if n != best.number and _is_inside(study, n, free)]
    shown = " and ".join(f"{edge.axis}={edge.value}" for edge in free)
    unsure = (
        " Configurations inside the grid are within its noise."
        if inside and not study.noise.reason
        else ""
    )
    return StudyFinding(
        Status.INFO if unsure else Status.WARN,
        title=TITLE,
        summary=(
            f"It was fastest with {shown}, the edge of the grid: values beyond it may be "
            f"faster.{unsure}"
        ),
        confidence=Confidence.LOW if unsure or study.noise.reason else Confidence.MEDIUM,
        evidence=tuple(_evidence(edge) for edge in free),
        actions=tuple(
            f"Add {edge.axis}={edge.beyond} to the grid, in a directory of its own (-o DIR)."
            for edge in free
        ),
        runs=tuple(run.stored.name for run in best.runs if run.is_measured),
    )


def _edge(study: Sweep, best: Result, axis: Axis) -> _Edge | None:
    """The edge of an axis at which the best configuration lies; None when it is inside."""
    value = best.configuration.values[axis.name]
    position = axis.values.index(value)
    if 0 < position < len(axis.values) - 1:
        return None
    inner = axis.values[1 if position == 0 else -2]
    neighbor = _neighbor(study, best, axis.name, inner)
    ours, theirs = best.speed or 0.0, None if neighbor is None else neighbor.speed
    if theirs is not None and theirs >= ours:
        return None
    number, inside = float(value), float(inner)
    beyond = _beyond(number, inside)
    what = "a switch has only two values" if number > inside else "there is no smaller number"
    limit = "" if beyond is not None else what
    if beyond is not None and beyond > number:
        limit = _machine_limit(study, best, neighbor, beyond / number if number else 2.0)
    gain = ours / theirs - 1 if theirs else None
    return _Edge(axis.name, value, f"{beyond:g}" if beyond is not None else "", limit, gain)


def _beyond(number: float, inside: float) -> float | None:
    """The next value outwards, at the ratio of the last two.

    None below the smallest count, below zero where no value is, and for a switch, 0 or 1.
    """
    if number <= 0 or inside <= 0:
        following = 2 * number - inside
        is_below = following < 0 <= min(number, inside)
        return None if is_below or {number, inside} == {0.0, 1.0} else following
    found = number * number / inside
    if number.is_integer() and inside.is_integer():
        found = float(round(found))
        if found == number or found < 1:
            return None
    return found


def _neighbor(study: Sweep, best: Result, axis: str, value: str) -> Result | None:
    """The configuration that differs from the best in one value alone; None when there is none."""
    wanted = {**best.configuration.values, axis: value}
    return next((r for r in study.results if dict(r.configuration.values) == wanted), None)


def _machine_limit(study: Sweep, best: Result, neighbor: Result | None, factor: float) -> str:
    """Why a larger value does not fit on this machine, "" when it does or nobody knows."""
    ours = best.configuration.threads_in_all
    theirs = None if neighbor is None else neighbor.configuration.threads_in_all
    if study.plan.cpus is None or ours is None or theirs is None or ours <= theirs:
        return ""
    if ours * factor <= study.plan.cpus:
        return ""
    return f"larger values need more than the {study.plan.cpus} CPUs available"


def _is_inside(study: Sweep, number: int, edges: list[_Edge]) -> bool:
    values = study.result(number).configuration.values
    return any(values.get(edge.axis) != edge.value for edge in edges)


def _closed_summary(edges: list[_Edge]) -> str:
    if not edges:
        return "Smaller and larger values than the best were tried for every number."
    shown = "; ".join(f"{edge.axis}={edge.value}: {edge.limit}" for edge in edges)
    return f"Where the best value is the last one, none beyond it is possible: {shown}."


def _evidence(edge: _Edge) -> Evidence:
    if edge.gain is None:
        return Evidence(f"{edge.axis} of the best", edge.value)
    return Evidence(f"Gain of the last step to {edge.axis}={edge.value}", edge.gain, "share")


DIAGNOSIS = StudyDiagnosis(
    "best_at_grid_edge",
    "sweep",
    TITLE,
    "Whether the fastest configuration has the smallest or largest number that was tried and its "
    "neighbor inside is slower, unless nothing can be beyond: less than one, or more threads than "
    "CPUs.",
    judge,
    passed="The best configuration is not at an open edge of the grid",
)
