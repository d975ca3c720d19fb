"""Real sweeps of the example trainer: threads and ranks, named environments, MPI libraries."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from perfscope.cli.main import main
from perfscope.errors import ExitCode
from tests.support.environments import MPI_NAMES, REPOSITORY, mpi

pytestmark = pytest.mark.long
TRAINER = [str(REPOSITORY / "examples" / "train_numpy.py"), "--steps", "60", "--samples", "8192"]
ACCURACY = ["--metric", r"(?P<accuracy>(?<=accuracy )[0-9.]+)"]


def study(place: Path, *words: str) -> dict[str, Any]:
    assert main(["sweep", "-o", str(place), *words]) == ExitCode.OK
    document: dict[str, Any] = json.loads((place / "study.json").read_text())
    return document


def test_threads_and_ranks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every cell is measured, and its speed is the product of its factors."""
    library = mpi("mpich")
    monkeypatch.chdir(tmp_path)
    words = ["--env", "OMP_NUM_THREADS=1,2,4", "--var", "ranks=1,2", "--oversubscribe", *ACCURACY]
    command = [str(library.environment.mpirun), "-n", "{ranks}", str(library.python)]
    document = study(tmp_path / "sweep", *words, "--", *command, *TRAINER, "--markers")
    rows = document["sweep"]["configurations"]
    assert [row["status"] for row in rows] == ["measured"] * 6
    assert document["sweep"]["objective"]["id"] == "samples_per_s"
    for row in rows:
        factors = row["factors"]
        product = factors["ranks"] * factors["parallel_efficiency"] * factors["work_speed"]
        assert product == pytest.approx(row["speed"])
        assert factors["ranks"] == int(row["values"]["ranks"])
        assert factors["peak_bytes"] > 10_000_000
        assert row["quality"] > 0.3
    assert document["sweep"]["fabric"]["comparable"] is True


def test_mpi_libraries_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three launchers of one program; the same training comes out of each."""
    monkeypatch.chdir(tmp_path)
    sets: dict[str, Any] = {}
    for name in MPI_NAMES:
        library = mpi(name)
        launcher = library.python_command(2)
        sets[library.flavor] = {"launcher": launcher, "env": dict(library.variables)}
    (tmp_path / "sets.yaml").write_text(json.dumps(sets))  # JSON is YAML
    document = study(tmp_path / "sweep", "--configs", "sets.yaml", *ACCURACY, "--", *TRAINER)
    rows = document["sweep"]["configurations"]
    assert [row["label"] for row in rows] == ["MPICH", "Open MPI", "Intel MPI"]
    assert [row["status"] for row in rows] == ["measured"] * 3
    assert len({row["quality"] for row in rows}) == 1
    fabric = document["sweep"]["fabric"]
    assert len(fabric["libraries"]) == 3
    assert "3 MPI libraries were on one host" in fabric["sentence"]


def test_named_environments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sets of variables reach the ranks, and a set that cannot start is a failed cell."""
    library = mpi("mpich")
    monkeypatch.chdir(tmp_path)
    sets = {
        "one": {"env": {"OPENBLAS_NUM_THREADS": "1", "OMP_PROC_BIND": "true"}},
        "two": {"env": {"OPENBLAS_NUM_THREADS": "2"}},
        "broken": {"env": {"PATH": os.defpath}, "launcher": ["no-such-mpirun"]},
    }
    (tmp_path / "sets.yaml").write_text(json.dumps(sets))
    command = library.python_command(1, *TRAINER)
    document = study(tmp_path / "sweep", "--configs", "sets.yaml", "--", *command)
    rows = {row["label"]: row for row in document["sweep"]["configurations"]}
    assert rows["broken"]["end"] == "not_started"
    assert rows["one"]["status"] == rows["two"]["status"] == "measured"
    of_one = next(run for run in document["runs"] if run["configuration"] == 1)
    assert of_one["pinning"]["OMP_PROC_BIND"] == "true"
