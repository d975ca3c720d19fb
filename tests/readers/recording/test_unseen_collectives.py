"""Collectives that only PyTorch's flight recorder or NCCL has seen, of ranks with known moments."""

from pathlib import Path

import pytest

from perfscope.readers import open_recording
from perfscope.schema.enums import PhaseKind
from perfscope.schema.other_tools import ToolReport
from perfscope.trace.model import Trace
from tests.readers.recording.test_framework_operations import call, rank_process
from tests.support.write_recording import write_run


def two_ranks(directory: Path, **told: int) -> Trace:
    """Rank 1 hands over 30, 20 and 10 ms after rank 0, and a fourth one that rank 0 never does."""
    for rank in (0, 1):
        process = rank_process(rank)
        frameworks = {"torch.distributed": {"rank": rank, "size": 2, "flight_recorder": told}}
        process.metadata = {**(process.metadata or {}), "frameworks": frameworks}
        call(process, "barrier", 1.0, 1.2, seq=0)
        name = "torch.flight\x1eall_reduce (async)\x1eworld\x1e\x1e4000:4000"
        for number in range(3 + rank):
            at_s = 2.0 + number + rank * (0.03 - number / 100)
            process.phase(PhaseKind.COMMUNICATION, at_s, at_s, name, seq=number + 7, tag=-1)
        process.write(directory)
    write_run(directory)
    return open_recording(directory)


def only_report(trace: Trace) -> ToolReport:
    (report,) = trace.tool_reports
    return report


def test_calls_bytes_and_lateness_are_told_and_enter_no_efficiency(tmp_path: Path) -> None:
    trace = two_ranks(tmp_path)
    ((*told, late_s, last),) = only_report(trace).tables[0].rows
    assert told == ["world", "all_reduce", 3.5, 14000, None, None]
    assert late_s == pytest.approx(0.02)  # the fourth one is of one rank alone
    assert last == "rank 1 (100.0 %)"
    assert all(len(rank.phases) == 0 and len(rank.operations) == 1 for rank in trace.ranks)
    (said,) = only_report(trace).says
    assert "Rank 1 handed 4 collectives" in said


def test_numbers_that_one_rank_has_twice_say_nothing_of_who_was_late(tmp_path: Path) -> None:
    name = "torch.flight\x1eall_reduce (async)\x1eworld\x1e\x1e8:8"
    for rank, numbers in enumerate(((1, 1, 2), (2,))):  # a group that was made anew counts anew
        process = rank_process(rank)
        for place, number in enumerate(numbers):
            at_s = 1.0 + place + 0.5 * rank
            process.phase(PhaseKind.COMMUNICATION, at_s, at_s, name, seq=number, tag=-1)
        process.write(tmp_path)
    write_run(tmp_path)
    ((*_, late_s, last),) = only_report(open_recording(tmp_path)).tables[0].rows
    assert late_s == pytest.approx(1.5)
    assert last == "rank 0 (100.0 %)"


def test_what_could_not_be_read_is_said(tmp_path: Path) -> None:
    says = only_report(two_ranks(tmp_path, lost=3, messages=1)).says
    assert [said.split()[0] for said in says[1:]] == ["6", "2"]  # of both ranks


def test_one_rank_is_late_for_nobody(tmp_path: Path) -> None:
    process = rank_process(0)
    name = "torch.flight\x1ebroadcast (async)\x1e3\x1e0,1\x1e8:8"
    process.phase(PhaseKind.COMMUNICATION, 1.0, 1.0, name, seq=1, tag=-1)
    process.write(tmp_path)
    write_run(tmp_path)
    ((*_, late_s, last),) = only_report(open_recording(tmp_path)).tables[0].rows
    assert (late_s, last) == (None, None)


def test_time_on_the_device_beyond_the_last_ranks_is_waiting(tmp_path: Path) -> None:
    for rank in (0, 1):
        process = rank_process(rank)
        name = "nccl\x1eAllReduce\x1e2 ranks (abc)\x1e\x1e4000:4000"
        for number in range(4):
            # rank 1 comes 3 ms later, and both end together
            begin_s = 1.0 + number + rank * 0.003
            process.phase(PhaseKind.COMMUNICATION, begin_s, 1.005 + number, name, seq=number, tag=0)
        process.write(tmp_path)
    write_run(tmp_path)
    report = only_report(open_recording(tmp_path))
    ((group, operation, calls, sent, spent_s, waited_s, late_s, last),) = report.tables[0].rows
    assert (group, operation, calls, sent) == ("2 ranks (abc)", "AllReduce", 4, 16000)
    assert (spent_s, waited_s) == pytest.approx((4 * (0.005 + 0.002) / 2, 4 * 0.003 / 2))
    assert late_s == pytest.approx(0.003)
    assert last == "rank 1 (100.0 %)"
    assert report.says[0].startswith("NCCL's kernels ran 20.0 ms on rank 0")
