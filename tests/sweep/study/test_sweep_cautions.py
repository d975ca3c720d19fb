"""Speeds of a sweep that may not be comparable are compared with a warning."""

from dataclasses import replace
from typing import Any

import pytest

from perfscope.schema.read import known
from perfscope.schema.study import Study
from perfscope.schema.write import as_json
from perfscope.sweep.study import quality
from perfscope.sweep.study.model import measure
from perfscope.sweep.study.stored import Axis
from scripts import study_words
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
TWO_SIZES = {"work_s": ([1.0], [1.0, 1.0])}
ENVIRONMENT = Axis("OMP_NUM_THREADS", "environment", ("1", "2"))


@pytest.mark.parametrize(
    ("axis", "recording", "facts", "word"),
    [
        (ENVIRONMENT, (), STEPS, ""),
        (Axis("width", "variable", ("1", "2")), (), STEPS, "commands that differ in width"),
        (Axis("library", "set", ("a", "b")), (), STEPS, "commands that differ in library"),
        (ENVIRONMENT, (), {"work_s": ([1.0], [1.0, 1.0])}, ""),
        (ENVIRONMENT, ("--steps", "2:9"), {"work_s": ([1.0], [1.0, 1.0])}, ""),
        (ENVIRONMENT, (), STEPS | TWO_SIZES, "steps × ranks"),
        (ENVIRONMENT, (), STEPS | TWO_SIZES | {"steps": (18, 9)}, ""),
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


@pytest.mark.parametrize(
    ("facts", "word"),
    [
        (TWO_SIZES, "different numbers of ranks"),
        ({"batch_size": (32, 64)}, "different batch sizes"),
    ],
)
def test_steps_that_hold_other_samples_name_no_best(facts: Any, word: str) -> None:
    """1 rank: 10 steps a second of 256 samples, 2 ranks: 5 of 512. As many samples in as long."""
    plan = made_plan([ENVIRONMENT])
    whole = with_runs(plan, **STEPS | facts | {"focus_s": (9.0, 8.0)})
    assert whole.objective.id == "runs_per_h"
    assert f"steps of {word} may hold different numbers of samples" in whole.objective_reason
    assert whole.best is not None
    assert whole.best.configuration.values == {"OMP_NUM_THREADS": "2"}  # its run was shorter

    cut = with_runs(replace(plan, recording=("--stop-after", "9")), **STEPS | facts)
    assert cut.best is None
    assert f"runs of {word} that --stop-after ends" in cut.no_best
    document = judged(cut)
    assert document["sweep"]["best"] is None
    assert document["sweep"]["best_reason"] == cut.no_best
    assert document["sweep"]["contenders"] == []
    assert not any(row["is_best"] or row["may_be_best"] for row in body_rows(document))
    assert document["verdict"]["status"] == "warn"
    assert (
        "2 configurations were measured, and none is named the best"
        in (document["verdict"]["sentence"])
    )
    assert {finding["status"] for finding in document["findings"]} == {"not_applicable"}
    again = as_json(study_words.anew(known(document, Study)))
    assert (again["sweep"], again["verdict"]) == (document["sweep"], document["verdict"])


def body_rows(document: Any) -> list[Any]:
    """The configurations of study.json."""
    rows: list[Any] = document["sweep"]["configurations"]
    return rows


def test_runs_cut_to_as_many_steps_are_compared_where_a_step_is_the_same() -> None:
    cut = replace(made_plan([ENVIRONMENT]), recording=("--stop-after", "9"))
    found = with_runs(cut, **STEPS)
    assert (found.objective.id, found.no_best) == ("steps_per_s", "")
    assert found.best is not None


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
    assert "does not appear in the output" in partly.objective_reason
