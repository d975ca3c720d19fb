"""A search that goes on with more repeats chooses as it did before."""

from dataclasses import replace
from pathlib import Path

import pytest

from perfscope.sweep import plan as plans
from perfscope.sweep.grid import Configuration
from perfscope.sweep.study import runs
from perfscope.sweep.study.stored import Axis
from tests.support.sweeps import made_plan, made_sweep_run

SPEEDS = {1: 10.0, 2: 90.0}


def test_only_the_first_repeats_decide(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = replace(made_plan([Axis("x", "environment", ("1",))], repeat=2), search_repeat=1)
    made = {n: made_sweep_run(plan, ("1",), speed, repeat=n) for n, speed in SPEEDS.items()}
    monkeypatch.setattr(runs, "read_plan", lambda _: plan)
    monkeypatch.setattr(runs, "read_run", lambda _plan, _one, repeat: made[repeat].stored)
    monkeypatch.setattr(runs, "load_one", lambda _plan, stored: made[stored.repeat])
    assert runs.Measurer(Path("x")).value_of(plan.configurations[0]) == 10.0


def test_the_repeats_of_the_beginning_are_kept_in_the_plan(tmp_path: Path) -> None:
    wanted = plans.Plan(
        command=("true",),
        axes=(),
        configurations=(Configuration(1, {}, {}, ("true",)),),
        refused={},
        cpus=None,
        search=1,
    )
    plans.write(tmp_path, wanted)
    plans.write(tmp_path, replace(plans.read(tmp_path), repeat=3))
    again = plans.read(tmp_path)
    assert (again.repeat, again.search_repeat) == (3, 1)
