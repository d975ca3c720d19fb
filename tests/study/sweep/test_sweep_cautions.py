"""Speeds of a sweep that may not be comparable are compared with a warning."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from perfscope.study.sweep import quality
from perfscope.study.sweep.model import measure
from perfscope.study.sweep.stored import Axis
from tests.support.study_runs import made_run
from tests.support.sweeps import judged, made_plan, made_sweep_run


def with_runs(plan: Any, **facts: tuple[Any, Any]) -> Any:
    """A sweep of two runs that differ in some arguments of `made_run`."""
    base: dict[str, Any] = {"focus_s": 1.0, "work_s": [1.0]}
    runs = [
        replace(
            made_sweep_run(plan, (axis_value,), 1.0),
            run=made_run(axis_value, **base | {key: of[n] for key, of in facts.items()}),
        )
        for n, axis_value in enumerate(plan.axes[0].values[:2])
    ]
    return measure(plan, runs)


STEPS = {"step_s": (0.1, 0.2), "steps": (9, 9)}
ENVIRONMENT = Axis("OMP_NUM_THREADS", "environment", ("1", "2"))


@pytest.mark.parametrize(
    ("axis", "recording", "facts", "word"),
    [
        (ENVIRONMENT, (), STEPS, ""),
        (ENVIRONMENT, (), STEPS | {"batch_size": (32, 64)}, "different batch sizes"),
        (Axis("width", "variable", ("1", "2")), (), STEPS, "commands that differ in width"),
        (Axis("library", "set", ("a", "b")), (), STEPS, "commands that differ in library"),
        (ENVIRONMENT, (), {"work_s": ([1.0], [1.0, 1.0])}, ""),
        (ENVIRONMENT, ("--stop-after", "9"), {"work_s": ([1.0], [1.0, 1.0])}, "cut to a number"),
        (ENVIRONMENT, (), {"steps": (9, 18)}, "different numbers of steps"),
        (ENVIRONMENT, (), {"steps": (9, 0)}, ""),
    ],
)
def test_speeds_that_may_not_be_comparable_are_named(
    axis: Axis, recording: tuple[str, ...], facts: Any, word: str
) -> None:
    sweep = with_runs(replace(made_plan([axis]), recording=recording), **facts)
    assert (word in sweep.caution) is True
    assert bool(sweep.caution) is bool(word)


def test_a_throughput_that_matches_nothing_is_said_loudly() -> None:
    plan = replace(made_plan([ENVIRONMENT]), throughput=r"img/s: (\d+)")
    runs = [made_sweep_run(plan, (value,), 10.0 * int(value)) for value in ("1", "2")]
    sweep = measure(plan, runs)
    words = "--throughput matched nothing in the output of any run"
    assert sweep.objective.id == "samples_per_s"
    assert sweep.objective_reason.startswith(words)
    document = judged(sweep)
    assert document["verdict"]["status"] == "warn"
    assert words in document["verdict"]["sentence"]
    one = replace(runs[0], printed=quality.Quality("img", 3.0))
    partly = measure(plan, [one, runs[1]])
    assert partly.caution == ""
    assert "nowhere in the output" in partly.objective_reason
