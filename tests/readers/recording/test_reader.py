"""A recording is read as it was written, and what is wrong with it is said."""

import json
from pathlib import Path

import numpy as np
import pytest

from perfscope.errors import UnreadableInputError
from perfscope.readers import open_recording, open_trace
from perfscope.readers.recording.layout import NO_ID, HeaderFlag, RecordKind, SampleKind
from perfscope.schema.enums import EndKind, PhaseKind
from perfscope.trace.model import RowFlag, Trace
from tests.support.trace_invariants import check_trace
from tests.support.write_recording import REAL_START_NS, ProcessWriter, two_ranks, write_run

SECOND = 10**9
ORIGIN_S = 0.5
"""`write_run` starts the command this long before the ranks."""


def read(directory: Path) -> Trace:
    trace = open_recording(directory)
    check_trace(trace)
    return trace


def one_rank(directory: Path, **header: int) -> ProcessWriter:
    """A rank that has been given nothing to do yet."""
    process = ProcessWriter(rank=0, size=1)
    process.communicator(0, 5, [0])
    process.header |= {"exit_ns": process.mono(10.0)} | header
    write_run(directory, launcher={"kind": "direct"}, ranks_requested=None)
    return process


@pytest.mark.parametrize(
    ("told", "expected"), [({"hz": 50.0, "cpu_ns": 3000}, 5000), ({"cpu_ns": -1}, 2000), ([], 2000)]
)
def test_what_looking_at_stacks_costs_is_a_cost_of_recording(
    tmp_path: Path, told: object, expected: int
) -> None:
    process = one_rank(tmp_path, sampler_cpu_ns=2000)
    process.metadata = {"stack_sampler": told}
    process.write(tmp_path)
    assert read(tmp_path).ranks[0].sampler_cpu_ns == expected


def test_a_healthy_recording(tmp_path: Path) -> None:
    two_ranks(tmp_path)
    trace = read(tmp_path)
    assert trace.notes == []
    assert (trace.world_size, len(trace.ranks), trace.missing_ranks) == (2, 2, [])
    assert trace.command == ("mpirun", "-n", "2", "python", "train.py")
    assert trace.launcher == "mpirun (MPICH)"
    assert trace.exit_code == 0
    assert trace.origin_unix_ns == REAL_START_NS - 500_000_000
    assert trace.wall_ns == round(20.5 * SECOND)
    first, second = trace.ranks
    assert first.ending.kind is EndKind.FINALIZED
    assert (first.start_ns, first.end_ns) == (500_000_000, 9_500_000_000)
    assert second.init_exit_ns == 1_600_000_000
    assert second.finalize_enter_ns == 8_500_000_000
    allreduce = second.operations[second.operations["op"] == 53]
    assert allreduce["t0"].tolist() == [2_750_000_000, 3_750_000_000, 4_750_000_000]
    assert allreduce["seq"].tolist() == [0, 1, 2]
    assert allreduce["comm"].tolist() == [0, 0, 0]
    assert allreduce["sent"].tolist() == [80, 80, 80]
    assert first.totals[53] == (3, 900_000_000, 240, 240)
    assert second.phases["kind"].tolist() == [PhaseKind.EVALUATE]
    assert trace.names[second.phases["name"][0]] == "validation"
    assert second.phases["step"].tolist() == [3]
    assert first.steps["samples"].tolist() == [32]
    assert first.metrics["value"].tolist() == [0.5]
    assert len(first.process_samples) == len(first.stacks) == 80
    stack = trace.stacks[first.stacks["stack"][0]]
    assert [trace.frames[i].function for i in stack] == ["<module>", "train"]
    assert trace.frames[stack[-1]].line == 30
    assert open_trace(tmp_path).world_size == 2


def test_open_intervals_end_with_the_process(tmp_path: Path) -> None:
    process = one_rank(tmp_path, alive_ns=0, exit_ns=0)
    process.flags = HeaderFlag.MPI
    process.op("MPI_Barrier", 2.0, 3.0)
    process.op("MPI_Barrier", 5.0, None)
    process.phase(PhaseKind.CHECKPOINT, 4.0, None)
    process.header["alive_ns"] = process.mono(7.0)
    process.write(tmp_path)
    write_run(tmp_path, launcher={"kind": "mpirun"}, ranks_requested=1)
    rank = read(tmp_path).ranks[0]
    assert rank.end_ns == 7_500_000_000
    assert rank.operations["t1"].tolist() == [3_500_000_000, 7_500_000_000]
    assert rank.operations["flags"].tolist() == [0, RowFlag.OPEN]
    assert rank.phases["t1"].tolist() == [7_500_000_000]
    assert rank.ending.kind is EndKind.UNKNOWN


def test_rows_that_cannot_be_are_left_out_and_counted(tmp_path: Path) -> None:
    process = one_rank(tmp_path)
    process.op("MPI_Barrier", 2.0, 3.0)
    process.op("MPI_Barrier", 5.0, 4.0)
    process.op("MPI_Barrier", -1.0, 1.0)
    process.op("MPI_Barrier", 2.5, 6.0)
    process.record(RecordKind.OPERATION, 250, 6.0, 7.0)
    process.record(99, 1, 6.0, 7.0)
    process.record(RecordKind.PHASE, 77, 6.0, 7.0)
    process.record(RecordKind.STACK, 0, 6.0, 6.0, comm=12345)
    process.record(RecordKind.NONE, 0, 6.0, 6.0)
    process.op("MPI_Barrier", 7.0, 8.0, comm=9, peer=44)
    process.totals.clear()
    process.write(tmp_path)
    trace = read(tmp_path)
    rank = trace.ranks[0]
    notes = " ".join(trace.notes)
    assert rank.operations["t0"].tolist() == [3_000_000_000, 7_500_000_000]
    assert rank.operations["comm"].tolist() == [0, -1]
    assert "2 records left out: with impossible times" in notes
    assert "1 record left out: that overlap the next call" in notes
    assert "1 record left out: of an unknown operation" in notes
    assert "1 record left out: of an unknown kind" in notes
    assert "1 record left out: of an unknown phase" in notes
    assert "1 record left out: samples of an unknown stack" in notes
    assert "1 record left out: slots that were never completed" in notes
    assert "1 record with an unknown communicator; their time is counted" in notes
    assert "1 record with an unknown peer; their time is counted" in notes


def test_a_call_that_swallows_others_goes_not_the_others(tmp_path: Path) -> None:
    process = one_rank(tmp_path)
    process.op("MPI_Barrier", 1.0, 9.0)
    for second in (2, 3, 4):
        process.op("MPI_Barrier", second, second + 0.5)
    process.write(tmp_path)
    rank = read(tmp_path).ranks[0]
    assert rank.operations["t0"].tolist() == [2_500_000_000, 3_500_000_000, 4_500_000_000]


def test_claims_that_the_file_does_not_keep(tmp_path: Path) -> None:
    process = one_rank(tmp_path, claimed=2**40, capacity=2**41)
    process.op("MPI_Barrier", 1.0, 2.0)
    path = process.write(tmp_path)
    trace = read(tmp_path)
    assert len(trace.ranks[0].operations) == 1
    assert any("cut off" in note for note in trace.notes)
    process.header |= {"claimed": 0}
    process.write(tmp_path)
    trace = read(tmp_path)
    assert len(trace.ranks[0].operations) == 1
    assert any("more records than its header says" in note for note in trace.notes)
    assert path.exists()


def test_dropped_detail_is_told_and_totals_stay(tmp_path: Path) -> None:
    process = one_rank(tmp_path, dropped=41, capacity=1)
    process.op("MPI_Barrier", 1.0, 2.0)
    process.totals[50] = [42, 42 * SECOND // 10, 0, 0]
    process.header["first_drop_ns"] = process.mono(3.0)
    process.flags |= HeaderFlag.SIZE_LIMIT
    process.write(tmp_path)
    trace = read(tmp_path)
    rank = trace.ranks[0]
    assert rank.detail_end_ns == 3_500_000_000
    assert rank.dropped_records == 41
    assert rank.totals[50][0] == 42
    assert any("41 records were dropped because the size limit" in note for note in trace.notes)


def test_totals_that_cannot_be_true_come_from_the_records(tmp_path: Path) -> None:
    process = one_rank(tmp_path)
    process.op("MPI_Barrier", 1.0, 2.0)
    process.totals[50] = [1, 2**62, 0, 0]
    process.totals[53] = [0, 0, 0, 2**63]
    process.write(tmp_path)
    trace = read(tmp_path)
    assert trace.ranks[0].totals == {50: (1, SECOND, 0, 0)}
    assert any("totals of 2 operations" in note for note in trace.notes)


@pytest.mark.parametrize(
    ("total", "expected"),
    [
        ([1, SECOND, 80, 0], (1, SECOND, 80, 0)),
        ([1, SECOND // 2, 80, 0], None),
        ([1, 2 * SECOND, 80, 0], None),
        ([1, SECOND, 800, 0], None),
        ([1, SECOND, 80, 7], None),
        ([0, 0, 0, 0], None),
        ([2, SECOND // 2, 80, 0], None),
        ([5, 3 * SECOND, 400, 0], (5, 3 * SECOND, 400, 0)),
    ],
)
def test_totals_agree_with_the_records(
    tmp_path: Path, total: list[int], expected: tuple[int, int, int, int] | None
) -> None:
    """More calls than records there may be, because detail can be left out; less there cannot."""
    process = one_rank(tmp_path)
    process.op("MPI_Allreduce", 1.0, 2.0, sent=80)
    (code,) = process.totals
    process.totals[code] = total
    process.write(tmp_path)
    trace = read(tmp_path)
    assert trace.ranks[0].totals == {code: expected or (1, SECOND, 80, 0)}
    told = [note for note in trace.notes if "totals" in note]
    assert len(told) == (expected is None)
    assert all("MPI_Allreduce" in note and "100-5000.rec" in note for note in told)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("start_mono_ns", -5),
        ("end_mono_ns", 1),
        ("end_mono_ns", 2**63),
        ("end_mono_ns", "soon"),
        ("start_unix_ns", 0.5),
        ("ranks_requested", 0),
        ("ranks_requested", 10**9),
        ("exit_code", 4000),
        ("exit_code", [1]),
        ("signal", -9),
    ],
)
def test_what_cannot_be_true_of_the_run_is_named_and_not_used(
    tmp_path: Path, name: str, value: object
) -> None:
    two_ranks(tmp_path)
    write_run(tmp_path, **{name: value})
    trace = read(tmp_path)
    told = f"run.json: values that cannot be true are not used ({name})."
    assert told in trace.notes
    assert 0 < trace.wall_ns < 100 * SECOND


def test_a_missing_rank(tmp_path: Path) -> None:
    two_ranks(tmp_path)[1].unlink()
    trace = read(tmp_path)
    assert trace.missing_ranks == [1]


def test_missing_companions(tmp_path: Path) -> None:
    two_ranks(tmp_path)
    (tmp_path / "node0" / "100-5000.def").unlink()
    (tmp_path / "node0" / "101-5000.json").unlink()
    (tmp_path / "run.json").unlink()
    trace = read(tmp_path)
    notes = " ".join(trace.notes)
    assert "run.json is missing" in notes
    assert "100-5000.def: the definitions cannot be read" in notes
    assert np.all(trace.ranks[0].operations["comm"] == -1)
    assert len(trace.ranks[0].stacks) == 0
    assert trace.exit_code is None
    assert trace.wall_ns == 9 * SECOND


@pytest.mark.parametrize("content", ["", "[1]", "{", "\udcff", '{"schema": 7}'])
def test_broken_run_file(tmp_path: Path, content: str) -> None:
    two_ranks(tmp_path)
    (tmp_path / "run.json").write_bytes(content.encode("utf-8", "surrogateescape"))
    trace = read(tmp_path)
    assert any("run.json" in note for note in trace.notes)


@pytest.mark.parametrize(
    ("noted", "kills"),
    [
        ({"of": "group", "start": 2, "end": 5}, {"node0": 3}),
        ({"of": "host", "start": 2, "end": 2}, {}),
        ({"of": "host", "start": 2, "end": None}, {}),
        ({"of": "host", "start": "2", "end": 1 << 70}, {}),
        (None, {}),
    ],
)
def test_processes_ended_for_want_of_memory(
    tmp_path: Path, noted: object, kills: dict[str, int]
) -> None:
    two_ranks(tmp_path)
    write_run(tmp_path, oom_kills=noted)
    assert read(tmp_path).environment["oom_kills"] == kills


@pytest.mark.parametrize("damage", [b"", b"PERFSCP2", b"PERFSCP1\x07\0\0\0", b"\0" * 70000])
def test_unreadable_process_files(tmp_path: Path, damage: bytes) -> None:
    broken, healthy = two_ranks(tmp_path)
    content = bytearray(broken.read_bytes())
    content[: len(damage)] = damage
    broken.write_bytes(bytes(content) if damage else b"")
    trace = read(tmp_path)
    assert trace.missing_ranks == [0]
    assert any("100-5000.rec cannot be read" in note for note in trace.notes)
    healthy.unlink()
    with pytest.raises(UnreadableInputError) as raised:
        open_recording(tmp_path)
    assert "None of the 1 recordings" in raised.value.what


def test_another_version_says_so(tmp_path: Path) -> None:
    process = one_rank(tmp_path, version=2)
    process.write(tmp_path)
    with pytest.raises(UnreadableInputError) as raised:
        open_recording(tmp_path)
    assert "version 2" in raised.value.why
    assert "recorded it" in raised.value.action


def test_nothing_there(tmp_path: Path) -> None:
    with pytest.raises(UnreadableInputError, match="no recording"):
        open_recording(tmp_path / "absent")
    with pytest.raises(UnreadableInputError, match="nothing at"):
        open_trace(tmp_path / "absent")
    with pytest.raises(UnreadableInputError, match="not a trace"):
        open_trace(tmp_path)
    write_run(tmp_path, exit_code=127)
    with pytest.raises(UnreadableInputError) as raised:
        open_trace(tmp_path)
    assert "exit code 127" in raised.value.why


def test_two_hosts_are_aligned_by_their_wall_clocks(tmp_path: Path) -> None:
    for rank, boot in ((0, "11111111-2222-3333-4444-555555555555"), (1, "other")):
        process = ProcessWriter(rank=rank, size=2, host=f"node{rank}", boot_id=boot)
        process.communicator(0, 5, [0, 1])
        process.op("MPI_Barrier", 1.0, 2.0, comm=1 + rank)
        process.communicator(1 + rank, 8 + rank, [rank], parent=0)
        process.header["exit_ns"] = process.mono(5.0)
        if rank:
            process.header["real0_ns"] = REAL_START_NS + 3 * SECOND
        process.write(tmp_path)
    write_run(tmp_path)
    trace = read(tmp_path)
    first, second = trace.ranks
    assert second.operations["t0"][0] - first.operations["t0"][0] == 3 * SECOND
    assert (first.clock_error_ns, first.clock_offset_ns) == (0, 0)
    assert second.clock_error_ns == SECOND
    assert second.clock_offset_ns == 3 * SECOND
    assert any("not by measurement" in note for note in trace.notes)


def test_samples_and_threads(tmp_path: Path) -> None:
    process = one_rank(tmp_path, cgroup_cpu_quota_us=1_500_000, cgroup_memory_limit=1 << 30)
    process.sample(SampleKind.PROCESS, 1.0, sent=7, received=8, request=9, peer=3, tag=2)
    process.sample(SampleKind.PROCESS, 1.5, sent=7, received=8, request=9, peer=3, tag=0, seq=1)
    process.sample(SampleKind.SYSTEM, 1.0, sent=1, received=2, request=3, seq=4, comm=5, tag=6)
    process.sample(SampleKind.NODE, 1.0, sent=10, received=20, request=30, peer=4)
    process.define(5, 0, b"0-1")
    process.define(6, 0, b"detail stopped")
    process.write(tmp_path)
    trace = read(tmp_path)
    rank = trace.ranks[0]
    at = 1_500_000_000
    assert rank.process_samples.tolist() == [
        (at, 7, 8, 9, 3, 2, -1),  # an older recording: not known
        (at + 500_000_000, 7, 8, 9, 3, 0, 1),
    ]
    assert rank.system_samples.tolist() == [(at, 1, 2, 3, 4, 5, 6)]
    assert rank.node_samples.tolist() == [(at, 10, 20, 30, 4)]
    assert (rank.cgroup_cpus, rank.cgroup_memory_bytes) == (1.5, 1 << 30)
    assert rank.cpus_allowed == "0-1"
    assert "detail stopped" in trace.notes


def test_wide_ids_and_requests(tmp_path: Path) -> None:
    process = one_rank(tmp_path)
    process.op("MPI_Irecv", 1.0, 1.1, comm=0, peer=0, tag=4, request=17)
    process.op("MPI_Wait", 2.0, 3.0)
    process.record(
        RecordKind.COMPLETION, 21, 2.9, 2.9, comm=0, peer=0, tag=4, received=64, request=17
    )
    process.record(RecordKind.COMPLETION, 21, 2.9, 2.9, comm=NO_ID, request=0)
    process.write(tmp_path)
    rank = read(tmp_path).ranks[0]
    assert rank.operations["seq"].tolist() == [-1, -1]
    assert rank.completions["request"].tolist() == [17]


def test_environment_of_the_run(tmp_path: Path) -> None:
    two_ranks(tmp_path)
    metadata = {
        "schema": 1,
        "role": "rank",
        "rank_environment": {"PMI_RANK": "0"},
        "versions": {"numpy": "2.0"},
        "topology": {"sockets": 1},
    }
    (tmp_path / "node0" / "100-5000.json").write_text(json.dumps(metadata))
    trace = read(tmp_path)
    assert trace.environment["versions"] == {"numpy": "2.0"}
    assert trace.environment["topology"] == {"node0": {"sockets": 1}}
    assert trace.environment["hosts"] == ["node0"]
