"""Buffers of a C library that are never freed are not told as objects that Python keeps."""

import json
import sys

import pytest

from tests.support.environments import REPOSITORY, Mpi
from tests.support.recording import Recorder, analyze

PROGRAM = REPOSITORY / "tests" / "programs" / "native_leak.py"


@pytest.mark.long
def test_what_malloc_gave_and_nobody_freed(mpich: Mpi, record: Recorder) -> None:
    words = [*map(str, mpich.command(1)), sys.executable, str(PROGRAM), "24"]
    recorded = record(words)
    assert recorded.exit_code == 0, recorded.stderr
    done = analyze(recorded.directory)
    assert done.returncode == 0, done.stderr
    document = json.loads((recorded.directory / "analysis.json").read_text(encoding="utf-8"))
    [found] = [one for one in document["findings"] if one["id"] == "memory_growth"]
    assert found["status"] in {"fail", "warn"}, found
    assert "allocated with malloc is never freed" in found["title"]
    assert "Python keeps objects" not in found["title"]
