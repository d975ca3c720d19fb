"""Large arrays that are fresh in each step, and such that are used again, in real jobs."""

import sys
from pathlib import Path

import pytest

from tests.examples.trainer_run import finding
from tests.support.environments import REPOSITORY, Mpi
from tests.support.recording import record_and_analyze

PROGRAM = REPOSITORY / "tests" / "programs" / "fresh_arrays.py"


@pytest.mark.long
@pytest.mark.parametrize(("kind", "is_told"), [("fresh", True), ("kept", False)])
def test_the_kernel_time_of_fresh_arrays(
    kind: str, is_told: bool, mpich: Mpi, tmp_path: Path
) -> None:
    words: list[str | Path] = [*mpich.command(2), sys.executable, PROGRAM, kind, "5"]
    _, document = record_and_analyze(words, place=tmp_path)
    found = finding(document, "page_faults")
    assert (found["status"] in {"fail", "warn"}) is is_told, found
