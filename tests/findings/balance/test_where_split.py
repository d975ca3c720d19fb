"""Of an uneven split: the line of the program that may set it."""

from dataclasses import replace

import pytest

from perfscope.trace.model import Frame
from tests.findings.analyzed import analyze_trace
from tests.findings.training_runs import Plan, training_run

TILES = ["mine\x1f/job/tiles.py\x1f8"]
ELSEWHERE = "The split may be set elsewhere, where the data is dealt out."
NAMED = "The only line that deals out by rank is mine() (tiles.py:8)."


@pytest.mark.parametrize(
    ("first", "second", "told"),
    [
        ({"splits": TILES}, {}, NAMED),
        ({"splits": ["\x1f/job/tiles.py\x1f8"]}, {}, ELSEWHERE),
        ({"splits": TILES, "argv": ["pipe_handle=6"]}, {"argv": ["pipe_handle=10"]}, NAMED),
        ({"splits": [*TILES, "b\x1f/job/t.py\x1f9"]}, {}, ELSEWHERE),
        ({"splits": ["odd"]}, {}, ELSEWHERE),
        ({"splits": 7}, {}, ELSEWHERE),
        ({"splits": TILES}, {"splits": ["a\x1f/job/t.py\x1f8"]}, ELSEWHERE),
        ({"splits": TILES, "argv": ["a.py"]}, {"argv": ["b.py"]}, ELSEWHERE),
    ],
)
def test_where_the_split_may_be_set(
    first: dict[str, object], second: dict[str, object], told: str
) -> None:
    """A line that derives bounds from the rank, as the program's files tell it."""
    trace = training_run(Plan(ranks=2, slow_rank=1, slow_backward_s=0.05))
    ranks = [
        replace(rank, metadata={**rank.metadata, **noted})
        for rank, noted in zip(trace.ranks, (first, second), strict=True)
    ]
    findings = analyze_trace(replace(trace, ranks=ranks)).findings
    assert told in findings["load_imbalance"].actions[0]
    at = Frame("mine", "/job/tiles.py", 8)
    assert [one.set_at for one in findings.values() if one.set_at] == [at] * (told == NAMED)
