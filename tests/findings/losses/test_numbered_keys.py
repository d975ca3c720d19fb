"""Keys of tables that each call that groups by them hashes anew, in closed form."""

import pytest

from perfscope.findings.core.finding import Finding
from tests.findings.analyzed import analyze_trace
from tests.support.trace_builder import FrameLike, TraceBuilder

STEPS = 60
PANDAS = "/env/site-packages/pandas/core"
RANKING = (("main", "/job/bids.py", 70), ("rank_bids", "/job/bids.py", 31))
CALL = ("DataFrameGroupBy.rank", f"{PANDAS}/groupby/groupby.py", 4400)
GROUPING = ("Grouping._codes_and_uniques", f"{PANDAS}/groupby/grouper.py", 690)
PYTHON: tuple[FrameLike, ...] = (*RANKING, CALL, ("Block.apply", f"{PANDAS}/blocks.py", 390))
HASHES = ("pandas._libs.hashtable.StringHashTable.factorize", "<built-in>", 0)
STRINGS: tuple[FrameLike, ...] = (*RANKING, CALL, GROUPING, HASHES)
INTEGERS = (
    *(*RANKING, CALL, GROUPING),
    ("pandas._libs.hashtable.Int64HashTable.factorize", "<built-in>", 0),
)
COUNTED = (*RANKING, ("value_counts", f"{PANDAS}/algorithms.py", 830), HASHES)
SOLVES = (("main", "/job/bids.py", 72), ("numpy.linalg.solve", "<built-in>", 0))


def told(ticks: int, hashing: tuple[FrameLike, ...]) -> Finding:
    """Two ranks in pandas for 60 of 100 ms, and for so many ticks of 10 of these hashing keys."""
    builder = TraceBuilder(2, end_s=3.0 + 0.1 * STEPS)
    for rank, step, begin in builder.steps(STEPS, 0.1):
        for tick in range(9):
            stack = hashing if tick < ticks else PYTHON
            rank.stack(begin + 0.01 * tick + 0.005, stack if tick < 6 else SOLVES)
        rank.op("MPI_Allreduce", begin + 0.095, begin + 0.0999, seq=step)
    return analyze_trace(builder.build()).findings["lost_to_interpreter"]


def test_strings_that_are_hashed_in_each_call_are_to_be_made_a_category_once() -> None:
    found = told(2, STRINGS)
    assert found.actions[0].startswith("In rank_bids() (bids.py:31): convert the column that")
    assert '`table[key] = table[key].astype("category")`' in found.actions[0]
    assert found.recommended is not None
    assert found.recommended.seconds == pytest.approx(0.02 * STEPS, rel=0.02)
    assert len(found.actions) == 2
    values = {row.label: row.value for row in found.evidence}
    hashed = values["Of it, hashing keys that are objects, per rank"]
    assert hashed == pytest.approx(0.02 * STEPS, rel=0.02)


@pytest.mark.parametrize(
    ("ticks", "hashing"),
    [(0, STRINGS), (2, INTEGERS), (2, COUNTED)],
    ids=["none", "integers", "nothing is grouped"],
)
def test_other_work_of_the_library_is_told_as_before(
    ticks: int, hashing: tuple[FrameLike, ...]
) -> None:
    found = told(ticks, hashing)
    assert len(found.actions) == 1
    assert "category" not in found.actions[0]
