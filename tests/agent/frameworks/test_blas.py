"""The threads that the linear algebra libraries use."""

import os
from collections.abc import Callable
from pathlib import Path

from tests.agent.jobs import Job
from tests.support.environments import Environment


def test_threads_of_linear_algebra_are_those_in_effect(
    job: Callable[..., Job], environment: Callable[[str], Environment], tmp_path: Path
) -> None:
    settings = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    python = environment("mpich").python
    metadata = job("import numpy", python=python, variables=settings).process.metadata
    assert metadata["blas_threads"] == 1
    (library,) = metadata["blas_libraries"]
    assert "openblas" in library["library"]
    many = job("import numpy", python=python, directory=tmp_path / "many").process.metadata[
        "blas_threads"
    ]
    assert 1 <= many <= (os.cpu_count() or 1)
