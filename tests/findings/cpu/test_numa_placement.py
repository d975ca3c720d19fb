"""NUMA: CPUs and pages of a rank, on machines that are written down by hand."""

from typing import Any

import pytest

from perfscope.findings.core.finding import Finding
from perfscope.schema.enums import Status
from tests.findings.analyzed import analyze_trace
from tests.support.trace_builder import TraceBuilder

GIB = 1 << 30
TWO_NODES = {"numa_nodes": 2, "numa": {"0": "0-7", "1": "8-15"}, "cpus": 16}


def judged(
    *ranks: tuple[str, dict[str, Any] | None],
    topology: dict[str, Any] | None = None,
    end_s: float = 20.0,
) -> Finding:
    """Ranks of one host, each with its CPU list and what the agent noted of NUMA."""
    builder = TraceBuilder(len(ranks), end_s=end_s)
    for number, (mask, numa) in enumerate(ranks):
        metadata = {"topology": TWO_NODES if topology is None else topology}
        rank = builder.rank(number).init(1.0).finalize(19.0)
        rank.set(
            cpus_allowed=mask, metadata=metadata if numa is None else {**metadata, "numa": numa}
        )
    return analyze_trace(builder.build()).findings["numa_placement"]


def pages(near: float, far: float, *, moves: int = 0) -> dict[str, Any]:
    """Memory of a rank on nodes 0 and 1, in GiB."""
    return {"bytes_by_node": {"0": int(near * GIB), "1": int(far * GIB)}, "moves": moves}


def test_memory_of_the_other_node_is_named_with_its_bytes() -> None:
    finding = judged(("0-7", pages(1, 3)), ("8-15", pages(0, 4)))
    assert finding.status is Status.FAIL
    assert finding.ranks == (0,)
    assert finding.title == "Rank 0 reaches over to the memory of another NUMA node"
    assert "75.0 %" in finding.summary
    assert "--bind-to numa" in finding.actions[0]
    assert finding.gain_s is None


def test_a_third_is_a_warning() -> None:
    assert judged(("0-7", pages(2, 1)), ("8-15", pages(0, 4))).status is Status.WARN


@pytest.mark.parametrize(
    "ranks",
    [
        [("0-7", pages(4, 0)), ("8-15", pages(0, 4))],  # each has its own
        [("0-7", pages(4, 0.4)), ("8-15", pages(0, 4))],  # libraries lie anywhere
        [("0-7", pages(0.05, 0.1)), ("8-15", pages(0, 0.1))],  # too little to matter
        [("0-15", pages(2, 2))],  # one process that uses the whole machine
        [("0-15", pages(2, 2, moves=90))],  # the same, moving: its memory is everywhere anyway
        [("0-15", pages(2, 2, moves=1)), ("0-15", pages(2, 2))],  # placed once
    ],
)
def test_healthy_placements_are_silent(ranks: list[tuple[str, dict[str, Any]]]) -> None:
    assert judged(*ranks).status is Status.PASS


def test_unbound_ranks_that_move_are_a_warning() -> None:
    finding = judged(("0-15", pages(2, 2, moves=40)), ("0-15", pages(2, 2, moves=9)))
    assert finding.status is Status.WARN
    assert finding.title == "The 2 ranks move between NUMA nodes: nothing binds them"
    assert "40 times" in finding.summary


def test_one_node_has_no_placement() -> None:
    finding = judged(("0-1", None), topology={"numa_nodes": 1, "numa": {}})
    assert finding.status is Status.NOT_APPLICABLE


def test_pages_that_were_not_looked_at_are_not_called_near() -> None:
    finding = judged(("0-7", None), ("8-15", {"moves": 0}))
    assert finding.status is Status.NOT_MEASURED


@pytest.mark.parametrize(
    "topology",
    [
        {},
        {"numa": "0-7", "numa_nodes": 2},
        {"numa": {"x": "0-7", "99999": "0-7", "1": 3}, "numa_nodes": 2},
    ],
)
def test_topologies_that_make_no_sense_are_not_measured(topology: dict[str, Any]) -> None:
    assert judged(("0-7", pages(0, 4)), topology=topology).status is Status.NOT_MEASURED


def test_sizes_that_make_no_sense_are_left_out() -> None:
    noted = {"bytes_by_node": {"1": "much", "0": -5, "a": 3, "7": True}, "moves": "often"}
    assert judged(("0-7", noted)).status is Status.NOT_MEASURED


def test_nodes_of_memory_alone_are_not_another_ranks() -> None:
    """Xeon Max in flat mode: the fast memory is nodes of its own, and is used on purpose."""
    topology = {"numa_nodes": 4, "numa": {"0": "0-7", "1": "8-15"}}
    fast = {"moves": 0, "bytes_by_node": {"0": GIB, "2": 9 * GIB}}
    assert judged(("0-7", fast), topology=topology).status is Status.PASS
    far = {"moves": 0, "bytes_by_node": {"0": GIB, "1": GIB, "2": 9 * GIB}}
    assert judged(("0-7", far), topology=topology).status is Status.FAIL


def test_one_node_with_cpus_beside_those_of_a_gpu() -> None:
    finding = judged(("0-71", None), topology={"numa_nodes": 9, "numa": {}})
    assert finding.status is Status.NOT_APPLICABLE


def test_moving_now_and_then_in_a_long_run_is_silent() -> None:
    ranks = [("0-15", pages(4, 0, moves=20))] * 2
    assert judged(*ranks, end_s=3600.0).status is Status.PASS
    assert judged(*ranks, end_s=60.0).status is Status.WARN
