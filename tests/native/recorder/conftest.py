"""Fixtures of the recorder's tests: the library as installed, and jobs recorded with it."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

import pytest

from perfscope.record.places import recorder_library
from tests.native.recorder import running
from tests.native.recorder.decode import Recording, decode_all
from tests.native.recorder.running import Job
from tests.support.environments import Mpi
from tests.support.requirements import missing


class Start(Protocol):
    """What the fixture `start` is."""

    def __call__(
        self,
        mpi: Mpi,
        ranks: int,
        program: str,
        *arguments: str,
        variables: Mapping[str, str] | None = None,
    ) -> Job:
        """Runs a program of jobs/ and waits for its end."""


@pytest.fixture(scope="session")
def library() -> Path:
    """The recorder: $PERFSCOPE_RECORDER, else that of this installation."""
    given = os.environ.get("PERFSCOPE_RECORDER")
    found = Path(given) if given else recorder_library()
    if found is None or not found.exists():
        missing("the recorder library (pip install -e .)")
    return found


@pytest.fixture
def start(library: Path, tmp_path: Path) -> Start:
    """Runs a program of jobs/ under an MPI library, recorded in a directory of the test's own."""

    def run(
        mpi: Mpi,
        ranks: int,
        program: str,
        *arguments: str,
        variables: Mapping[str, str] | None = None,
    ) -> Job:
        place = tmp_path / "run"
        return running.run_mpi(
            mpi, ranks, program, *arguments, library=library, directory=place, variables=variables
        )

    return run


@pytest.fixture
def families(mpi: Mpi, library: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Recording]:
    """The recordings of jobs/families.py on three ranks, made once for each MPI library."""
    directory = tmp_path_factory.getbasetemp() / f"families-{mpi.name}"
    if not directory.exists():
        job = running.run_mpi(mpi, 3, "families.py", library=library, directory=directory)
        (directory / "exit_code").write_text(f"{job.exit_code}\n{job.stderr}")
    assert (directory / "exit_code").read_text() == "0\n"
    return decode_all(directory)
