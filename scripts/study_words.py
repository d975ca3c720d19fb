"""Tells a kept study anew: what it measured in the words and by the rules of today.

Numbers that are measured stay as they are; what follows from them (which configuration may be the
best, verdicts, methods) is worked out by perfscope as it is now. What a study.json does not hold
the measurements for, such as the findings of a scaling study, stays as it was told.
"""

from dataclasses import fields, replace
from pathlib import Path

from perfscope.findings.core.finding import quiet_title
from perfscope.schema.compare import Compare
from perfscope.schema.enums import Status
from perfscope.schema.findings import HowMeasured
from perfscope.schema.scaling import ScalingPart, ScalingResult, Spread
from perfscope.schema.study import Study, StudyFindingRow, StudyVerdict, SweepRunRow
from perfscope.schema.sweep_result import ConfigurationResult, StartedConfiguration, SweepResult
from perfscope.studies.common.statistics import Method
from perfscope.studies.compare import labels
from perfscope.studies.compare.compare import spread
from perfscope.studies.findings.catalog import diagnoses, study_of
from perfscope.studies.scaling import document as scaling
from perfscope.studies.scaling.laws import Sizes
from perfscope.studies.scaling.models import fitted
from perfscope.studies.scaling.scaling import laws_of_part
from perfscope.sweep.study import build, stored
from perfscope.sweep.study.model import REFUSED, Result, Sweep, noise_of
from perfscope.sweep.study.objective import OBJECTIVES, Objective
from perfscope.sweep.study.run import SweepRun

QUIET = {Status.PASS, Status.NOT_APPLICABLE, Status.NOT_MEASURED}


def anew(study: Study) -> Study:
    """The same study, told anew."""
    if study.scaling is not None:
        return _scaling(study, study.scaling)
    if study.compare is not None:
        return _compare(study, study.compare)
    assert study.sweep is not None
    return _sweep(study, study.sweep)


def _scaling(study: Study, found: ScalingResult) -> Study:
    findings = tuple(map(_titled, study.findings))
    shared = [bool(point.shared_cpus) for point in found.points]
    of = Sizes([point.size for point in found.points], shared, found.growth.kind)
    found = replace(found, parts=tuple(_fitted(part, of, found) for part in found.parts))
    status, sentence = scaling.scaled(found, [one.status for one in findings])
    return replace(
        study,
        verdict=StudyVerdict(status, sentence),
        scaling=found,
        findings=findings,
        how_measured=tuple(HowMeasured(*pair) for pair in scaling.HOW),
    )


def _fitted(part: ScalingPart, of: Sizes, found: ScalingResult) -> ScalingPart:
    """The laws of a part, where its least, median and most are all its repeats."""
    if any(time is not None and time.count > 3 for time in part.time_s):
        return part
    times = [_repeats(time) for time in part.time_s]
    law, model, other = laws_of_part(part.id, of, times, [point.ranks for point in found.points])
    return replace(
        part,
        amdahl=scaling.or_reason(law),
        model=fitted(model),
        extra_p=scaling.or_reason(other),
    )


def _repeats(time: Spread | None) -> list[float | None]:
    if time is None:
        return [None]
    every = {1: (time.low,), 2: (time.low, time.high)}
    return [*every.get(time.count, (time.low, time.median, time.high))]


def _titled(row: StudyFindingRow) -> StudyFindingRow:
    """A finding under the title of today, where it is that of its diagnosis alone."""
    if row.status not in QUIET:
        return row
    diagnosis = next(one for one in diagnoses("scaling") if one.id == row.id)
    return replace(row, title=quiet_title(row.status, diagnosis))


def _compare(study: Study, found: Compare) -> Study:
    methods = {Method(row.method) for row in found.comparisons}
    rows = tuple(
        replace(
            row,
            before=spread(row.before.values, {Method(row.method)}),
            after=spread(row.after.values, {Method(row.method)}),
        )
        for row in found.comparisons
    )
    measures = tuple(
        replace(one, sides=tuple(spread(side.values, methods) for side in one.sides))
        for one in found.measures
    )
    told = replace(found, comparisons=rows, measures=measures)
    return replace(
        study,
        verdict=StudyVerdict(*labels.verdict(told)),
        compare=told,
        how_measured=tuple(HowMeasured(*pair) for pair in labels.how_measured(told)),
    )


def _sweep(study: Study, found: SweepResult) -> Study:
    runs = [_run(row) for row in study.runs if isinstance(row, SweepRunRow)]
    plan = _plan(found)
    results = tuple(
        _result(row, one, [run for run in runs if run.stored.configuration == one.number])
        for row, one in zip(found.configurations, plan.configurations, strict=True)
    )
    objective = found.objective
    sweep = Sweep(
        plan=plan,
        runs=tuple(runs),
        objective=next(
            (one for one in OBJECTIVES if one.id == objective.id),
            Objective(objective.id, objective.label, objective.unit, objective.meaning),
        ),
        objective_reason=objective.reason or "",
        caution=objective.caution or "",
        no_best=found.best_reason or "",
        results=results,
        noise=noise_of(results, found.best_reason or ""),
    )
    parts = build.parts(sweep)
    body = parts["body"]
    assert isinstance(body, SweepResult)
    parts["runs"], parts["body"] = (
        study.runs,
        replace(body, quality=found.quality, fabric=found.fabric),
    )
    made = study_of("sweep", sweep, **parts)
    return replace(made, tool=study.tool)


def _plan(found: SweepResult) -> stored.StoredPlan:
    axes = tuple(stored.Axis(axis.name, axis.kind, axis.values) for axis in found.axes)
    names = [one.name for one in fields(StartedConfiguration)]
    configurations = tuple(
        stored.Configuration(
            **{name: getattr(row, name) for name in names},
            name=row.label,
            refused=row.reason if row.status == REFUSED else None,
        )
        for row in found.configurations
    )
    return stored.StoredPlan(
        place=Path(),
        command=found.command,
        axes=axes,
        configurations=configurations,
        cpus=found.cpus,
        repeat=found.repeat,
        recording=found.recording,
        time_limit_s=found.time_limit_s,
        search=found.search,
        batch=False,
        metric=None,
        throughput=None,
    )


def _run(row: SweepRunRow) -> SweepRun:
    """A run by its row: how it ended, and whether it counts."""
    told = stored.StoredRun(
        row.label, row.configuration, row.repeat, row.end, row.ending or "", row.wall_s, None
    )
    return SweepRun(told, None, row.ending or "", None)


def _result(row: ConfigurationResult, one: stored.Configuration, runs: list[SweepRun]) -> Result:
    reason = row.reason or ""
    return Result(one, tuple(runs), row.speeds, row.status, reason, row.factors, row.quality)
