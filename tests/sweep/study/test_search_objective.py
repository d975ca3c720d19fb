"""What a search optimizes: never steps where these are not alike."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from perfscope.errors import UsageError
from perfscope.sweep.study import runs
from perfscope.sweep.study.stored import Axis, StoredPlan
from tests.support.study_runs import made_run
from tests.support.sweeps import made_plan, made_sweep_run

RANKS = Axis("ranks", "variable", ("1", "2"))
Asks = dict[tuple[str, ...], tuple[int, int]]
ASKED: Asks = {("1",): (1, 1), ("2",): (2, 1)}
SAME: Asks = {("1",): (2, 1), ("2",): (2, 1)}


def values(
    monkeypatch: pytest.MonkeyPatch, plan: StoredPlan, facts: Sequence[dict[str, Any]]
) -> list[float | None]:
    """What a search is told of each configuration, whose run has the facts of its place."""
    base: dict[str, Any] = {"focus_s": 9.0, "work_s": [1.0, 1.0]}
    made = {
        one.number: replace(
            made_sweep_run(plan, tuple(one.values.values()), 1.0),
            run=made_run(one.name, **base | fact),
        )
        for one, fact in zip(plan.configurations, facts, strict=True)
    }
    monkeypatch.setattr(runs, "read_plan", lambda _: plan)
    monkeypatch.setattr(runs, "read_run", lambda _plan, one, _repeat: made[one.number].stored)
    monkeypatch.setattr(runs, "load_one", lambda _plan, stored: made[stored.configuration])
    measurer = runs.Measurer(Path("x"))
    return [measurer.value_of(one) for one in plan.configurations]


ONE_RANK: dict[str, Any] = {"work_s": [1.0], "step_s": 0.1, "steps": 90}
TWO_RANKS: dict[str, Any] = {"work_s": [1.0, 1.0], "step_s": 0.15, "steps": 45, "focus_s": 7.0}


def test_steps_count_where_all_configurations_have_as_many_ranks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plan = made_plan([RANKS], asks=SAME)
    facts = [{"step_s": 0.1, "steps": 9}, {"step_s": 0.2, "steps": 9}]
    assert values(monkeypatch, plan, facts) == pytest.approx([10.0, 5.0])


def test_of_different_ranks_the_shorter_run_is_the_better(monkeypatch: pytest.MonkeyPatch) -> None:
    """2 ranks take longer steps and finish earlier; `made_run` adds a second of start-up."""
    plan = made_plan([RANKS], asks=ASKED)
    found = values(monkeypatch, plan, [ONE_RANK, TWO_RANKS])
    assert found == pytest.approx([3600 / 10, 3600 / 8])


def test_samples_count_whatever_the_ranks(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = replace(made_plan([RANKS], asks=ASKED), recording=("--stop-after", "9"))
    rates = [one | {"samples_per_s": rate} for one, rate in ((ONE_RANK, 5.0), (TWO_RANKS, 8.0))]
    assert values(monkeypatch, plan, rates) == [5.0, 8.0]


def test_a_search_over_ranks_that_are_cut_short_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = replace(made_plan([RANKS], asks=ASKED), recording=("--stop-after", "9"))
    with pytest.raises(UsageError, match="nothing to compare") as caught:
        values(monkeypatch, plan, [ONE_RANK, TWO_RANKS])
    assert "different numbers of ranks that --stop-after ends" in caught.value.why
    assert "perfscope.step(samples=...)" in caught.value.action


def test_ranks_that_turn_out_to_differ_end_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match="nothing to compare") as caught:
        values(monkeypatch, made_plan([RANKS]), [ONE_RANK, TWO_RANKS])
    assert "002-r1 and 001-r1 have different numbers of ranks" in caught.value.why
