"""`make checks` beside the tests: what ends with it, and how long pytest waits for it."""

import fcntl
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.checks import wait_for_checks
from tests.support.environments import REPOSITORY

STAND_IN = """#!/bin/bash
sleep 120 < /dev/null &> /dev/null &
echo $! >> orphans
"""
TOOLS = ("ruff", "mypy", "cmake")


@pytest.fixture
def checkout(tmp_path: Path) -> Iterator[Path]:
    """One whose tools all leave a process behind."""
    (tmp_path / "Makefile").symlink_to(REPOSITORY / "Makefile")
    places = [tmp_path / ".envs" / "mpich" / "bin" / name for name in TOOLS]
    for place in (*places, tmp_path / "scripts" / "sanitize.sh"):
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(STAND_IN, encoding="utf-8")
        place.chmod(0o755)
    yield tmp_path
    for pid in (tmp_path / "orphans").read_text(encoding="utf-8").split():
        os.kill(int(pid), 9)


def test_process_that_the_checks_leave_behind_holds_nobody_up(checkout: Path) -> None:
    make = ("make", "--old-file=developer-environment", "checks")
    variables = {name: text for name, text in os.environ.items() if name != "MAKEFLAGS"}
    subprocess.run(make, cwd=checkout, env=variables, check=True, capture_output=True, timeout=60)
    assert len((checkout / "orphans").read_text(encoding="utf-8").split()) == 6
    for place in (checkout / "build", checkout / "build" / "sanitize"):
        free = os.open(place, os.O_RDONLY)
        fcntl.flock(free, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.close(free)


def test_wait_for_the_checks_is_told_of_and_ends(tmp_path: Path) -> None:
    told: list[str] = []
    wait_for_checks(tmp_path, told.append, longest_s=0.0)
    assert told == []
    held = os.open(tmp_path, os.O_RDONLY)
    fcntl.flock(held, fcntl.LOCK_EX)
    wait_for_checks(tmp_path, told.append, longest_s=0.0)
    assert told == ["waiting for the checks", "the checks go on: make waits for them"]

    def end(_: str) -> None:
        os.close(held)

    wait_for_checks(tmp_path, end)
