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


class Once(Protocol):
    """What the fixture `once` is."""

    def __call__(self, mpi: Mpi, ranks: int, program: str, *arguments: str) -> list[Recording]:
        """What a program of jobs/ leaves under an MPI library, recorded for the first who asks."""


@pytest.fixture
def once(library: Path, tmp_path_factory: pytest.TempPathFactory) -> Once:
    """Recordings that several tests share."""

    def run(mpi: Mpi, ranks: int, program: str, *arguments: str) -> list[Recording]:
        directory = tmp_path_factory.getbasetemp() / f"{program}-{mpi.name}"
        if not directory.exists():
            job = running.run_mpi(
                mpi, ranks, program, *arguments, library=library, directory=directory
            )
            (directory / "exit_code").write_text(f"{job.exit_code}\n{job.stderr}")
        told = (directory / "exit_code").read_text()
        assert told.startswith("0\n"), told
        return decode_all(directory)

    return run


@pytest.fixture
def families(mpi: Mpi, once: Once) -> list[Recording]:
    """The recordings of jobs/families.py on three ranks, made once for each MPI library."""
    return once(mpi, 3, "families.py")
