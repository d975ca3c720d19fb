"""Programs without a fault, ten recordings of each under three MPIs: no diagnosis fires."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support import environments, recording
from tests.support.environments import MPI_NAMES, REPOSITORY

pytestmark = [pytest.mark.long, pytest.mark.timeout(1800)]

EXAMPLES = REPOSITORY / "examples"
REPEATS = 10
STEP = ("--quiet", "--batch", "64", "--hidden", "128", "--work", "sleep", "--forward-ms", "8")
PROGRAMS: dict[str, tuple[str, ...]] = {
    "train_numpy.py": (*STEP, "--evaluate-every", "none", "--steps", "500"),
    "faults/progress_output.py": ("--quiet", "--epochs", "150", "--print-every", "30"),
}


def alarms(words: list[str], place: Path, variables: dict[str, str]) -> list[str]:
    """What one recording of a healthy program is accused of."""
    done = recording.record(words, cwd=place, output=place / "trace", variables=variables)
    assert done.exit_code == 0, done.stderr
    analysed = recording.analyze(done.directory, "--no-report", "--output", place)
    assert analysed.returncode == 0, analysed.stderr
    document = json.loads((place / "analysis.json").read_text(encoding="utf-8"))
    bad = {"fail", "warn", "error"}
    return [f"{f['id']}: {f['title']}" for f in document["findings"] if f["status"] in bad]


@pytest.mark.parametrize("name", MPI_NAMES)
@pytest.mark.parametrize("program", PROGRAMS)
def test_no_false_alarm(name: str, program: str, tmp_path: Path) -> None:
    mpi = environments.mpi(name)
    words = mpi.python_command(2, EXAMPLES / program, *PROGRAMS[program])
    found = []
    for number in range(REPEATS):
        place = tmp_path / str(number)
        place.mkdir()
        found += alarms(words, place, dict(mpi.variables))
    assert found == []


def test_no_false_alarm_over_k_means(tmp_path: Path) -> None:
    daal = environments.environment("daal4py")
    options = ("--threads", "1", "--points", "1000000", "--rounds", "40")
    script = EXAMPLES / "kmeans_daal4py.py"
    words = [str(word) for word in (daal.mpirun, "-n", 2, daal.python, script, *options)]
    found = []
    for number in range(REPEATS):
        place = tmp_path / str(number)
        place.mkdir()
        found += alarms(words, place, {})
    assert found == []
