"""A cache that evicts what comes back is a cause, with the time that this takes at most."""

from typing import Any

import pytest

from perfscope.findings.core.finding import Finding
from perfscope.schema.enums import Status
from perfscope.trace.caches import caches
from perfscope.trace.model import Frame
from tests.findings.analyzed import analyze_trace
from tests.support.trace_builder import TraceBuilder

STEPS = 60
FILE = "/home/me/solve.py"
MAIN, MESH, PART = ("main", FILE, 9), ("mesh", FILE, 22), ("part", FILE, 40)
PLACE = "mesh\x1f/home/me/solve.py\x1f20"


def cache(**changes: Any) -> dict[str, Any]:
    """Of 620 results it kept the last 20."""
    return {"place": PLACE, "hits": 10, "misses": 620, "most": 20, "size": 20, **changes}


def judged(*told: list[dict[str, Any]] | None, extra_s: float = 0.06) -> dict[str, Finding]:
    """Two ranks with steps of 0.16 s, `extra_s` in mesh() on rank 1 alone."""
    builder = TraceBuilder(2, end_s=3.0 + 0.16 * STEPS)
    for number in range(2):
        rank = builder.rank(number).init(1.0).finalize(1.0 + 0.16 * STEPS)
        rank.set(metadata={"caches": told[number]})
        for step, begin in rank.steps(STEPS, 0.16):
            own_s = 0.09 + extra_s * number
            for tick in range(15):
                now = begin + 0.01 * tick + 0.005
                inner = (MESH, PART) if tick >= 9 else ()
                rank.stack(now, (MAIN, *inner) if now < begin + own_s else (MAIN,))
            rank.op("MPI_Allreduce", begin + own_s, begin + 0.16, comm=0, seq=step)
    return dict(analyze_trace(builder.build()).findings)


def test_a_cache_that_evicts_is_told_with_what_it_costs_at_most() -> None:
    finding = judged([cache(hits=900, misses=12, size=12)], [cache()])["small_cache"]
    assert finding.status is Status.FAIL
    assert finding.title == (
        "The cache of mesh() (solve.py:20) holds 20 results and evicted 600: those that are "
        "asked for again are computed again"
    )
    assert finding.ranks == (1,)
    assert [one.function for one in finding.where] == ["mesh", "part"]
    assert finding.gain is not None
    assert finding.gain.is_bound
    # of 620 results 20 were computed for the first time, whatever else was
    assert finding.gain_s == pytest.approx(0.06 * STEPS * 600 / 620, rel=0.1)  # samples tell it
    assert "maxsize" in finding.actions[0]
    told = {row.label: row.value for row in finding.evidence}
    assert told["Cache on rank 0"] == "900 hits, 12 misses, and all of them fit"
    assert told["Cache on rank 1"] == "10 hits, 620 misses"


def test_a_rank_that_is_late_for_it_is_told_by_it() -> None:
    without, found = judged(None, None), judged(None, [cache()])
    late = {one for one in ("load_imbalance", "straggler") if without[one].status.is_fault}
    assert late
    for one in late:
        assert found[one].status is Status.INFO
        assert found[one].gain is None
        assert found["small_cache"].title in found[one].summary


@pytest.mark.parametrize(
    "changes",
    [
        {"most": 1000, "size": 620},  # all of them fit
        {"most": -1, "size": 620},  # it has no end
        {"misses": 30},  # a few were evicted, once
        {"misses": 620, "size": 5},  # emptied by the program, and not full since
        {"place": "other\x1f/home/me/solve.py\x1f20"},  # nobody was seen there
    ],
)
def test_caches_that_cost_nothing_are_no_fault(changes: dict[str, Any]) -> None:
    found = judged(None, [cache(**changes)])
    assert "small_cache" not in found or found["small_cache"].status is Status.PASS
    assert not any(one.id == "small_cache" for one in found.values() if one.status.is_fault)


@pytest.mark.parametrize(
    "told",
    [
        *(None, 3, [None], [{}], [{"place": "a\x1fb", "most": 2}]),
        [{"place": "a\x1fb\x1fx", "most": 2}],
        [{"place": "a\x1fb\x1f3", "most": None}],
    ],
)
def test_odd_metadata_tells_of_no_cache(told: Any) -> None:
    assert caches({"caches": told}) == ()


def test_what_is_no_count_counts_nothing() -> None:
    (found,) = caches({"caches": [{"place": "a\x1fb\x1f3", "most": 2, "misses": "x", "size": 2}]})
    assert (found.frame, found.misses, found.again_share) == (Frame("a", "b", 3), 0, 0.0)
