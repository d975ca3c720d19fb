"""What a study recommends: which size or configuration to use, and what it costs."""

import math

from perfscope.report.formats import decimal, seconds
from perfscope.report.studies.sections.compare_findings import predicted
from perfscope.schema.scaling import ScalingPoint, ScalingResult
from perfscope.schema.study import Study
from perfscope.schema.sweep_result import ConfigurationResult, SweepResult

SAME_SPEEDUP = 1.15
"""Speed-ups of steps and of the run that differ by less are told as one."""

CHEAPER = 0.95
"""Of two that may be the fastest, one is cheaper from this share of the other's cost on."""


def recommended(study: Study) -> tuple[str, ...]:
    """Sentences on what to use, or on what was predicted and obtained; none without either."""
    if study.scaling is not None:
        return _size(study.scaling)
    if study.sweep is not None:
        return _configuration(study.sweep)
    if study.compare is not None:
        told = sorted(study.compare.comparisons, key=lambda row: -abs(math.log(row.ratio or 1)))
        return tuple(filter(None, map(predicted, told[:1])))  # of the largest change
    return ()


def _size(found: ScalingResult) -> tuple[str, ...]:
    """The knee: where speed-up times efficiency is largest (Eager, Zahorjan, Lazowska 1989)."""
    points = [one for one in found.points if one.speedup and one.efficiency and one.time_s]
    if len(points) < 2:
        return ()
    knee = max(points, key=lambda one: (one.speedup or 0.0) * (one.efficiency or 0.0))
    first, last = points[0], points[-1]
    told = f"Recommended: {found.size_label(knee.size)}"
    if knee is not first:
        told += f", {_cost(found, knee, first)}"
    if knee is not last:
        told += f". {found.size_label(last.size).capitalize()}: {_cost(found, last, first)}"
    return (f"{told}.", *_two_speeds(found, last))


def _cost(found: ScalingResult, point: ScalingPoint, first: ScalingPoint) -> str:
    """Speed and cost of a size for the same work, against the smallest one."""
    assert point.efficiency
    assert first.time_s
    own = first.time_s.median * first.size
    return (
        f"{decimal(point.speedup)} times as fast as {found.size_label(first.size)} for "
        f"{decimal(1 / point.efficiency)} times the {found.axis_one}-seconds "
        f"({decimal(own / point.efficiency)} instead of {decimal(own)})"
    )


def _two_speeds(found: ScalingResult, last: ScalingPoint) -> tuple[str, ...]:
    """That the steps scale otherwise than the run, where they do."""
    step, run = last.step_speedup, last.speedup
    if step is None or run is None or step < SAME_SPEEDUP * run:
        return ()
    size = found.size_label(last.size)
    told = (
        f"With {size} the steps run {decimal(step)} times as fast, the whole run "
        f"{decimal(run)} times: the rest is lost outside the steps."
    )
    return (told,)


def _configuration(sweep: SweepResult) -> tuple[str, ...]:
    """The cheapest of those that may be the fastest."""
    best = next((row for row in sweep.configurations if row.is_best), None)
    if best is None or sweep.best_reason:
        return ()
    tied = [row for row in sweep.configurations if row.is_best or row.may_be_best]
    priced = [(cost, row) for row in tied if (cost := _cpu_s(row)) is not None]
    own = _cpu_s(best)
    if own is None:
        return ()
    cost, cheapest = min(priced, key=lambda pair: pair[0])
    unit = sweep.objective.unit.removesuffix("/s").removesuffix("s")
    if cost > CHEAPER * own:
        return (f"Recommended: {best.title}, at {seconds(own)} of CPU time per {unit}.",)
    told = (
        f"Recommended: {cheapest.title}, the cheapest of the {len(tied)} that may be the fastest, "
        f"at {seconds(cost)} of CPU time per {unit}; {best.title} takes {seconds(own)}."
    )
    return (told,)


def _cpu_s(row: ConfigurationResult) -> float | None:
    """Seconds of CPU time for one unit of work."""
    busy = row.factors.cpus_busy if row.factors else None
    return busy / row.speed if busy is not None and row.speed else None
