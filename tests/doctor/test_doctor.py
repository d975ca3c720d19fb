"""`perfscope doctor`: what it finds here, what it makes of planted faults, and how it says so."""

import json
import os
import subprocess
import sys
import venv
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from perfscope.doctor import check
from perfscope.doctor.check import Check, Outcome, State, Surroundings
from perfscope.doctor.checks import run_directory, threads, two_ranks
from perfscope.doctor.installing import install_command
from perfscope.doctor.launchers import FoundLauncher, found_launchers
from perfscope.doctor.running import Finished, finish
from perfscope.record.cpus import quota_cpus
from perfscope.record.launcher import Flavor
from tests.support import environments
from tests.support.environments import Mpi
from tests.support.processes import with_argument
from tests.support.recording import job_variables, perfscope_command
from tests.support.waiting import wait_for

SYSTEM = "/usr/bin:/bin"


def doctor(
    *options: str, variables: Mapping[str, str] | None = None, cwd: Path
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        perfscope_command("doctor", *options),
        cwd=cwd,
        env=job_variables({"OMP_NUM_THREADS": "1", **(variables or {})}),
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )


def rows(done: subprocess.CompletedProcess[str]) -> list[dict[str, Any]]:
    document = json.loads(done.stdout)
    assert document["schema_version"] == "1"
    assert document["problems"] == sum(row["state"] == "problem" for row in document["checks"])
    found: list[dict[str, Any]] = document["checks"]
    return found


@pytest.mark.parametrize(
    ("told", "shown"),
    [
        ("0 0 1 1", "{python} -m pip install mpich"),
        ("1 1 1 1", "{python} -m pip install mpich"),
        ("1 0 0 1", "{python} -m ensurepip && {python} -m pip install mpich"),
        ("0 1 1 1", "{python} -m venv ~/job-python && ~/job-python/bin/python -m pip install"),
        ("0 0 0 0", "with your distribution's package python3-venv: {python} -m venv"),
        ("", "{python} -m pip install mpich"),
    ],
)  # fmt: skip
def test_the_cure_can_be_typed_where_the_python_takes_no_packages(
    told: str, shown: str, tmp_path: Path
) -> None:
    python = tmp_path / "python"  # stands for a Python of a distribution
    python.write_text(f"#!/bin/sh\necho {told}\n")
    python.chmod(0o755)
    around = Surroundings(tmp_path, python, {})
    assert install_command(around, "mpich").startswith(shown.format(python=python))


def test_what_is_asked_of_a_python_is_answered(tmp_path: Path) -> None:
    venv.create(tmp_path / "bare", with_pip=False)
    python = tmp_path / "bare" / "bin" / "python"
    nowhere = install_command(Surroundings(tmp_path, None, {}), "mpich")
    assert nowhere == "activate your job's environment"
    fix = install_command(Surroundings(tmp_path, python, {}), "mpich")
    assert fix == f"{python} -m ensurepip && {python} -m pip install mpich"


def test_all_is_well_in_the_developers_environment(mpich: Mpi, tmp_path: Path) -> None:
    path = f"{mpich.environment.prefix / 'bin'}:{SYSTEM}"
    done = doctor("--json", variables={"PATH": path}, cwd=tmp_path)
    found = rows(done)
    assert done.returncode == 0, done.stdout
    assert {row["id"] for row in found} == set(check.ORDER)
    by_id = {row["id"]: row for row in reversed(found)}
    for name in ("recorder", "agent", "mpi", "run_directory", "frameworks", "two_ranks"):
        assert by_id[name]["state"] == "ok", by_id[name]
    assert by_id["two_ranks"]["details"]["worlds"] == [[0, 2], [1, 2]]
    cost = by_id["record_cost"]
    assert cost["state"] == "warning" or 0 < cost["details"]["record_s"] < 1e-3
    assert "mpi4py" in by_id["frameworks"]["details"]
    for row in found:
        assert row["state"] == "ok" or row["fix"], row
    assert list(tmp_path.iterdir()) == []


def test_separate_worlds_of_one_rank_are_recognized(mpich: Mpi, tmp_path: Path) -> None:
    """mpi4py that uses Open MPI, started by an mpirun of MPICH, as on Debian."""
    openmpi = environments.mpi("openmpi")
    mpirun = mpich.environment.prefix / "bin" / "mpiexec.hydra"
    place = tmp_path / "bin"
    place.mkdir()
    (place / "mpirun").symlink_to(mpirun)
    (place / "hydra_pmi_proxy").symlink_to(mpirun.with_name("hydra_pmi_proxy"))
    path = f"{place}:{openmpi.environment.prefix / 'bin'}:{SYSTEM}"
    done = doctor("--json", variables={**openmpi.variables, "PATH": path}, cwd=tmp_path)
    row = next(row for row in rows(done) if row["id"] == "two_ranks")
    assert done.returncode == 1
    assert row["state"] == "problem"
    assert row["details"]["worlds"] == [[0, 1], [0, 1]]
    assert "2 separate worlds of 1 rank: mpi4py uses Open MPI" in row["summary"]
    assert f"start with {openmpi.environment.mpirun} instead of {place}/mpirun" in row["fix"]


def test_a_launcher_that_works_is_the_fix() -> None:
    broken = FoundLauncher(Path("/a/mpirun"), Flavor.MPICH, "4.0", is_first=True)
    outcome = two_ranks.judge(
        broken,
        Finished(0, "perfscope-doctor 0 1 Open MPI 5.0\nperfscope-doctor 0 1 Open MPI 5.0\n", ""),
        two_ranks.Attempt(),
        seconds=1.0,
    )
    assert (outcome.state, outcome.fix) == (State.PROBLEM, "")
    fixed = two_ranks._with_fix(outcome, ["start with /b/mpirun"], Path("/p/python"), broken)
    assert fixed.fix == "start with /b/mpirun instead of /a/mpirun"


@pytest.mark.parametrize(
    ("done", "words", "fix"),
    [
        (Finished(None, "", "", is_late=True), "in time", "mpirun -iface lo"),
        (Finished(1, "", "it has detected an attempt to run as root."), "as root", "ALLOW_RUN"),
        (Finished(1, "", "There are not enough slots available"), "slots", "--oversubscribe"),
        (Finished(1, "", ""), "no output", "-n 2 hostname"),
    ],
)
def test_failures_of_two_ranks_have_their_fix(done: Finished, words: str, fix: str) -> None:
    launcher = FoundLauncher(Path("/a/mpirun"), Flavor.MPICH, "4.0", is_first=True)
    outcome = two_ranks.judge(launcher, done, two_ranks.Attempt(), seconds=1.0)
    assert outcome.state is State.PROBLEM
    assert words in outcome.summary
    assert fix in outcome.fix


def test_a_way_that_needs_more_than_plain_mpirun_is_a_warning() -> None:
    launcher = FoundLauncher(Path("/a/mpirun"), Flavor.OPEN_MPI, "5.0", is_first=True)
    told = Finished(0, "perfscope-doctor 0 2 x\nperfscope-doctor 1 2 x\n", "")
    way = two_ranks.Attempt("mpirun --oversubscribe")
    outcome = two_ranks.judge(launcher, told, way, seconds=1.0)
    assert (outcome.state, outcome.fix) == (State.WARNING, "mpirun --oversubscribe")


def test_launchers_of_each_place_are_found_once(mpi: Mpi) -> None:
    search = {"PATH": f"{mpi.environment.prefix / 'bin'}:{mpi.environment.prefix / 'bin'}"}
    [first] = [
        found
        for found in found_launchers({**job_variables(), **search}, mpi.python)
        if found.flavor.value == mpi.flavor and found.is_first
    ]
    assert first.path == mpi.environment.mpirun
    assert first.version[:1].isdigit()


def test_nothing_of_a_program_that_takes_too_long_is_left() -> None:
    lasts_s = f"600.{os.getpid()}"  # by which the child is found
    script = f"trap '' TERM; sleep {lasts_s} & wait"
    done = finish(["bash", "-c", script], environment=job_variables(), timeout_s=0.5)
    assert done.is_late
    # the kernel ends a killed process when it next runs
    wait_for("the end of the child", lambda: not with_argument(lasts_s))


@pytest.mark.parametrize(
    ("allowed", "quota", "variables", "state", "fix"),
    [
        (8, None, {}, State.WARNING, "export OMP_NUM_THREADS=4"),
        (8, None, {"OMP_NUM_THREADS": "4"}, State.OK, ""),
        (2, None, {"OMP_NUM_THREADS": "16"}, State.WARNING, "export OMP_NUM_THREADS=2"),
        (8, 1.5, {"OMP_NUM_THREADS": "4"}, State.WARNING, "export OMP_NUM_THREADS=1"),
        (8, None, {"MKL_NUM_THREADS": "9", "OMP_NUM_THREADS": "2"}, State.WARNING,
         "export MKL_NUM_THREADS=8"),
        (1, None, {}, State.OK, ""),
    ],
)  # fmt: skip
def test_threads_against_cpus(
    allowed: int, quota: float | None, variables: dict[str, str], state: State, fix: str
) -> None:
    outcome = threads.judge(allowed, 16, quota, variables)
    assert outcome.state is state
    assert outcome.fix.startswith(fix)
    assert bool(outcome.fix) == bool(fix)


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"a/b/cpu.max": "150000 100000\n"}, 1.5),
        ({"a/cpu.max": "50000 100000\n", "a/b/cpu.max": "max 100000\n"}, 0.5),
        ({"a/b/cpu.max": "max 100000\n"}, None),
        ({"a/b/cpu.cfs_quota_us": "200000\n", "a/b/cpu.cfs_period_us": "100000\n"}, 2.0),
        ({"a/b/cpu.cfs_quota_us": "-1\n", "a/b/cpu.cfs_period_us": "100000\n"}, None),
        ({}, None),
    ],
)
def test_the_quota_is_the_least_of_all_groups(
    files: dict[str, str], expected: float | None, tmp_path: Path
) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="ascii")
    own = tmp_path / "own"
    own.write_text("0::/a/b\n", encoding="ascii")
    assert quota_cpus(tmp_path, own) == expected


def test_a_place_that_cannot_be_written_is_a_problem_with_a_way_out() -> None:
    around = Surroundings(Path("/proc/trace"), None, {"HOME": "/nowhere"})
    [outcome] = run_directory.look(around)
    assert outcome.state is State.PROBLEM
    assert outcome.fix.startswith("perfscope run --output /")


def test_a_python_without_the_agent_is_said(tmp_path: Path) -> None:
    place = tmp_path / "bin"
    place.mkdir()
    python = place / "python"
    python.write_text(f'#!/bin/sh\nexec {sys.executable} -I "$@"\n', encoding="utf-8")
    python.chmod(0o755)
    done = doctor("--json", variables={"PATH": f"{place}:{SYSTEM}"}, cwd=tmp_path)
    row = next(row for row in rows(done) if row["id"] == "agent")
    assert row["state"] == "warning"
    assert "does not load the agent" in row["summary"]


def test_a_check_that_fails_hides_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_around: Surroundings) -> list[Outcome]:
        raise ValueError("no such thing")

    def sound(_around: Surroundings) -> list[Outcome]:
        return [Outcome("Sound", State.OK, "fine")]

    found = [Check("broken", broken), Check("sound", sound)]
    monkeypatch.setattr(check, "members", lambda *_args, **_kwargs: found)
    around = Surroundings(Path("trace"), None, {})
    first, second = check.examine(around)
    assert (first[0], first[1].state) == ("broken", State.WARNING)
    assert "no such thing" in first[1].summary
    assert second == ("sound", Outcome("Sound", State.OK, "fine"))


@pytest.mark.parametrize("width", ["30", "80"])
def test_hostile_names_and_narrow_terminals(width: str, tmp_path: Path) -> None:
    place = tmp_path / "b\x1b[31mad\u202e"
    place.mkdir()
    python = place / "python"
    python.write_text("#!/bin/sh\nprintf 'x\\033[2Jy\\n' >&2\nexit 3\n", encoding="utf-8")
    python.chmod(0o755)
    variables = {"PATH": f"{place}:{SYSTEM}", "COLUMNS": width}
    done = doctor(variables=variables, cwd=tmp_path)
    assert done.returncode == 1
    assert "\x1b" not in done.stdout
    assert "\u202e" not in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= int(width)
    assert "\\x1b" in done.stdout.replace("\n", "").replace(" ", "")


def test_every_check_is_in_the_order() -> None:
    place = Path(check.__file__).with_name("checks")
    assert set(check.ORDER) == {path.stem for path in place.glob("*.py")} - {"__init__"}


def test_an_environment_without_frameworks_is_not_a_problem(tmp_path: Path) -> None:
    done = doctor("--json", variables={"PATH": SYSTEM}, cwd=tmp_path)
    states = {row["id"]: row["state"] for row in rows(done)}
    assert done.returncode == 0, done.stdout
    assert states["compiler"] in ("ok", "missing")
