"""What is nobody's fault in perfscope is told as such: a full output, an empty argument."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from perfscope.cli.main import main
from perfscope.errors import ExitCode


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("words", [["doctor"], ["--help"], ["sweep", "--help"]], ids=" ".join)
def test_a_full_output_is_told_in_three_lines(
    words: list[str], unbuffered: str, tmp_path: Path
) -> None:
    with Path("/dev/full").open("w") as full:
        ended = subprocess.run(
            [sys.executable, "-m", "perfscope", *words],
            cwd=tmp_path,
            stdout=full,
            env=os.environ | {"PYTHONUNBUFFERED": unbuffered},
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert ended.returncode != 0
    lines = ended.stderr.splitlines()
    assert lines == [
        "The output cannot be written.",
        "No space left on device.",
        "Make room there, or send the output elsewhere.",
    ]


@pytest.mark.parametrize("words", [["analyze", ""], ["compare", "a", ""]], ids=" ".join)
def test_an_empty_path_is_not_the_current_directory(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == ExitCode.USAGE
    assert capsys.readouterr().err.startswith("An argument is empty.\n")
