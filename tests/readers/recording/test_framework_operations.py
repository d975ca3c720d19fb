"""Phase records of torch.distributed become matched operations with wait and transfer."""

from pathlib import Path

import pytest

from perfscope.document.endings import account_of_ends
from perfscope.metrics.compute import compute
from perfscope.metrics.results import Results
from perfscope.readers import open_recording
from perfscope.readers.recording.layout import NO_ID, HeaderFlag
from perfscope.schema.enums import PhaseKind
from perfscope.trace.model import Trace
from perfscope.trace.operations import code_of, name_of
from tests.support.trace_invariants import check_trace
from tests.support.write_recording import ProcessWriter, write_run

START_S = 0.5
"""`write_run` starts the command this long before the ranks."""

EXCHANGE = "torch.distributed.gradient_exchange"


def rank_process(rank: int, *, told: int | None = None) -> ProcessWriter:
    process = ProcessWriter(rank=rank, size=2, pid=100 + rank, flags=HeaderFlag.EXITED)
    process.header |= {"exit_ns": process.mono(10.0)}
    process.metadata = {
        "role": "rank",
        "pid": process.pid,
        "rank_environment": {"RANK": str(rank), "WORLD_SIZE": "2"},
        "frameworks": {"torch.distributed": {"rank": rank if told is None else told, "size": 2}},
    }
    return process


def call(
    process: ProcessWriter, operation: str, t0_s: float, t1_s: float, volume: str = "", **more: int
) -> None:
    """One collective as the agent writes it."""
    fields = {"seq": NO_ID, "tag": -1} | more
    name = f"torch.distributed\x1e{operation}\x1eworld\x1e" + (f"\x1e{volume}" if volume else "")
    process.phase(PhaseKind.COMMUNICATION, t0_s, t1_s, name, **fields)


def opened(directory: Path) -> Trace:
    """What processes wrote below a directory, as a trace that holds together."""
    write_run(directory)
    trace = open_recording(directory)
    check_trace(trace)
    return trace


def two_ranks(directory: Path, *, destroys: bool = True, told: int | None = None) -> Trace:
    """Rank 1 has its last gradients 20 ms later, twice; then rank 0 broadcasts."""
    for rank in (0, 1):
        process = rank_process(rank, told=told if rank else None)
        call(process, "init_process_group", 0.5, 1.0 + rank / 10)
        for step in (0, 1):
            process.step(step, 2.0 + step, 2.9 + step)
            call(process, "gradient_exchange", 2.5 + step + rank * 0.02, 2.53 + step, seq=step)
        call(process, "broadcast", 4.6 - rank, 4.7, seq=0, tag=0)
        if destroys:
            call(process, "destroy_process_group", 5.0 + rank, 7.0)
        process.write(directory)
    return opened(directory)


@pytest.fixture
def results(tmp_path: Path) -> Results:
    return compute(two_ranks(tmp_path))


def test_they_are_operations_and_no_phases(tmp_path: Path) -> None:
    trace = two_ranks(tmp_path)
    assert trace.notes == []
    for rank in trace.ranks:
        assert len(rank.phases) == 0
        assert [name_of(code) for code in rank.operations["op"].tolist()] == [
            EXCHANGE,
            EXCHANGE,
            "torch.distributed.broadcast",
        ]
        assert rank.totals[code_of(EXCHANGE)][0] == 2
        # The exchange counts its own ordinals: another communicator than that of other calls.
        assert len(set(rank.operations["comm"].tolist())) == 2


def test_focus_is_the_life_of_the_process_group(results: Results) -> None:
    start_s, end_s = results.focus.start_ns / 1e9, results.focus.end_ns / 1e9
    assert (start_s, end_s) == pytest.approx((1.1 + START_S, 6.0 + START_S))


def test_without_a_destroyed_group_the_focus_ends_with_the_work(tmp_path: Path) -> None:
    focus = compute(two_ranks(tmp_path, destroys=False)).focus
    assert focus.end_ns / 1e9 == pytest.approx(4.7 + START_S)


def test_exposed_time_is_split_at_the_slowest_ranks_last_gradient(results: Results) -> None:
    found = results.gradient_exchange
    assert found is not None
    assert found.exchanges == 2
    assert found.exposed_s.value == pytest.approx(0.03)
    assert found.wait_s_by_rank == pytest.approx((0.02, 0.0))
    assert found.transfer_s_by_rank == pytest.approx((0.01, 0.01))
    assert results.communication.unmatched == {}
    broadcast = results.communication.operations[0]
    assert broadcast.name == "torch.distributed.broadcast"
    # Rank 1 waits a second for the root.
    assert broadcast.wait_s == pytest.approx(1.0)
    assert broadcast.bytes_sent is None


def test_other_numbers_than_the_launchers_are_not_matched(tmp_path: Path) -> None:
    trace = two_ranks(tmp_path, told=0)
    assert any("numbers its ranks otherwise" in note for note in trace.notes)
    assert all(len(rank.operations) == 0 for rank in trace.ranks)
    assert compute(trace).gradient_exchange is None


@pytest.mark.parametrize("members", ["7", "0,0", "0,x", "99999999999"])
def test_groups_that_cannot_be_are_left_out(tmp_path: Path, members: str) -> None:
    process = rank_process(0)
    name = f"torch.distributed\x1eall_reduce\x1egroup\x1e{members}"
    process.phase(PhaseKind.COMMUNICATION, 1.0, 2.0, name, seq=0)
    process.write(tmp_path)
    trace = opened(tmp_path)
    assert len(trace.ranks[0].operations) == 0


def test_calls_that_overlap_are_left_out(tmp_path: Path) -> None:
    process = rank_process(0)
    call(process, "all_reduce", 1.0, 4.0, seq=0)
    call(process, "all_reduce", 2.0, 3.0, seq=1)
    call(process, "barrier", 3.5, 5.0, seq=2)
    process.write(tmp_path)
    trace = opened(tmp_path)
    assert trace.ranks[0].operations["seq"].tolist() == [1, 2]
    assert any("make no sense" in note for note in trace.notes)


def test_what_was_not_measured_says_why(tmp_path: Path) -> None:
    for rank in (0, 1):
        process = rank_process(rank)
        assert isinstance(process.metadata, dict)
        process.metadata["frameworks"]["fsdp"] = {"exposed_reason": "FSDP gathers all through"}
        process.write(tmp_path)
    write_run(tmp_path)
    found = compute(open_recording(tmp_path)).gradient_exchange
    assert found is not None
    assert (found.exposed_s.value, found.exposed_s.reason) == (None, "FSDP gathers all through")


@pytest.mark.parametrize("blocking_rank", [None, 1])
def test_asynchronous_calls_wait_for_the_rank_that_starts_last(
    tmp_path: Path, blocking_rank: int | None
) -> None:
    """Rank 1 starts half a second later; rank 0 stands in its wait for 0.4 s of it."""
    for rank in (0, 1):
        process = rank_process(rank)
        call(process, "init_process_group", 0.5, 1.0)
        if rank == blocking_rank:
            call(process, "all_reduce", 2.5, 2.7, volume="80:80", seq=0)
        else:
            start_s = 2.0 + rank / 2
            call(process, "all_reduce (async)", start_s, start_s, volume="80:80", seq=0)
            call(process, "wait", 2.1 + rank / 2, 2.7, seq=0)
        process.write(tmp_path)
    trace = opened(tmp_path)
    results = compute(trace)
    found = {operation.name: operation for operation in results.communication.operations}
    assert results.communication.unmatched == {}
    assert found["torch.distributed.wait"].wait_s == pytest.approx(0.4)
    started = found["torch.distributed.all_reduce (async)"]
    assert started.bytes_sent == 80 * (2 if blocking_rank is None else 1)
    assert len(trace.ranks[0].completions) == 1


def test_messages_wait_for_the_other_rank(tmp_path: Path) -> None:
    """Rank 0 sends twice; rank 1 comes 0.3 s later and then waits 0.5 s for the second one."""
    sender, receiver = rank_process(0), rank_process(1)
    for process in (sender, receiver):
        call(process, "init_process_group", 0.5, 1.0)
    call(sender, "send", 2.0, 2.35, volume="8000:0:3", seq=1 << 30, tag=1)
    call(receiver, "recv", 2.3, 2.35, volume="0:8000:3", seq=1 << 30, tag=0)
    call(sender, "isend", 3.0, 3.0, volume="16:0", seq=(1 << 30) + 1, tag=1)
    call(sender, "wait", 3.01, 3.1, seq=(1 << 30) + 1)
    call(receiver, "irecv", 2.4, 2.4, volume="0:16", seq=(1 << 30) + 1, tag=0)
    call(receiver, "wait", 2.5, 3.05, seq=(1 << 30) + 1)
    for process in (sender, receiver):
        process.write(tmp_path)
    trace = opened(tmp_path)
    results = compute(trace)
    found = {operation.name: operation for operation in results.communication.operations}
    assert found["torch.distributed.send"].wait_s == pytest.approx(0.3)
    assert found["torch.distributed.wait"].wait_s == pytest.approx(0.5)
    assert trace.ranks[0].operations["tag"].tolist() == [3, 0, 0]
    assert results.communication.unmatched == {}


@pytest.mark.parametrize("status", [256, 9])  # exit code 1, SIGKILL
@pytest.mark.parametrize(
    ("destroys", "command", "is_cut_short"), [(True, 0, False), (False, 0, True), (True, 1, True)]
)
def test_a_worker_that_its_job_takes_away_when_all_is_done_cuts_nothing_short(
    tmp_path: Path, status: int, destroys: bool, command: int, is_cut_short: bool
) -> None:
    """Ray ends its workers so: the command then tells whether the training ended well."""
    for rank in (0, 1):
        process = rank_process(rank)
        process.flags = HeaderFlag(0)
        call(process, "init_process_group", 0.5, 1.0)
        process.step(0, 2.0, 3.0)
        if destroys:
            call(process, "destroy_process_group", 5.0, 7.0)
        path = process.write(tmp_path)
        seen = f"{process.pid} {process.start_ticks} {status} {process.mono(10)}\n"
        (path.parent / f"{rank}.ends").write_text(seen)
    write_run(tmp_path, exit_code=command)
    trace = open_recording(tmp_path)
    assert bool(account_of_ends(trace)) is is_cut_short
    assert any(damage.id == "endings" for damage in compute(trace).damage) is is_cut_short


def horovod_ranks(directory: Path, *, reason: str | None = None) -> Trace:
    """Two ranks of Horovod over gloo, of which rank 1 comes 30 ms later, twice."""
    for rank in (0, 1):
        process = rank_process(rank)
        told = {"rank": rank, "size": 2, "exposed_reason": reason}
        assert isinstance(process.metadata, dict)
        process.metadata["frameworks"] = {"horovod": told}
        for operation, t0_s, t1_s, ordinal in (
            ("init_process_group", 0.5, 1.0, NO_ID),
            ("exposed", 2.0 + rank * 0.03, 2.05, 0),
            ("exposed", 3.0 + rank * 0.03, 3.05, 1),
        ):
            name = f"horovod\x1e{operation}\x1eworld\x1e"
            process.phase(PhaseKind.COMMUNICATION, t0_s, t1_s, name, seq=ordinal, tag=-1)
        process.step(0, 1.5, 2.5)
        process.step(1, 2.5, 3.5)
        process.write(directory)
    return opened(directory)


def test_waits_for_horovod_over_gloo_are_matched(tmp_path: Path) -> None:
    results = compute(horovod_ranks(tmp_path))
    (row,) = results.communication.operations
    assert results.communication.unmatched == {}
    assert (row.name, row.calls) == ("Horovod (exposed)", 4)
    assert row.wait_s == pytest.approx(0.06)
    assert row.transfer_s == pytest.approx(0.08)
    assert row.bytes_sent is None


def test_waits_for_horovod_that_do_not_tell_all_are_none(tmp_path: Path) -> None:
    trace = horovod_ranks(tmp_path, reason="some exchange is not told")
    assert all(len(rank.operations) == len(rank.phases) == 0 for rank in trace.ranks)
