"""What functions are given is seen as a whole where nothing else can decide what they do."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.agent.jobs import Job
from tests.agent.test_operands import MEET_OFTEN, run_and_tell

PROGRAM = """
pace._LATE_NS = 1 << 40  # on a crowded machine a look may come late, which is still one
scale, offsets, which = 2.0, np.arange(9.0), {which}
def bend(row):
    return np.sort(row * scale + offsets[0])
def transform(rows):
    {first}
    found = []
    for row in rows:
        found.append({body})
    return np.stack(found)
def looked_at():
    calls = list(operands.looker._calls._found.values()) if operands.looker else []
    return sum(one.looks for code, one in calls if one and code.co_name == "transform")
end = time.monotonic() + {seconds}
while time.monotonic() < end and looked_at() < 3:
    transform(rng.normal(size=(40, 3000)))
"""


USUAL = {"which": 0, "first": "pass", "body": "bend(row)"}


def told_of(
    job: Callable[..., Job], directory: Path, seconds: float = 60.0, **parts: Any
) -> list[dict[str, Any]]:
    """What a job told of `transform`, that was called until it had been looked at three times."""
    program = MEET_OFTEN + PROGRAM.format(**{"seconds": seconds, **USUAL, **parts})
    told = run_and_tell(job, program, directory=directory)["called"]
    return [one for one in told if one["place"].startswith("transform\x1f")]


def test_a_function_is_known_by_its_arguments_and_what_it_reads(
    job: Callable[..., Job], tmp_path: Path
) -> None:
    (one,) = told_of(job, tmp_path / "trace")
    assert one["looks"] >= 3
    assert [operand["name"] for operand in one["operands"]] == ["rows"]
    assert one["outside"]
    digests = [digest for _, digest in one["at_meetings"]]
    assert len(set(digests)) == len(digests) >= 3  # other rows each time


def test_what_it_reads_of_its_module_counts(job: Callable[..., Job], tmp_path: Path) -> None:
    """The same arguments, and another number in a variable of the module."""
    body = "bend(row) + which"
    (one,), (other,) = (
        told_of(job, tmp_path / str(which), which=which, body=body) for which in (1, 2)
    )
    assert one["outside"] != other["outside"]


def test_texts_are_told_apart(job: Callable[..., Job], tmp_path: Path) -> None:
    """The same arrays, and another name of what is to be computed of them."""
    body = "np.cumsum(row) if which == 'sum' else bend(row)"
    (one,), (other,) = (
        told_of(job, tmp_path / which, which=repr(which), body=body) for which in ("sum", "sort")
    )
    assert one["outside"]
    assert other["outside"] not in (0, one["outside"])


@pytest.mark.parametrize(
    "parts",
    [
        {"body": "rng.normal(size=len(row)) + row"},
        {"body": "bend(rows) if which.rank else bend(row)"},
        {"first": "import math"},
    ],
    ids=["draws", "asks for its rank", "imports"],
)
def test_of_a_function_that_may_learn_more_elsewhere_nothing_is_told(
    job: Callable[..., Job], tmp_path: Path, parts: dict[str, str]
) -> None:
    which = "type('Ranks', (), {'rank': 0})"
    assert not told_of(job, tmp_path / "trace", seconds=1.0, which=which, **parts)
