"""Standing still for files: told from waiting for ranks, and from writing in the background."""

import re
from typing import Any

import pytest

from perfscope.findings.core.finding import Finding
from perfscope.metrics.results import Options
from perfscope.schema.enums import Basis, PhaseKind, Status
from tests.findings.analyzed import Analyzed, analyze_trace
from tests.support.trace_builder import TraceBuilder


def run(
    *,
    blocked_every: int = 0,
    until: int = 210,
    runnable: int = 0,
    kind: PhaseKind | None = PhaseKind.INPUT,
    communicating: bool = False,
    file_systems: list[dict[str, Any]] | None = None,
    faults: int = 7,
    read_bytes: int = 5 << 30,
) -> Analyzed:
    """Two ranks for 20 s, sampled 10 times a second.

    Every k-th sample of rank 1 is blocked, up to a tick.
    """
    builder = TraceBuilder(2, end_s=22.0)
    for number in (0, 1):
        rank = builder.rank(number).init(1.0)
        if communicating:
            rank.op("MPI_Recv", 1.0, 21.0, peer=1 - number)
        elif kind is not None:
            rank.phase(kind, 1.0, 21.0)
        rank.finalize(21.0).set(metadata={"file_systems": file_systems or []})
        for tick in range(10, 210):
            stops = number == 1 and tick < until and blocked_every and tick % blocked_every == 0
            rank.process_sample(
                tick / 10 + 0.05,
                cpu_s=tick / 10,
                threads=2,
                runnable=runnable if stops else 1,
                blocked=1 if stops else 0,
            )
        rank.system_sample(1.0).system_sample(
            20.0, read_bytes=read_bytes, written_bytes=1 << 20, major_faults=faults
        )
    return analyze_trace(builder.build())


def judged(**plan: Any) -> Finding:
    return run(**plan).findings["io_bound"]


def test_names_the_rank_the_part_and_the_seconds() -> None:
    finding = judged(blocked_every=4, file_systems=[{"mount": "/scratch", "type": "lustre"}])
    assert finding.status is Status.FAIL
    assert finding.ranks == (1,)
    assert finding.title == "Rank 1 stalls on file I/O for 25.0 % of the analyzed window"
    assert "5.00 s of it while it waits for input" in finding.summary
    assert "lustre" in finding.summary
    assert finding.gain_s is None  # samples alone: no seconds are claimed
    assert "lfs setstripe" in finding.actions[1]


def test_the_metric_counts_samples() -> None:
    files = run(blocked_every=4).results.resources.files
    assert files[0].stalled_s == 0.0
    assert files[1].stalled_s == pytest.approx(5.0)
    assert [a.value for a, _ in files[1].stalled_by_account] == ["input_wait"]
    assert (files[1].read_bytes, files[1].major_faults) == (5 << 30, 7)


def test_a_little_is_a_warning_and_less_is_silent() -> None:
    assert judged(blocked_every=10).status is Status.WARN
    assert judged(blocked_every=40).status is Status.PASS
    assert judged().status is Status.PASS


def test_programs_that_are_read_once_are_told_of() -> None:
    """The first 5 s, the same in phases, and as much until later."""
    once = judged(blocked_every=1, until=60, kind=None)
    assert once.status is Status.INFO
    assert once.title == "Rank 1 stalls on file I/O for 25.0 % of the analyzed window, at the start"
    assert judged(blocked_every=1, until=60).status is Status.FAIL
    assert judged(blocked_every=4, until=190, kind=None).status is Status.FAIL


def test_a_rank_that_reads_programs_hides_no_other() -> None:
    """5 s of the first 10 on rank 0; 4 s of all 20 on rank 1."""
    builder = TraceBuilder(2, end_s=22.0)
    for number in (0, 1):
        rank = builder.rank(number).init(1.0).finalize(21.0)
        for tick in range(10, 210):
            stops = tick < 60 if number == 0 else tick % 5 == 0
            runs = 0 if stops else 1
            rank.process_sample(tick / 10 + 0.05, threads=2, runnable=runs, blocked=1 - runs)
    finding = analyze_trace(builder.build()).findings["io_bound"]
    assert (finding.status, finding.ranks) == (Status.FAIL, (1,))


def test_a_part_of_a_run_begins_nothing() -> None:
    """The same samples, in a window of the run that the user chose."""
    builder = TraceBuilder(1, end_s=60.0)
    rank = builder.rank(0)
    for tick in range(10, 590):
        stops = 300 <= tick < 340
        rank.process_sample(tick / 10, threads=2, runnable=0 if stops else 1, blocked=int(stops))
    trace = builder.build()
    assert analyze_trace(trace).findings["io_bound"].status is not Status.INFO
    window = Options(focus="30:50")
    assert analyze_trace(trace, window).findings["io_bound"].status is Status.FAIL


def test_writing_in_the_background_while_others_run_is_silent() -> None:
    assert judged(blocked_every=2, runnable=1).status is Status.PASS


def test_waiting_in_communication_is_silent() -> None:
    assert judged(blocked_every=2, communicating=True).status is Status.PASS


def test_a_local_disk_is_not_told_to_be_striped() -> None:
    finding = judged(blocked_every=4, file_systems=[{"mount": "/", "type": "ext4"}])
    assert not any("lfs" in action for action in finding.actions)
    assert "/dev/shm" in finding.actions[0]


READ = [("main", "/job/train.py", 5), ("read_shard", "/job/train.py", 39)]
LEARN = [("main", "/job/train.py", 5), ("learn", "/job/train.py", 44)]


def stalling(*, read_every: int, phase: PhaseKind | None = None) -> Finding:
    """A rank that stands still in each second tick; in every k-th of these it reads."""
    builder = TraceBuilder(1, end_s=22.0)
    rank = builder.rank(0)
    if phase is not None:
        rank.phase(phase, 1.0, 7.0)
    for tick in range(10, 210):
        stops = tick % 2 == 0
        reads = stops and tick // 2 % read_every == 0
        rank.process_sample(tick / 10, threads=2, runnable=0 if stops else 1, blocked=int(stops))
        rank.stack(tick / 10 + 0.01, READ if reads else LEARN)
    return analyze_trace(builder.build()).findings["io_bound"]


def test_the_function_in_which_a_rank_stands_still_is_named() -> None:
    finding = stalling(read_every=1)
    assert ", mainly in read_shard() (train.py:39). It read" in finding.summary
    assert [frame.function for frame in finding.where] == ["read_shard"]
    told = {row.label: row.value for row in finding.evidence}
    assert told["Seen in read_shard() (train.py:39)"] == "100 of 100 samples"


def test_beside_the_function_of_most_moments_no_other_is_named() -> None:
    finding = stalling(read_every=3)
    assert ", mainly in learn() (train.py:44). It read" in finding.summary
    assert [frame.function for frame in finding.where] == ["learn"]
    assert not any("read_shard" in row.label for row in finding.evidence)


def test_a_part_of_the_run_with_less_than_the_rest_is_not_told_as_the_main_one() -> None:
    """3 s in an input phase, and 7 s outside any."""
    summary = stalling(read_every=1, phase=PhaseKind.INPUT).summary
    assert "while it waits for input" not in summary
    assert "read_shard()" in summary


def test_the_function_of_marked_file_phases_is_named() -> None:
    builder = TraceBuilder(1, end_s=32.0)
    rank = builder.rank(0).init(1.0)
    for step in range(30):
        begin = 1.0 + step
        rank.phase(PhaseKind.IO, begin, begin + 0.4).stack(begin + 0.2, READ)
        rank.stack(begin + 0.7, LEARN)
    rank.finalize(31.0)
    finding = analyze_trace(builder.build()).findings["io_bound"]
    assert finding.status is Status.FAIL
    assert "file calls: 12.0 s, mainly in read_shard() (train.py:39)." in finding.summary
    assert [frame.function for frame in finding.where] == ["read_shard"]


def test_marked_file_phases_are_replayed_as_a_bound() -> None:
    builder = TraceBuilder(2, end_s=32.0)
    for number in (0, 1):
        rank = builder.rank(number).init(1.0)
        for step in range(30):
            begin = 1.0 + step
            rank.phase(PhaseKind.IO, begin, begin + 0.4)
            rank.op("MPI_Allreduce", begin + 0.9, begin + 1.0, sent=8, received=8)
        rank.finalize(31.0)
    finding = analyze_trace(builder.build()).findings["io_bound"]
    assert finding.status is Status.FAIL
    assert finding.gain_s == pytest.approx(12.0, rel=0.01)
    assert finding.gain_basis is Basis.UPPER_BOUND
    assert "data_stall" in finding.overlaps


def test_recordings_without_the_state_are_not_measured() -> None:
    builder = TraceBuilder(1, end_s=12.0)
    rank = builder.rank(0).init(1.0).finalize(11.0)
    for tick in range(10, 110):
        rank.process_sample(tick / 10, cpu_s=tick / 10)
    finding = analyze_trace(builder.build()).findings["io_bound"]
    assert finding.status is Status.NOT_MEASURED
    assert "--sample-hz" in finding.summary


@pytest.mark.parametrize("rows", ["/", [None, 3], [{"type": 3}], [{"mount": "/"}]])
def test_file_systems_that_make_no_sense_are_left_out(rows: Any) -> None:
    finding = judged(blocked_every=4, file_systems=rows)
    assert finding.status is Status.FAIL
    assert "unknown" in finding.summary


def test_waiting_for_pages_is_told_from_reading_files() -> None:
    swaps = judged(blocked_every=4, faults=20_000, read_bytes=20_000 * 4096)
    assert swaps.actions[0].startswith("Start fewer ranks on the node, or ask for more memory, if")
    reads = judged(blocked_every=4, faults=20_000, read_bytes=5 << 30)
    assert not any("swap" in action for action in reads.actions)


def test_short_file_phases_do_not_stand_for_samples() -> None:
    builder = TraceBuilder(2, end_s=32.0)
    for number in (0, 1):
        builder.rank(number).init(1.0).phase(PhaseKind.IO, 2.0, 2.05).finalize(31.0)
    finding = analyze_trace(builder.build()).findings["io_bound"]
    assert finding.status is Status.NOT_MEASURED
    assert "--sample-hz" in finding.summary


@pytest.mark.parametrize("file_systems", [[], [{"mount": "/scratch", "type": "lustre"}]])
def test_who_writes_is_not_told_how_to_read(file_systems: list[dict[str, Any]]) -> None:
    writes = judged(blocked_every=4, read_bytes=1 << 10, file_systems=file_systems)
    assert writes.actions[0].startswith("Write less often, in few large calls, ")
    assert not re.search(r"\b[Rr]ead\b", " ".join(writes.actions))
    reads = judged(blocked_every=4, file_systems=file_systems)
    assert not any("Write" in action for action in reads.actions)


def test_who_waits_for_pages_of_mapped_files_is_not_told_to_write_less() -> None:
    """Pages are read without calls: any log is more than what was read."""
    actions = judged(blocked_every=4, faults=20_000, read_bytes=1 << 10).actions
    assert actions[0].startswith("Start fewer ranks on the node, or ask for more memory, if")
    assert "/dev/shm" in actions[1]
    assert not any("Write" in action for action in actions)


@pytest.mark.parametrize("writer", [0, 1])
def test_what_is_written_elsewhere_is_not_waited_for(writer: int) -> None:
    """Rank 1 stands still until 10 s, and reads; 6 GB are written later, or by the other rank."""
    builder = TraceBuilder(2, end_s=22.0)
    for number in (0, 1):
        rank = builder.rank(number).init(1.0).phase(PhaseKind.INPUT, 1.0, 21.0).finalize(21.0)
        for tick in range(10, 210):
            stops = number == 1 and tick < 100 and tick % 2 == 0
            rank.process_sample(
                tick / 10 + 0.05, threads=2, runnable=0 if stops else 1, blocked=int(stops)
            )
        for second in range(1, 22):
            rank.system_sample(
                second,
                read_bytes=number * min(second, 10) << 29,
                written_bytes=(6 << 30) * (number == writer and second > 15),
            )
    actions = analyze_trace(builder.build()).findings["io_bound"].actions
    assert "/dev/shm" in actions[0]
    assert not any("Write" in action for action in actions)


@pytest.mark.parametrize("writes", [True, False])
def test_of_marked_file_phases_what_went_on_in_them_tells_whether_they_write(writes: bool) -> None:
    """A file phase of 0.5 s in every 2 s, in which as much is moved as in all of the rest."""
    builder = TraceBuilder(1, end_s=32.0)
    rank, amounts = builder.rank(0).init(1.0), [0, 0]
    for tick in range(10, 310):
        is_inside = tick % 20 < 5
        if tick % 20 == 0:
            rank.phase(PhaseKind.IO, tick / 10, tick / 10 + 0.5)
        rank.process_sample(tick / 10 + 0.05, threads=1, runnable=1, blocked=0)
        amounts[writes is is_inside] += 3 << 20 if is_inside else 2 << 20
        rank.system_sample(tick / 10 + 0.06, read_bytes=amounts[0], written_bytes=amounts[1])
    rank.finalize(31.0)
    actions = analyze_trace(builder.build()).findings["io_bound"].actions
    assert any(action.startswith("Write less often") for action in actions) is writes
