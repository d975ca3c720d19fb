"""What truth.toml says of the programs beside it holds: each exists, and so does its line."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.environments import REPOSITORY

PROGRAMS = REPOSITORY / "benchmarks" / "gallery" / "unseen"
tomllib = pytest.importorskip("tomllib", reason="it came with Python 3.11")
TRUTH = tomllib.loads((PROGRAMS / "truth.toml").read_text(encoding="utf-8"))


def _source(name: str) -> str:
    return Path(PROGRAMS / f"{name}.py").read_text(encoding="utf-8")


def test_each_program_has_its_truth() -> None:
    """None is without, and none is of a program that is gone."""
    assert set(TRUTH) == {path.stem for path in PROGRAMS.glob("[a-z]*.py")}


@pytest.mark.parametrize("name", [name for name, truth in TRUTH.items() if "code" in truth])
def test_the_line_at_fault_stands_once_in_the_program(name: str) -> None:
    """So its number need not be written down, which every edit would make wrong."""
    source = _source(name)
    assert source.count(TRUTH[name]["code"]) == 1
    assert all(f"def {function}(" in source for function in TRUTH[name]["functions"])
    assert '"--cured"' in source
