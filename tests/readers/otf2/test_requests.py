"""Persistent and probed messages of OTF2 archives: every start and every receive is matched."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from perfscope.matching.waits import completed_requests, split_operations
from perfscope.readers.registry import open_trace
from perfscope.trace.model import PEER_PROC_NULL, PEER_UNKNOWN, Rank, Trace
from perfscope.trace.operations import code_of, name_of
from tests.support.otf2_archives import ArchiveWriter
from tests.support.trace_invariants import check_trace

MS = 1_000_000
MPI = {"role": 25, "paradigm": 4}
NO_MESSAGE = (1 << 64) - 1
Record = tuple[float, str, tuple[int, ...]]


class Archive:
    """An archive of two ranks that says that its records of messages are complete."""

    def __init__(self, directory: Path) -> None:
        complete = {"OTF2::MPI_COMMUNICATION_COMPLETE": "true"}
        self.writer = ArchiveWriter(directory, properties=complete)
        self.world = self.writer.ranks(2)
        self._regions: dict[str, int] = {}

    def call(self, rank: int, start: float, end: float, name: str, *records: Record) -> None:
        """A call, and what stands in it; times in ms."""
        if name not in self._regions:
            self._regions[name] = self.writer.region(f"MPI_{name}", **MPI)
        self.writer.event(rank, "Enter", round(start * MS), self._regions[name])
        for at, record, values in records:
            self.writer.event(rank, record, round(at * MS), *values)
        self.writer.event(rank, "Leave", round(end * MS), self._regions[name])

    def trace(self) -> Trace:
        """The archive as a trace."""
        found = open_trace(self.writer.close())
        check_trace(found)
        return found


def told(rank: Rank) -> list[tuple[Any, ...]]:
    """Name, begin and end in ms, partner, tag, bytes sent and received of each operation."""
    return [
        (
            *(name_of(row["op"])[4:], row["t0"] / MS, row["t1"] / MS),
            *(row["peer"], row["tag"], row["sent"], row["received"]),
        )
        for row in rank.operations
    ]


def waited_ms(trace: Trace, name: str) -> list[float]:
    """How long each call of a name waited for another rank."""
    waits = split_operations(trace)
    rows = waits.pool.op == code_of(name)
    assert np.all(waits.known[rows])
    return [float(ns) / MS for ns in (waits.need - waits.pool.enter)[rows]]


def test_every_message_of_a_startall_is_matched(tmp_path: Path) -> None:
    """Both ranks start a send and a receive at once, rank 1 always 2 ms later."""
    archive = Archive(tmp_path / "a")
    for rank in (0, 1):
        other = 1 - rank
        archive.call(rank, 0, 0.5, "Send_init")
        for at in (10 + 2 * rank, 20 + 2 * rank):
            archive.call(
                rank,
                at,
                at + 0.5,
                "Startall",
                (at + 0.1, "MpiIrecvRequest", (7,)),
                (at + 0.2, "MpiIsend", (other, archive.world, 3, 100 + rank, 8)),
            )
            end = (at // 10) * 10 + 5
            done = (end - 0.5, "MpiIrecv", (other, archive.world, 3, 100 + other, 7))
            archive.call(rank, at + 1, end, "Waitall", done, (end - 0.4, "MpiIsendComplete", (8,)))
    trace = archive.trace()
    assert told(trace.ranks[0])[:5] == [
        ("Send_init", 0, 0.5, -1, -1, 0, 0),
        ("Start_recv", 10, 10, 1, 3, 0, 101),
        ("Start_send", 10, 10, 1, 3, 100, 0),
        ("Startall", 10, 10.5, -1, -1, 0, 0),
        ("Waitall", 11, 15, -1, -1, 0, 0),
    ]
    for one in trace.ranks:
        alls = one.operations["op"] == code_of("MPI_Startall")
        assert one.operations["request"][alls].tolist() == [2, 2]
        assert len(one.completions) == 4
    waits = split_operations(trace)
    assert waits.messages.matched == 4
    assert waits.unmatched == {}
    assert np.all(np.stack(completed_requests(trace, waits.pool)) >= 0)
    # rank 0 waits from 11 for the send of rank 1 at 12
    assert waited_ms(trace, "MPI_Waitall") == [1, 1, 0, 0]


def test_a_single_start_is_the_message_that_it_starts(tmp_path: Path) -> None:
    archive = Archive(tmp_path / "a")
    archive.call(0, 1, 2, "Start", (1.5, "MpiIsend", (1, archive.world, 3, 64, 9)))
    archive.call(0, 3, 4, "Wait", (3.5, "MpiIsendComplete", (9,)))
    archive.call(1, 0, 0.5, "Start", (0.2, "MpiIrecvRequest", (9,)))
    archive.call(1, 0.6, 4, "Wait", (4, "MpiIrecv", (0, archive.world, 3, 64, 9)))
    # of a collective no more is known than that it was started
    archive.call(1, 5, 6, "Start", (5.5, "NonBlockingCollectiveRequest", (10,)))
    trace = archive.trace()
    assert told(trace.ranks[0])[0] == ("Start_send", 1, 2, 1, 3, 64, 0)
    assert [row[0] for row in told(trace.ranks[1])] == ["Start_recv", "Wait", "Start"]
    assert waited_ms(trace, "MPI_Wait") == [0, pytest.approx(0.4)]


@pytest.mark.parametrize("receives_first", [True, False])
def test_both_messages_of_an_isendrecv(tmp_path: Path, receives_first: bool) -> None:
    archive = Archive(tmp_path / "a")
    for rank in (0, 1):
        send: Record = (2.0, "MpiIsend", (1 - rank, archive.world, 3, 64, 5))
        post: Record = (2.0, "MpiIrecvRequest", (6,))
        records = (post, send) if receives_first else (send, post)
        archive.call(rank, 2, 3, "Isendrecv", *records)
        done = (4.0, "MpiIrecv", (1 - rank, archive.world, 3, 64, 6))
        archive.call(rank, 3, 4.5, "Waitall", (4, "MpiIsendComplete", (5,)), done)
    trace = archive.trace()
    assert told(trace.ranks[0])[:2] == [
        ("Irecv", 2, 2, 1, 3, 0, 64),
        ("Isendrecv", 2, 3, 1, 3, 64, 0),
    ]
    waits = split_operations(trace)
    assert (waits.messages.matched, waits.unmatched) == (2, {})
    assert np.all(np.stack(completed_requests(trace, waits.pool)) >= 0)


def test_what_a_probe_found_is_received_from_there(tmp_path: Path) -> None:
    """Each receive comes 1 ms before or 2 ms after its send; the archive's records are complete."""
    archive = Archive(tmp_path / "a")
    for at, tag in ((2, 1), (12, 2), (22, 3)):
        archive.call(0, at, at + 0.1, "Send", (at, "MpiSend", (1, archive.world, tag, 50 + tag)))
    archive.call(1, 1, 3, "Mprobe", (3, "MpiProbe", (0, archive.world, 1, 77)))
    archive.call(1, 4, 5, "Mrecv", (5, "MpiMrecv", (77, 51)))
    archive.call(1, 14, 15, "Improbe", (14.5, "MpiProbe", (0, archive.world, 2, 78)))
    archive.call(1, 15, 16, "Imrecv", (15.5, "MpiImrecvRequest", (78, 9)))
    archive.call(1, 17, 18, "Wait", (17.5, "MpiImrecv", (9, 52)))
    archive.call(1, 21, 23, "Probe", (23, "MpiProbe", (0, archive.world, 3, NO_MESSAGE)))
    archive.call(1, 24, 25, "Recv", (25, "MpiRecv", (0, archive.world, 3, 53)))
    trace = archive.trace()
    assert told(trace.ranks[1])[:2] == [("Mprobe", 1, 3, 0, 1, 0, 0), ("Mrecv", 4, 5, 0, 1, 0, 51)]
    assert told(trace.ranks[1])[3] == ("Imrecv", 15, 16, 0, 2, 0, 52)
    (done,) = trace.ranks[1].completions
    assert (done["peer"], done["tag"], done["received"], done["t0"]) == (0, 2, 52, 17.5 * MS)
    waits = split_operations(trace)
    assert (waits.messages.matched, waits.unmatched) == (3, {})
    assert waited_ms(trace, "MPI_Mprobe") == waited_ms(trace, "MPI_Probe") == [1]
    assert waited_ms(trace, "MPI_Mrecv") == [0]


def test_a_receive_of_what_no_probe_found_is_not_from_nobody(tmp_path: Path) -> None:
    archive = Archive(tmp_path / "a")
    archive.call(0, 1, 2, "Send")  # without a record: to MPI_PROC_NULL, the records are complete
    archive.call(1, 1, 2, "Mrecv", (2, "MpiMrecv", (77, 51)))
    archive.call(1, 3, 4, "Mrecv")
    trace = archive.trace()
    assert trace.ranks[0].operations["peer"].tolist() == [PEER_PROC_NULL]
    assert trace.ranks[1].operations["peer"].tolist() == [PEER_UNKNOWN, PEER_UNKNOWN]
    assert trace.ranks[1].operations["received"].tolist() == [51, 0]


def test_a_request_that_another_thread_started_is_told(tmp_path: Path) -> None:
    archive = Archive(tmp_path / "a")
    archive.call(0, 1, 2, "Send", (1, "MpiSend", (1, archive.world, 3, 64)))
    archive.call(1, 1, 4, "Wait", (4, "MpiIrecv", (0, archive.world, 3, 64, 9)))
    trace = archive.trace()
    assert any(
        "Ended on a thread that is not seen to start it: 1 request." in note for note in trace.notes
    )
    (done,) = trace.ranks[1].completions
    assert (done["request"], done["peer"]) == (0, PEER_UNKNOWN)
    waits = split_operations(trace)
    assert waits.unmatched == {"MPI_Send": 1}
    assert not np.any(waits.known[waits.pool.op == code_of("MPI_Wait")])
