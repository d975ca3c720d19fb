"""A place that takes no more is named to the user as such, not as a fault of perfscope."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.parametrize("words", [["doctor"], ["--help"], ["sweep", "--help"]], ids=" ".join)
def test_a_full_output_is_told_in_three_lines(words: list[str], tmp_path: Path) -> None:
    with Path("/dev/full").open("w") as full:
        ended = subprocess.run(
            [sys.executable, "-m", "perfscope", *words],
            cwd=tmp_path,
            stdout=full,
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
