"""One problem is one block of the first screen."""

from dataclasses import replace

import pytest

from perfscope.document.blocks import leaders
from perfscope.findings.core.finding import Finding
from perfscope.schema.enums import Status
from perfscope.trace.model import Frame

TRAIN = Frame("train", "/job/train.py", 12)
AGAIN = replace(TRAIN, line=14)
DRAIN = Frame("drain", "/job/log.py", 5)


def finding(
    name: str,
    *ranks: int,
    frame: Frame | None = None,
    status: Status = Status.FAIL,
    overlaps: tuple[str, ...] = (),
) -> Finding:
    return Finding(
        id=name,
        status=status,
        title=name,
        summary="",
        ranks=ranks,
        where=(frame,) if frame else (),
        overlaps=overlaps,
    )


@pytest.mark.parametrize(
    ("second", "is_one"),
    [
        (finding("b", 1, frame=TRAIN), True),
        (finding("b", 1, frame=AGAIN), False),  # a training loop has many things in it
        (finding("b", 0, frame=TRAIN), False),  # other ranks
        (finding("b", 1, frame=DRAIN), False),
        (finding("b", 1), False),
        (finding("b", 1, frame=DRAIN, overlaps=("a",)), False),  # certain for itself
        (finding("b", 1, frame=DRAIN, overlaps=("a",), status=Status.WARN), True),
        (finding("b", 1, frame=DRAIN, status=Status.WARN), False),
    ],
)
def test_what_is_seen_at_one_place_or_explained_is_one_problem(
    second: Finding, *, is_one: bool
) -> None:
    first = finding("a", 1, 2, frame=TRAIN)
    assert leaders([first, second]) == ({"b": "a"} if is_one else {})


def test_what_explains_may_be_what_tells_of_the_overlap() -> None:
    first = finding("a", 1, frame=TRAIN, overlaps=("b",))
    assert leaders([first, finding("b", 1, frame=DRAIN, status=Status.WARN)]) == {"b": "a"}


def test_of_two_that_are_uncertain_the_first_leads() -> None:
    late = finding("late", 1, frame=TRAIN, overlaps=("threads",), status=Status.WARN)
    threads = finding("threads", 0, 1, frame=DRAIN, status=Status.WARN)
    assert leaders([late, threads]) == {"threads": "late"}


def test_a_view_leads_no_block() -> None:
    rows = [finding(name, 1, frame=TRAIN) for name in "abc"]
    assert leaders(rows) == {"b": "a", "c": "a"}
    assert leaders([]) == {}
