"""Paraver traces of several applications, whose tasks and communicators count anew in each."""

from pathlib import Path
from typing import Any

from perfscope.matching.waits import split_operations
from perfscope.readers.paraver.reader import open_paraver
from perfscope.schema.enums import Status
from perfscope.trace.worlds import apart
from tests.findings.analyzed import analyze_trace
from tests.support.trace_invariants import check_trace


def test_each_application_has_communicators_of_its_own(tmp_path: Path) -> None:
    """Two applications of two tasks whose communicators have the same numbers, 1 and 2."""
    path = tmp_path / "two.prv"
    lines = ["#Paraver (01/02/2024 at 10:00):100000_ns:1(4):2:2(1:1,1:1),2:2(1:1,1:1),2"]
    for application in (1, 2):
        lines += [f"c:{application}:1:2:1:2", f"c:{application}:2:1:2"]
    lines += ["c:9:1:0"]  # of no application, and without tasks
    for application, task, begin, number in (
        *((1, 1, 10, 1), (1, 2, 12, 1), (2, 1, 50, 1), (2, 2, 54, 1)),
        *((1, 2, 20, 2), (2, 2, 60, 2), (2, 2, 66, 3)),
        *((1, 1, 30, 0), (1, 2, 32, 0), (2, 1, 80, 0), (2, 2, 84, 0)),
    ):
        where = f"2:1:{application}:{task}:1"
        named = f":50100004:{number}" if number else ""
        lines += [f"{where}:{begin}000:50000002:8{named}", f"{where}:{begin + 5}000:50000002:0"]
    path.write_text("\n".join([*lines, ""]))
    trace = open_paraver(path)
    check_trace(trace)
    assert [(one.members, one.parent) for one in trace.communicators] == [
        ((0, 1, 2, 3), -1),
        ((0, 1), 0),
        ((2, 3), 0),
        ((1,), 1),
        ((3,), 2),
    ]
    assert [rank.operations["comm"].tolist() for rank in trace.ranks] == [
        [1, 1],
        [1, 3, 1],
        [2, 2],
        [2, 4, -1, 2],
    ]
    assert [rank.operations["seq"].tolist() for rank in trace.ranks] == [
        [0, 1],
        [0, 0, 1],
        [0, 1],
        [0, 0, -1, 1],
    ]
    # each barrier is met by the other task of its application, 2 us and 4 us late
    waits = split_operations(trace)
    waited = (waits.need - waits.pool.enter)[waits.pool.comm == 1].tolist()
    assert waited == [2000, 2000, 0, 0]
    assert (waits.need - waits.pool.enter)[waits.pool.comm == 2].tolist() == [4000, 4000, 0, 0]


def test_ranks_of_different_applications_are_not_compared(tmp_path: Path) -> None:
    """Two applications; the tasks of one compute ten times as long as those of the other."""
    path = tmp_path / "apart.prv"
    lines = ["#Paraver (01/02/2024 at 10:00):100000000_ns:1(4):2:2(1:1,1:1),2:2(1:1,1:1),2"]
    lines += [f"c:{application}:1:2:1:2" for application in (1, 2)]
    for application, turn_ns in ((1, 1_000_000), (2, 10_000_000)):
        for task in (1, 2):
            where = f"2:1:{application}:{task}:1"
            for end in range(turn_ns, 90_000_001, turn_ns):
                called = f"{where}:{end}:50000002:10:50100004:1"
                lines += [called, f"{where}:{end + 50_000}:50000002:0"]
    path.write_text("\n".join([*lines, ""]))
    trace = open_paraver(path)
    assert trace.programs == ((0, 1), (2, 3))
    assert apart(trace) == 2
    assert any("holds 2 applications" in note for note in trace.notes)
    analyzed = analyze_trace(trace)
    for name in ("load_imbalance", "straggler", "transient_imbalance"):
        found = analyzed.findings[name]
        assert found.status is Status.NOT_MEASURED
        assert "2 programs" in found.summary
        assert "each program alone" in found.summary
    document: Any = analyzed.document()
    for name in ("parallel_efficiency", "load_balance", "communication_efficiency"):
        assert document["metrics"][name]["value"] is None
        assert "2 programs" in document["metrics"][name]["reason"]
    assert document["run"]["damage"][0]["id"] == "unequal_programs"
    assert document["verdict"]["sentence"].startswith("The trace holds 2 programs")


def test_applications_that_send_each_other_messages_are_one_job(tmp_path: Path) -> None:
    path = tmp_path / "coupled.prv"
    path.write_text(
        "#Paraver (01/02/2024 at 10:00):100000_ns:1(2):2:1(1:1),1(1:1),2\n"
        "2:1:1:1:1:10000:50000001:1\n2:1:1:1:1:20000:50000001:0\n"
        "2:1:2:1:1:15000:50000001:2\n2:1:2:1:1:25000:50000001:0\n"
        "3:1:1:1:1:10000:12000:1:2:1:1:15000:24000:8:1\n"
    )
    trace = open_paraver(path)
    assert trace.programs == ((0,), (1,))
    assert apart(trace) == 0
