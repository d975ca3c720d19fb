"""Sweeps made from a few numbers, without running anything."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from perfscope.schema.write import as_json
from perfscope.studies.findings.catalog import study_of
from perfscope.sweep.study.build import parts
from perfscope.sweep.study.model import Sweep, measure
from perfscope.sweep.study.quality import Quality
from perfscope.sweep.study.run import SweepRun
from perfscope.sweep.study.stored import Axis, Configuration, StoredPlan, StoredRun
from tests.support.study_runs import made_run

Json = dict[str, Any]
Values = tuple[str, ...]


def made_plan(
    axes: Sequence[Axis],
    *,
    repeat: int = 1,
    cpus: int | None = 8,
    asks: Mapping[Values, tuple[int, int]] | None = None,
    refused: Mapping[Values, str] | None = None,
    search: int | None = None,
) -> StoredPlan:
    """A plan over a grid; `asks` are ranks and threads of a configuration by its values."""
    configurations = []
    points = list(itertools.product(*(axis.values for axis in axes)))
    for number, values in enumerate(points, start=1):
        named = {axis.name: value for axis, value in zip(axes, values, strict=True)}
        ranks, threads = (asks or {}).get(values, (None, None))
        configurations.append(
            Configuration(
                number=number,
                name=f"{number:03d}",
                label=", ".join(f"{key}={value}" for key, value in named.items()),
                values=named,
                environment=dict(named),
                command=("train", *values),
                ranks=ranks,
                threads=threads,
                refused=(refused or {}).get(values),
            )
        )
    return StoredPlan(
        place=Path("sweep"),
        command=("train",),
        axes=tuple(axes),
        configurations=tuple(configurations),
        cpus=cpus,
        repeat=repeat,
        recording=(),
        time_limit_s=None,
        search=search,
        batch=False,
        metric=None,
        throughput=None,
    )


def made_sweep_run(
    plan: StoredPlan,
    values: Values,
    speed: float,
    *,
    repeat: int = 1,
    work_s: Sequence[float] = (1.0,),
    focus_s: float = 1.0,
    quality: float | None = None,
    more: Mapping[str, Any] | None = None,
) -> SweepRun:
    """A run that measured `speed` samples a second."""
    number = number_of(plan, values)
    name = f"{number:03d}-r{repeat}"
    run = made_run(name, focus_s=focus_s, work_s=work_s, samples_per_s=speed, more=more)
    stored = StoredRun(name, number, repeat, "finished", "finished", focus_s, Path(name))
    return SweepRun(stored, run, "", None if quality is None else Quality("accuracy", quality))


def one_and_two_ranks(plan: StoredPlan) -> list[SweepRun]:
    """Runs on one rank and on two that tell their steps and no samples."""
    return [
        replace(
            made_sweep_run(plan, (ranks,), 1.0),
            run=made_run(ranks, focus_s=1.0, work_s=[1.0] * int(ranks), step_s=0.1, steps=9),
        )
        for ranks in ("1", "2")
    ]


def failed_run(plan: StoredPlan, values: Values, end: str, reason: str) -> SweepRun:
    """A run that failed and left no recording."""
    number = number_of(plan, values)
    return SweepRun(
        StoredRun(f"{number:03d}-r1", number, 1, end, reason, 1.0, None), None, reason, None
    )


def number_of(plan: StoredPlan, values: Values) -> int:
    return next(one.number for one in plan.configurations if tuple(one.values.values()) == values)


def judged(sweep: Sweep) -> Json:
    """study.json of a sweep, with its findings."""
    return as_json(study_of("sweep", sweep, **parts(sweep)))


def made_sweep(
    axes: Sequence[Axis], speeds: Mapping[Values, Sequence[float]], **plan: Any
) -> Sweep:
    """A sweep with the speeds of the repeats of each configuration."""
    repeat = max((len(values) for values in speeds.values()), default=1)
    made = made_plan(axes, repeat=repeat, **plan)
    runs = [
        made_sweep_run(made, values, speed, repeat=position)
        for values, measured in speeds.items()
        for position, speed in enumerate(measured, start=1)
    ]
    return measure(made, runs)
