"""Foreign traces of two hosts: whether their clocks let waiting be told from transfer."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from perfscope.document.quality import quality
from perfscope.matching.waits import Waits, split_operations
from perfscope.readers.paraver.reader import open_paraver
from perfscope.readers.registry import open_trace
from perfscope.schema.findings import QualityRow
from perfscope.trace.clocks import UNMEASURED, UNSTATED
from perfscope.trace.model import Trace
from perfscope.trace.operations import OperationClass
from tests.findings.analyzed import analyze_trace
from tests.support.otf2_archives import ArchiveWriter

US = 1_000
SKEW = 1_000 * US
MPI = {"role": 25, "paradigm": 4}
ROUNDS, PERIOD = 40, 10_000 * US


def archive(
    directory: Path, *, behind: int, measured: bool = False, hosts: tuple[str, str] = ("a", "b")
) -> Path:
    """Messages there and back, on two hosts of which the second's clock is behind.

    Each transfer takes 100 us, each receiver comes 1 ms before the message is sent.
    """
    writer = ArchiveWriter(directory)
    for rank, host in enumerate(hosts):
        writer.node(rank, host)
        writer.process(rank, f"MPI Rank {rank}", node=rank)
        writer.location(rank, "Master thread", rank)
        if measured:
            for moment in (0, ROUNDS * PERIOD):
                writer.clock(rank, moment, behind * rank)
    writer.group(4, [0, 1])
    world = writer.comm("MPI_COMM_WORLD", writer.group(5, [0, 1]))
    names = ("Send", "Recv", "Isend", "Irecv", "Wait")
    regions = {name: writer.region(f"MPI_{name}", **MPI) for name in names}

    def call(rank: int, start: int, end: int, name: str, *records: tuple[int, str, Any]) -> None:
        shift = PERIOD // 2 - behind * rank
        writer.event(rank, "Enter", start * US + shift, regions[name])
        for at, record, values in records:
            writer.event(rank, record, at * US + shift, *values)
        writer.event(rank, "Leave", end * US + shift, regions[name])

    for at in range(0, ROUNDS * PERIOD // US, PERIOD // US):
        call(0, at + 2000, at + 2010, "Send", (at + 2000, "MpiSend", (1, world, 1, 8)))
        call(1, at + 1000, at + 2100, "Recv", (at + 2100, "MpiRecv", (0, world, 1, 8)))
        call(0, at + 2020, at + 2030, "Irecv", (at + 2020, "MpiIrecvRequest", (at + 1,)))
        call(1, at + 4000, at + 4010, "Send", (at + 4000, "MpiSend", (0, world, 1, 8)))
        call(0, at + 3000, at + 4100, "Wait", (at + 4100, "MpiIrecv", (1, world, 1, 8, at + 1)))
    return writer.close()


def waited_us(waits: Waits, rank: int) -> float:
    """How long a rank waited for others."""
    rows = waits.of_rank(rank)
    return float((waits.need - waits.pool.enter)[rows][waits.known[rows]].sum()) / US


def clocks_row(trace: Trace) -> QualityRow:
    """What the report says about the clocks."""
    analyzed = analyze_trace(trace)
    rows = quality(analyzed.results, analyzed.replay)
    return next(row for row in rows if row.id == "clocks")


@pytest.mark.parametrize("behind", [SKEW, -SKEW])
def test_messages_that_arrive_before_they_were_sent(tmp_path: Path, behind: int) -> None:
    trace = open_trace(archive(tmp_path / "a", behind=behind))
    assert [rank.clock_domain for rank in trace.ranks] == [0, 1]
    assert {rank.clock_error_ns for rank in trace.ranks} == {UNMEASURED}
    waits = split_operations(trace)
    assert (waits.clocks.operations, waits.clocks.violations) == (2 * ROUNDS, ROUNDS)
    receives = waits.pool.is_of(OperationClass.RECV, OperationClass.WAIT)
    assert not np.any(waits.known[receives])
    row = clocks_row(trace)
    assert row.status.value == "warn"
    assert "of its 2 hosts agree: their times are used as recorded" in row.detail
    assert "not resolvable: 40 of 80 operations between hosts (50.0 %) end before" in row.detail


def test_clocks_that_nothing_contradicts_are_used_and_said_to_be_unmeasured(tmp_path: Path) -> None:
    trace = open_trace(archive(tmp_path / "a", behind=0))
    waits = split_operations(trace)
    assert [waited_us(waits, rank) for rank in (0, 1)] == [ROUNDS * 1000, ROUNDS * 1000]
    row = clocks_row(trace)
    assert (row.status.value, "not resolvable" in row.detail) == ("warn", False)


def test_measurements_of_the_clocks_bring_them_together(tmp_path: Path) -> None:
    trace = open_trace(archive(tmp_path / "a", behind=SKEW, measured=True))
    assert {rank.clock_error_ns for rank in trace.ranks} == {UNSTATED}
    waits = split_operations(trace)
    assert (waits.clocks.violations, waits.clocks.reason) == (0, "")
    assert [waited_us(waits, rank) for rank in (0, 1)] == [ROUNDS * 1000, ROUNDS * 1000]
    row = clocks_row(trace)
    assert (row.status.value, row.title) == (
        "info",
        "The clocks were corrected; the remaining error is unknown",
    )


def test_one_host_has_one_clock(tmp_path: Path) -> None:
    trace = open_trace(archive(tmp_path / "a", behind=0, hosts=("a", "a")))
    assert {(rank.clock_domain, rank.clock_error_ns) for rank in trace.ranks} == {(0, 0)}
    assert clocks_row(trace).title == "All ranks share one clock"


def test_barriers_of_two_nodes_in_a_paraver_trace(tmp_path: Path) -> None:
    """Barriers of 100 us; the second node's clock is 1 ms behind."""
    lines = ["#Paraver (01/02/2024 at 10:00):100000000_ns:2(1,1):1:2(1:1,1:2),1", "c:1:1:2:1:2"]
    for at in range(2_000, 40_000, 2_000):
        for task, start in ((1, at), (2, at - 1_000)):
            where = f"2:{task}:1:{task}:1"
            lines += [f"{where}:{start}000:50000002:8:50100004:1"]
            lines += [f"{where}:{start + 100}000:50000002:0"]
    path = tmp_path / "two.prv"
    path.write_text("\n".join([*lines, ""]))
    trace = open_paraver(path)
    assert [rank.clock_domain for rank in trace.ranks] == [0, 1]
    assert trace.environment["clock_domains"] == 2
    assert "19 of 38 operations between hosts" in split_operations(trace).clocks.reason
