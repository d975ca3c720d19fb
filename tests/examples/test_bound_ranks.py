"""Two ranks that bind themselves to one CPU after they have started, in a real job."""

import os
import sys
from pathlib import Path

import pytest

from tests.examples.trainer_run import finding
from tests.support.environments import REPOSITORY, Mpi
from tests.support.recording import record_and_analyze

PROGRAM = REPOSITORY / "tests" / "programs" / "bound_ranks.py"


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two CPUs")
def test_ranks_that_bind_themselves_to_one_cpu(mpich: Mpi, tmp_path: Path) -> None:
    words: list[str | Path] = [*mpich.command(2), sys.executable, PROGRAM, "3"]
    _, document = record_and_analyze(words, place=tmp_path)
    found = finding(document, "shared_cores")
    # where others have nearly all of that CPU, nothing that is worth acting on stays
    assert found["status"] in ("fail", "warn", "info")
    assert "ranks 0 and 1 are bound to CPU" in found["title"]
    assert found["status"] == "info" or found["gain_s"] > 0
    assert found["gain_basis"] == "replay"
