"""What else `make` checks in the code: here its commands share the cores with the tests."""

import os
import subprocess

import pytest

from tests.support.environments import REPOSITORY


@pytest.mark.timeout(1200)
@pytest.mark.parametrize("target", ["lint", "native-sanitize"])
def test_nothing_is_found_by(target: str) -> None:
    variables = {name: value for name, value in os.environ.items() if name != "MAKEFLAGS"}
    done = subprocess.run(
        ["make", "--no-print-directory", target],
        cwd=REPOSITORY,
        env={**variables, "CMAKE_BUILD_PARALLEL_LEVEL": "1"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
