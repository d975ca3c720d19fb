"""A scaling study as the part `scaling` of study.json, and its verdict."""

from collections.abc import Collection, Sequence
from typing import TypeVar

from perfscope.findings.core.finding import Finding
from perfscope.judging import MAIN
from perfscope.schema.compare import NotCounted
from perfscope.schema.efficiency import ACCEPTABLE_FROM, GOOD_FROM
from perfscope.schema.enums import Status
from perfscope.schema.scaling import (
    Amdahl,
    ExternalSeries,
    ExtraP,
    Growth,
    NotFitted,
    PopRow,
    PopTable,
    ScalingPart,
    ScalingPoint,
    ScalingResult,
)
from perfscope.studies.common.comparable import are_different, programs
from perfscope.studies.common.external import External
from perfscope.studies.scaling import models
from perfscope.studies.scaling.disturbed import disturbed
from perfscope.studies.scaling.growth import SAME_WORK, STRONG, UNEVEN, trained_samples
from perfscope.studies.scaling.pop_table import COUNTER_ROWS, ROWS
from perfscope.studies.scaling.scaling import Part, Scaling
from perfscope.studies.scaling.series import Axis
from perfscope.units import format_ratio, format_seconds

Law = TypeVar("Law", Amdahl, ExtraP)
LIMITS = {
    "load_balance": "load balance",
    "serialization_efficiency": "serialization efficiency",
    "transfer_efficiency": "transfer efficiency",
    "communication_efficiency": "communication efficiency",
    "computation_scalability": "computation scalability",
}
HOW = (
    (
        "Speed-up and efficiency",
        (
            "Strong scaling: time at the smallest size over time at this size. Weak scaling and "
            "uneven work: that times the work of this size over that of the smallest, by the "
            "samples trained; where they are not known, of weak scaling the ratio of the sizes. "
            "Efficiency is speed-up over the ratio of the sizes. The time of a phase is that of "
            "the rank that spends most in it."
        ),
    ),
    (
        "POP table",
        (
            "Global efficiency = parallel efficiency × computation scalability. Computation "
            "scalability is the useful time of all ranks at the smallest size over that at this "
            "size (weak scaling and uneven work: times the work over that of the smallest): the "
            "smallest is 1 by definition. A run without traced communication has no parallel "
            "efficiency, nor a global one; one process alone is useful all of its time. With "
            "counters it is exactly IPC × instruction × frequency scalability. On an axis of "
            "ranks, efficiency of the run time is the global efficiency over the parallel "
            "efficiency of the smallest size."
        ),
    ),
    (
        "Repeats",
        (
            "Runs of one size are repeats: times are their median with the smallest and the "
            "largest; efficiencies are those of the run of median length, so that factors "
            "multiply exactly."
        ),
    ),
    (
        "Amdahl's law",
        (
            "t = serial + parallel / size, by least squares of relative errors over all runs, "
            "from three sizes on; intervals are 95 % and hold if the law does. Sizes at which "
            "threads share CPUs do not count."
        ),
    ),
    (
        "Performance models",
        (
            "t(p) = c0 + c1 p^i log2(p)^j with c0, c1 not below zero, from five sizes on; of three "
            "or four sizes c0 alone, or with c1 / p, c1 log2(p) or c1 p. The law is chosen by "
            "leave-one-out cross-validation; intervals of an extrapolation span all laws that "
            "predict the left-out sizes as well within the standard error."
        ),
    ),
)


def body(study: Scaling, external: Sequence[External] = ()) -> ScalingResult:
    """The part `scaling`."""
    return ScalingResult(
        axis=study.axis.value,
        axis_one=study.axis.one,
        axis_many=study.axis.many,
        axis_reason=study.axis_reason,
        growth=Growth(
            kind=study.growth.word,
            basis=study.growth.basis,
            work_ratio=study.growth.work_ratio,
            work=study.growth.work,
            sentence=study.growth.sentence,
        ),
        points=tuple(_point(study, place) for place in range(len(study.points))),
        parts=tuple(_part(part) for part in (study.whole, *study.phases)),
        pop=_pop(study),
        composition=study.composition,
        losses=study.losses,
        superlinear=study.superlinear,
        external=tuple(
            ExternalSeries(
                label=series.label,
                file=series.file,
                sizes=series.sizes,
                speedup=series.speedups(weak=study.growth.is_weak),
                time_s=series.time_s,
                samples_per_s=series.samples_per_s,
            )
            for series in external
        ),
        left_out=tuple(NotCounted(study.runs.index(run), reason) for run, reason in study.left_out),
        notes=tuple(notes(study)),
    )


def _point(study: Scaling, place: int) -> ScalingPoint:
    point, rate = study.points[place], study.throughput[place]
    whole = study.whole.values[place]
    return ScalingPoint(
        size=point.size,
        ranks=point.ranks,
        runs=tuple(run.label for run in point.runs),
        representative=point.representative.label,
        cores=point.representative.reserved_cores,
        ideal_speedup=study.ratio(place),
        shared_cpus=study.oversubscribed[place] or None,
        time_s=whole.time_s,
        speedup=whole.speedup,
        efficiency=whole.efficiency,
        samples_per_s=rate.samples_per_s,
        samples_per_s_reason=point.representative.throughput.samples_per_s.reason or None,
        throughput_speedup=rate.speedup,
        throughput_efficiency=rate.efficiency,
        step_samples_per_s=rate.step_samples_per_s,
        step_speedup=rate.step_speedup,
    )


def _part(part: Part) -> ScalingPart:
    return ScalingPart(
        id=part.id,
        label=part.label,
        ranks=part.ranks,
        time_s=tuple(value.time_s for value in part.values),
        speedup=tuple(value.speedup for value in part.values),
        efficiency=tuple(value.efficiency for value in part.values),
        amdahl=or_reason(part.amdahl),
        model=models.fitted(part.model),
        extra_p=or_reason(part.extra_p),
    )


def or_reason(found: Law | str) -> Law | NotFitted:
    """A law, or why there is none, as a document holds it."""
    return NotFitted(None, found) if isinstance(found, str) else found


def _pop(study: Scaling) -> PopTable:
    table = study.table
    return PopTable(
        sizes=tuple(study.sizes),
        formula=study.variant.value,
        rows=tuple(
            PopRow(
                id=identity,
                label=label,
                level=level,
                values=tuple(getattr(column, identity) for column in table.columns),
                spreads=tuple(found.get(identity) for found in table.spreads),
            )
            for level, identity, label in ROWS
            if table.has_counters or identity not in COUNTER_ROWS
        ),
        counters_reason=None if table.has_counters else table.columns[-1].ipc_scalability.reason,
    )


def verdict(study: Scaling, findings: Sequence[Finding]) -> tuple[str, str]:
    """Status and sentence: how far the series scales, and what limits it most."""
    status, sentence = scaled(body(study), [finding.status for finding in findings])
    unlike = [are_different(programs(study.counted)), _different_threads(study)]
    if not any(unlike):
        return status, sentence
    status = "fail" if status == "fail" else "warn"
    return status, " ".join([*filter(None, unlike), sentence])


def _different_threads(study: Scaling) -> str:
    """That ranks of different sizes compute with different numbers of threads; "" else."""
    told = [point.representative.threads_per_rank for point in study.points]
    if study.axis in {Axis.THREADS, Axis.CORES} or len({*told} - {None}) < 2:
        return ""
    parts = [
        f"{threads or 'unknown'} with {study.axis.count(point.size)}"
        for threads, point in zip(told, study.points, strict=True)
    ]
    return f"The ranks compute with different numbers of threads: {', '.join(parts)}."


def scaled(found: ScalingResult, statuses: Collection[Status]) -> tuple[str, str]:
    """The verdict on runs of one program."""
    first, last = found.points[0], found.points[-1]
    size, before = found.size_label(last.size), found.size_label(first.size)
    if len(found.points) < 2:
        return "info", f"All runs have {size}: scaling needs runs of at least two sizes."
    assert last.speedup is not None
    assert last.efficiency is not None
    assert first.time_s is not None
    assert last.time_s is not None
    kind = found.growth.kind
    head = "Scaling" if kind == UNEVEN else f"{kind.capitalize()} scaling"
    efficiency = f"efficiency {format_ratio(last.efficiency)}."
    if kind == STRONG:
        told = f"{last.speedup:.2f} times as fast where {last.ideal_speedup:.3g} would be ideal"
    else:
        work = last.speedup * last.time_s.median / first.time_s.median
        told = (
            f"{work:.3g} times the work takes {format_seconds(last.time_s.median)} instead of "
            f"{format_seconds(first.time_s.median)}"
        )
    sentence = f"{head} from {before} to {size}: {told}, {efficiency}{_limit(found)}"
    return _status(last.efficiency, statuses), sentence


def _limit(found: ScalingResult) -> str:
    """The lowest factor at the largest size, where it is below the band of good ones."""
    last = {row.id: row.values[-1].value for row in found.pop.rows if row.id in LIMITS}
    values = {name: value for name, value in last.items() if value is not None}
    if "serialization_efficiency" in values:
        values.pop("communication_efficiency", None)  # it is the product of two others
    if not values:
        return ""
    name = min(values, key=lambda key: values[key])
    if values[name] >= 0.95:
        return ""
    last_point = found.points[-1]
    size, shared = found.size_label(last_point.size), last_point.shared_cpus
    crowded = f"; threads share CPUs there, {shared}" if shared else ""
    limit = f"{LIMITS[name]}, {format_ratio(values[name])}{crowded}"
    return f" Main limit at {size}: {limit}.{_added(found)}"


def _added(found: ScalingResult) -> str:
    """What takes a rank most of the time that ideal scaling would have spared it; "" if unknown."""
    ideal = found.points[-1].ideal_speedup if found.growth.kind == STRONG else 1.0
    if found.growth.kind == UNEVEN or not found.losses:
        return ""
    added = [(own.seconds[-1] - own.seconds[0] / ideal, own.label) for own in found.losses]
    seconds, label = max(added)
    if seconds <= MAIN * sum(most for most, _ in added if most > 0):
        return ""
    return (
        f" Most of the time beyond the ideal goes to “{label}”: {format_seconds(seconds)} per rank."
    )


def _status(efficiency: float, statuses: Collection[Status]) -> str:
    if Status.FAIL in statuses or efficiency < ACCEPTABLE_FROM:
        return "fail"
    return "warn" if Status.WARN in statuses or efficiency < GOOD_FROM else "pass"


def notes(study: Scaling) -> list[str]:
    """What may make the runs incomparable."""
    found = [f"{run.label} is left out: {reason}." for run, reason in study.left_out]
    names = sorted({name for run in study.counted for name in run.result.run.versions})
    for name in names:
        texts = {run.result.run.versions.get(name, "") for run in study.counted} - {""}
        if len(texts) > 1:
            found.append(f"The runs differ in {name}: {'; '.join(sorted(texts))}.")
    launchers = {run.result.run.launcher for run in study.counted} - {""}
    if len(launchers) > 1:
        found.append(f"The runs differ in the launcher: {', '.join(sorted(launchers))}.")
    for point, shared in zip(study.points, study.oversubscribed, strict=True):
        if shared:
            found.append(
                f"With {study.axis.count(point.size)} threads shared CPUs: {shared}. Its loss "
                "says nothing about larger machines, so no law is fitted to it."
            )
    for point in study.points:
        samples = [done for run in point.runs if (done := trained_samples(run))]
        if samples and max(samples) > SAME_WORK * min(samples):
            found.append(
                f"The runs with {study.axis.count(point.size)} trained on {min(samples):,.0f} to "
                f"{max(samples):,.0f} samples: their times are not of the same work."
            )
    found += [*disturbed(study), *_without_efficiency(study)]
    if any(len(point.runs) < 2 for point in study.points):
        found.append(
            "A size with a single run has no spread: repeat the runs to tell differences from "
            "noise."
        )
    return found


def _without_efficiency(study: Scaling) -> list[str]:
    """Which sizes have no parallel efficiency, and why."""
    columns = zip(study.points, study.table.columns, strict=True)
    unknown = [(point.size, column.parallel_efficiency) for point, column in columns]
    return [
        f"{study.axis.count(size)} {'has' if size == 1 else 'have'} no parallel efficiency: "
        f"{own.reason}. The speed-up is measured."
        for size, own in unknown
        if not own.is_measured
    ]
