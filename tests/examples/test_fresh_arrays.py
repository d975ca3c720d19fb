"""Large arrays that are fresh in each step, and such that are used again, in real jobs."""

import json
import sys

import pytest

from tests.support.environments import REPOSITORY, Mpi
from tests.support.recording import Recorder, analyze

PROGRAM = REPOSITORY / "tests" / "programs" / "fresh_arrays.py"


@pytest.mark.long
@pytest.mark.parametrize(("kind", "is_told"), [("fresh", True), ("kept", False)])
def test_the_kernel_time_of_fresh_arrays(
    kind: str, is_told: bool, mpich: Mpi, record: Recorder
) -> None:
    recorded = record([*map(str, mpich.command(2)), sys.executable, str(PROGRAM), kind, "5"])
    assert recorded.exit_code == 0, recorded.stderr
    done = analyze(recorded.directory)
    assert done.returncode == 0, done.stderr
    document = json.loads((recorded.directory / "analysis.json").read_text(encoding="utf-8"))
    [found] = [one for one in document["findings"] if one["id"] == "page_faults"]
    assert (found["status"] in {"fail", "warn"}) is is_told, found
