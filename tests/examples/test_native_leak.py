"""Buffers of a C library that are never freed are not told as objects that Python keeps."""

import sys
from pathlib import Path

import pytest

from tests.examples.trainer_run import finding
from tests.support.environments import REPOSITORY, Mpi
from tests.support.recording import record_and_analyze

PROGRAM = REPOSITORY / "tests" / "programs" / "native_leak.py"


@pytest.mark.long
def test_what_malloc_gave_and_nobody_freed(mpich: Mpi, tmp_path: Path) -> None:
    words: list[str | Path] = [*mpich.command(1), sys.executable, PROGRAM, "24"]
    _, document = record_and_analyze(words, place=tmp_path)
    found = finding(document, "memory_growth")
    assert found["status"] in {"fail", "warn"}, found
    assert "allocated with malloc is never freed" in found["title"]
    assert "Python keeps objects" not in found["title"]
