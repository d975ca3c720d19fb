"""What a study recommends: which size or configuration to use, and what it costs."""

import math

from perfscope.report.formats import decimal, speedup
from perfscope.report.studies.sections.compare_findings import predicted
from perfscope.schema.scaling import ScalingPoint, ScalingResult
from perfscope.schema.study import Study
from perfscope.schema.sweep_result import ConfigurationResult, SweepResult

CHEAPER = 0.95
"""Of two that may be the fastest, one is cheaper from this share of the other's cost on."""


SECONDS = {"s": 1, "h": 3600}
COUNTS = ("one", "thousand", "million", "billion")


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
    """The knee: where speed-up times efficiency is largest (Eager, Zahorjan, Lazowska 1989).

    Efficient is what costs little: what is kept of cores, where these are known, and else of ranks.
    """
    points = [one for one in found.points if one.speedup and one.efficiency and one.time_s]
    if len(points) < 2:
        return ()
    first, last = points[0], points[-1]
    knee = max(points, key=lambda one: (one.speedup or 0.0) / _spent(found, one, first))
    told = f"Recommended: {found.size_label(knee.size)}, "
    if knee is first:
        told += f"at {_cost(found, first, first)}"
    else:
        told += f"{_pace(found, knee, first)}, at {_cost(found, knee, first)} instead of "
        told += f"{decimal(_spent(found, first, first))} for the same work"
    fastest = max(points, key=lambda one: one.speedup or 0.0)
    others = [one for one in points[1:] if one is not knee and (one is last or one is fastest)]
    for one in others:  # so that nobody asks why not the fastest one
        told += f". {found.size_label(one.size).capitalize()}: {_pace(found, one, first)}, at "
        told += _cost(found, one, first)
    return (f"{told}.",)


def _pace(found: ScalingResult, point: ScalingPoint, first: ScalingPoint) -> str:
    """How fast a size is, against the smallest one."""
    assert point.speedup
    if point.speedup >= 1:
        return f"{speedup(point.speedup)} times as fast as {found.size_label(first.size)}"
    slower = f"slower than {found.size_label(first.size)}"
    return f"{slower} ({speedup(1 / point.speedup)} times the time for the same work)"


def _cost(found: ScalingResult, point: ScalingPoint, first: ScalingPoint) -> str:
    """What a size takes for the work of the smallest one."""
    unit = "core" if _has_cores(found) else found.axis_one
    spent = decimal(_spent(found, point, first))
    shared = f" on {point.cores} cores" if unit == "core" and point.cores != point.size else ""
    return f"{spent} {unit}-second{'' if spent == '1' else 's'}{shared}"


def _spent(found: ScalingResult, point: ScalingPoint, first: ScalingPoint) -> float:
    assert point.speedup
    assert first.time_s
    kept = point.cores if _has_cores(found) and point.cores else point.size
    return kept * first.time_s.median / point.speedup


def _has_cores(found: ScalingResult) -> bool:
    """Whether cores are what is paid for, and their number is known; else it is the axis."""
    return found.axis in {"ranks", "cores", "threads"} and all(one.cores for one in found.points)


def _configuration(sweep: SweepResult) -> tuple[str, ...]:
    """The cheapest of those that may be the fastest."""
    best = next((row for row in sweep.configurations if row.is_best), None)
    if best is None or sweep.best_reason or _is_alone(sweep):
        return ()
    tied = [row for row in sweep.configurations if row.is_best or row.may_be_best]
    priced = [(cost, row) for row in tied if (cost := _core_s(sweep, row)) is not None]
    own = _core_s(sweep, best)
    if own is None:
        return ()
    if sweep.noise.reason:
        once = f"{best.named}, at {_price(sweep, own)}"
        return (f"Repeat the sweep before you rely on the fastest: {once}.",)
    cost, cheapest = min(priced, key=lambda pair: pair[0])
    if cost > CHEAPER * own:
        if all(row in tied for row in sweep.configurations if row.speed is not None):
            return (f"Any of the {len(tied)}: none is measurably faster or cheaper.",)
        return (f"Recommended: {best.named}, at {_price(sweep, own)}.",)
    told = (
        f"Recommended: {cheapest.named}, the cheapest of the {len(tied)} that may be the fastest, "
        f"at {_price(sweep, cost)}; {best.named} takes {_price(sweep, own)}."
    )
    return (told,)


def _is_alone(sweep: SweepResult) -> bool:
    return sum(row.speed is not None for row in sweep.configurations) < 2


def _core_s(sweep: SweepResult, row: ConfigurationResult) -> float | None:
    """Core-seconds for one unit of work: cores that are kept over the speed."""
    ranks = row.ranks or (row.factors.ranks if row.factors else None)
    _, _, time = sweep.objective.unit.partition("/")
    if not ranks or not row.speed or time not in SECONDS:  # a job may print anything
        return None
    per_s = row.speed / SECONDS[time]
    return min(ranks * (row.threads or 1), sweep.cpus or math.inf) / per_s


def _price(sweep: SweepResult, core_s: float) -> str:
    """Core-seconds for so much work that they are more than one: `13.4 core-seconds per 1,000`."""
    noun = sweep.objective.unit.partition("/")[0].removesuffix("s")
    power = min(max(0, math.ceil(-math.log(core_s, 1000))), len(COUNTS) - 1)
    work = f"{COUNTS[power]} {noun}s" if power else noun
    return f"{decimal(core_s * 1000**power)} core-seconds per {work}"
