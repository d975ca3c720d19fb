"""A sweep that is killed at any moment goes on without repeating or losing a run."""

import json
import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from perfscope.errors import PerfscopeError, UsageError
from perfscope.sweep import grid, plan, store
from tests.programs.interrupted_sweep import STAGES
from tests.support.environments import REPOSITORY
from tests.support.waiting import wait_for

PROGRAM = REPOSITORY / "tests" / "programs" / "interrupted_sweep.py"
# Appends what it does to a file in one write each; `stubborn` does not hear SIGTERM.
JOB = """
import os, signal, sys, time
def log(word):
    with open(sys.argv[1], "a") as file:
        file.write(word + " " + os.environ["X"] + "\\n")
if "stubborn" in sys.argv and not os.path.exists(sys.argv[1]):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    log("begin")
    time.sleep(60)
log("begin")
log("end")
"""


def sweep_plan(log: Path, *more: str, values: tuple[str, ...] = ("1", "2")) -> plan.Plan:
    command = (sys.executable, "-c", JOB, str(log), *more)
    axes = [grid.Axis("X", grid.AxisKind.ENVIRONMENT, values)]
    return plan.Plan(
        command=command,
        axes=tuple(axes),
        configurations=tuple(grid.expand(command, axes, [])),
        refused={},
        cpus=2,
        directory=str(log.parent),
    )


def work(place: Path, stage: str = "none") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, PROGRAM, place, stage],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        cwd=REPOSITORY,
    )


def names(place: Path) -> list[str]:
    return sorted(path.name for path in (place / "runs").iterdir())


@pytest.mark.parametrize("stage", STAGES)
def test_killed_at_a_stage_each_run_is_made_once(tmp_path: Path, stage: str) -> None:
    place, log = tmp_path / "sweep", tmp_path / "log"
    plan.settle(place, sweep_plan(log))
    assert work(place, stage).returncode == -signal.SIGKILL
    done = work(place)
    assert done.returncode == 0, done.stderr
    assert names(place) == ["001-X=1-r1", "002-X=2-r1"]
    assert not list((place / "working").iterdir())
    # also the run that was under way when the sweep was killed is made once
    assert sorted(log.read_text().splitlines()) == ["begin 1", "begin 2", "end 1", "end 2"]
    for name in names(place):
        facts = json.loads((place / "runs" / name / "outcome.json").read_text())
        assert (facts["end"], facts["exit_code"], facts["run"]) == ("finished", 0, name)
        assert (place / "runs" / name / "recording" / "run.json").is_file()


def test_what_a_killed_sweep_left_is_ended_before_its_run_is_made_again(tmp_path: Path) -> None:
    place, log = tmp_path / "sweep", tmp_path / "log"
    plan.settle(place, sweep_plan(log, "stubborn", values=("1",)))
    sweep = subprocess.Popen([sys.executable, PROGRAM, place, "none"], cwd=REPOSITORY)
    wait_for("the run", log.exists)
    survivors = store.processes_of(place / "working" / "001-X=1-r1" / "recording")
    sweep.kill()
    for parent in {psutil.Process(pid).ppid() for pid in survivors} - set(survivors):
        os.kill(parent, signal.SIGKILL)  # `perfscope run`, which could have written the end
    sweep.wait()
    assert survivors
    done = work(place)
    assert done.returncode == 0, done.stderr
    # an environment can be read of processes that are not dead
    assert not [pid for pid in survivors if _environment(pid)]
    assert log.read_text().splitlines() == ["begin 1", "begin 1", "end 1"]
    assert names(place) == ["001-X=1-r1"]


def _environment(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return b""


def test_a_second_sweep_stays_out(tmp_path: Path) -> None:
    with store.alone(tmp_path), pytest.raises(UsageError) as caught, store.alone(tmp_path):
        pass
    assert "at work" in caught.value.what
    with store.alone(tmp_path):
        pass


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"command": ("other",)}, "command"),
        ({"axes": (grid.Axis("X", grid.AxisKind.ENVIRONMENT, ("1", "3")),)}, "values of X"),
        ({"axes": (grid.Axis("Y", grid.AxisKind.ENVIRONMENT, ("1",)),)}, "variables"),
        ({"time_limit_s": 5.0}, "--time-limit"),
        ({"recording": ("--stop-after", "3")}, "--steps"),
        ({"search": 3}, "--search"),
    ],
)
def test_another_sweep_is_refused(tmp_path: Path, change: dict[str, object], word: str) -> None:
    from dataclasses import replace

    place, first = tmp_path / "sweep", sweep_plan(tmp_path / "log")
    plan.settle(place, first)
    with pytest.raises(UsageError) as caught:
        plan.settle(place, replace(first, **change))  # type: ignore[arg-type]
    assert word in caught.value.why
    assert plan.read(place).identity == first.identity


def test_more_repeats_are_the_same_sweep_and_come_after_the_others(tmp_path: Path) -> None:
    from dataclasses import replace

    place, first = tmp_path / "sweep", sweep_plan(tmp_path / "log", values=tuple("123456"))
    assert plan.settle(place, first) == (first, False)
    more, is_old = plan.settle(place, replace(first, repeat=3))
    assert is_old
    assert plan.read(place) == more
    before, after = [[run.name for run in one.runs()] for one in (first, more)]
    assert after[:6] == before
    assert sorted(after[6:12]) != after[6:12] != sorted(before)
    assert len(set(after)) == 18
    assert plan.settle(place, first)[0].repeat == 3


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{",
        "[]",
        "null",
        '{"kind": "sweep-plan"}',
        '{"kind": "sweep-plan", "schema_version": "1"}',
    ],
)
def test_damaged_plans_are_explained(tmp_path: Path, content: str) -> None:
    (tmp_path / "plan.json").write_text(content)
    with pytest.raises(PerfscopeError) as caught:
        plan.read(tmp_path)
    assert "cannot be followed" in caught.value.what


def test_a_plan_that_names_a_path_is_refused(tmp_path: Path) -> None:
    plan.settle(tmp_path, sweep_plan(tmp_path / "log"))
    stored = json.loads((tmp_path / "plan.json").read_text())
    stored["configurations"][1]["name"] = "../elsewhere"
    (tmp_path / "plan.json").write_text(json.dumps(stored))
    with pytest.raises(PerfscopeError, match="cannot be followed") as caught:
        plan.read(tmp_path)
    assert "is a path" in caught.value.why


def test_a_changed_plan_is_not_followed(tmp_path: Path) -> None:
    plan.settle(tmp_path, sweep_plan(tmp_path / "log"))
    path = tmp_path / "plan.json"
    path.write_text(path.read_text().replace('"X": "2"', '"X": "3"'))
    with pytest.raises(PerfscopeError) as caught:
        plan.read(tmp_path)
    assert "changed" in caught.value.why


def test_the_plan_is_its_owners_alone(tmp_path: Path) -> None:
    plan.settle(tmp_path, sweep_plan(tmp_path / "log"))
    assert os.stat(tmp_path / "plan.json").st_mode & 0o077 == 0  # noqa: PTH116


def test_a_module_of_the_users_does_not_stand_in_for_one_of_ours(tmp_path: Path) -> None:
    place, log = tmp_path / "sweep", tmp_path / "log"
    for name in ("click", "json", "perfscope"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit(9)")
    plan.settle(place, sweep_plan(log, values=("1",)))
    assert work(place).returncode == 0
    assert log.read_text().splitlines() == ["begin 1", "end 1"]


def test_a_working_directory_that_is_gone_is_explained(tmp_path: Path) -> None:
    place = tmp_path / "sweep"
    plan.settle(place, sweep_plan(tmp_path / "gone" / "log"))
    assert "is gone" in work(place).stderr


def test_a_directory_with_other_things_is_no_sweep(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("")
    with pytest.raises(UsageError) as caught:
        plan.settle(tmp_path, sweep_plan(tmp_path / "log"))
    assert "thesis.tex" in caught.value.why


@pytest.mark.long
def test_killed_at_random_moments_each_run_is_made_once(tmp_path: Path) -> None:
    place, log = tmp_path / "sweep", tmp_path / "log"
    values = tuple(map(str, range(12)))
    plan.settle(place, sweep_plan(log, values=values))
    chance, kills = random.Random(3), 0
    while kills < 40:
        sweep = subprocess.Popen([sys.executable, PROGRAM, place, "none"], cwd=REPOSITORY)
        try:
            sweep.wait(chance.uniform(0.2, 1.0))
            break
        except subprocess.TimeoutExpired:
            sweep.kill()
            sweep.wait()
            kills += 1
    assert work(place).returncode == 0
    assert kills
    lines = sorted(log.read_text().splitlines())
    assert lines == sorted(f"{word} {value}" for word in ("begin", "end") for value in values)


def test_a_zombie_makes_no_run() -> None:
    """A killed sweep stays in the process table until its parent asks for its end."""
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        identity = store._identity(child.pid)
        assert store._is_alive(identity)
        child.kill()
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        assert not store._is_alive(identity)
    finally:
        child.communicate()
