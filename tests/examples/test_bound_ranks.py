"""Two ranks that bind themselves to one CPU after they have started, in a real job."""

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.environments import REPOSITORY, Mpi
from tests.support.recording import Recorder, analyze

PROGRAM = REPOSITORY / "tests" / "programs" / "bound_ranks.py"


def judged(recording: Path) -> dict[str, dict[str, Any]]:
    """The findings of a recording by id."""
    done = analyze(recording)
    assert done.returncode == 0, done.stderr
    document = json.loads((recording / "analysis.json").read_text(encoding="utf-8"))
    return {found["id"]: found for found in document["findings"]}


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two CPUs")
def test_ranks_that_bind_themselves_to_one_cpu(mpich: Mpi, record: Recorder) -> None:
    recorded = record([*mpich.command(2), sys.executable, PROGRAM, "3"])
    assert recorded.exit_code == 0, recorded.stderr
    found = judged(recorded.directory)["shared_cores"]
    # where others have nearly all of that CPU, nothing that is worth acting on stays
    assert found["status"] in ("fail", "warn", "info")
    assert "ranks 0 and 1 are bound to CPU" in found["title"]
    assert found["gain_s"] > 0
    assert found["gain_basis"] == "replay"
