"""perfscope runs on the oldest Python that it promises: nothing of a later one is used."""

import re
import subprocess
import sys

import pytest

from tests.support.environments import REPOSITORY

LINE = re.compile(r"(?P<file>[^:]+):(?P<line>\d+):\d*:[^:]*:~?(?P<python>3\.\d+):(?P<feature>.+)")


def _oldest() -> tuple[int, ...]:
    text = (REPOSITORY / "pyproject.toml").read_text(encoding="utf-8")
    found = re.search(r'^requires-python = ">=(\d+)\.(\d+)"', text, re.MULTILINE)
    assert found, "pyproject.toml names no oldest Python"
    return tuple(map(int, found.groups()))


def _newer(*paths: str) -> list[str]:
    """What in these files came with a later Python, as vermin knows it."""
    # to look for cycles in all that it parses would take a quarter of the time
    start = "import gc, vermin; gc.disable(); vermin.main()"
    # more processes would send each other all that they parse
    options = ("--format", "parsable", "--eval-annotations", "--no-parse-comments", "--processes=1")
    command = [sys.executable, "-c", start, *options, *paths]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=280, check=False, cwd=REPOSITORY
    )
    features = [found for line in done.stdout.splitlines() if (found := LINE.match(line))]
    assert features, done.stderr
    oldest = _oldest()
    return [
        found.group() for found in features if tuple(map(int, found["python"].split("."))) > oldest
    ]


def test_nothing_of_a_later_python_is_used() -> None:
    assert _newer("perfscope", "scripts") == []


@pytest.mark.parametrize("source", ["from enum import StrEnum\n", "from datetime import UTC\n"])
def test_what_is_newer_is_seen(source: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    """On a program that Python 3.10 ends with an ImportError."""
    program = tmp_path_factory.mktemp("newer") / "program.py"
    program.write_text(source, encoding="utf-8")
    assert len(_newer(str(program))) == 1
