"""Which processes are ranks, and of which world."""

from pathlib import Path
from typing import Any

from perfscope.readers import open_recording
from perfscope.readers.recording.layout import HeaderFlag
from perfscope.schema.enums import PhaseKind
from tests.support.write_recording import ProcessWriter, write_run

NO_MPI = HeaderFlag.EXITED


def process(
    directory: Path,
    pid: int,
    *,
    rank: int = -1,
    size: int = -1,
    end_s: float = 5.0,
    start_s: float = 0.0,
    mpi: bool = True,
    **metadata: Any,
) -> ProcessWriter:
    flags = HeaderFlag.MPI | HeaderFlag.FINALIZED | HeaderFlag.EXITED if mpi else NO_MPI
    writer = ProcessWriter(rank=rank, size=size, pid=pid, flags=flags, start_s=start_s)
    writer.header["exit_ns"] = writer.mono(end_s)
    if metadata:
        writer.metadata = {"schema": 1, "pid": pid} | metadata
    writer.write(directory)
    return writer


def test_workers_belong_to_their_rank(tmp_path: Path) -> None:
    process(tmp_path, 10, rank=0, size=2, role="rank")
    process(tmp_path, 11, rank=1, size=2, role="rank")
    process(tmp_path, 20, mpi=False, role="worker", owner_pid=11, argv=["loader"])
    process(tmp_path, 21, mpi=False, role="worker", owner_pid=20)
    process(tmp_path, 30, mpi=False, role="unranked", argv=["tool"])
    write_run(tmp_path)
    trace = open_recording(tmp_path)
    assert [rank.pid for rank in trace.ranks] == [10, 11]
    assert [worker["pid"] for worker in trace.ranks[1].workers] == [20, 21]
    assert trace.ranks[0].workers == []
    assert [other["pid"] for other in trace.other_processes] == [30]


def test_without_ranks_the_process_that_trains_is_rank_zero(tmp_path: Path) -> None:
    process(tmp_path, 10, mpi=False, end_s=9.0, role="unranked")
    trains = ProcessWriter(rank=-1, size=-1, pid=11, flags=NO_MPI)
    trains.phase(PhaseKind.TRAIN, 1.0, 2.0)
    trains.header["exit_ns"] = trains.mono(3.0)
    trains.write(tmp_path)
    trace = open_recording(tmp_path)
    assert (trace.world_size, trace.ranks[0].pid) == (1, 11)
    assert trace.other_processes[0]["pid"] == 10


def test_a_job_inside_a_job(tmp_path: Path) -> None:
    for rank in (0, 1, 2):
        process(
            tmp_path, 10 + rank, rank=rank, size=3, end_s=3.0, rank_environment={"PMI_JOBID": "o"}
        )
    for rank in (0, 1):
        process(
            tmp_path, 20 + rank, rank=rank, size=2, end_s=9.0, rank_environment={"PMI_JOBID": "i"}
        )
    write_run(tmp_path)
    trace = open_recording(tmp_path)
    assert [rank.pid for rank in trace.ranks] == [20, 21]
    assert any("2 MPI worlds" in note for note in trace.notes)
    assert {other["world_rank"] for other in trace.other_processes} == {0, 1, 2}


def test_two_jobs_one_after_the_other_without_job_ids(tmp_path: Path) -> None:
    for rank in (0, 1):
        process(tmp_path, 10 + rank, rank=rank, size=2, end_s=4.0)
        process(tmp_path, 20 + rank, rank=rank, size=2, start_s=30.0, end_s=40.0)
    write_run(tmp_path, end_mono_ns=None)
    trace = open_recording(tmp_path)
    assert [rank.pid for rank in trace.ranks] == [20, 21]


def test_a_rank_that_failed_before_mpi_is_still_a_rank(tmp_path: Path) -> None:
    process(tmp_path, 10, rank=0, size=2, role="rank", rank_environment={"PMI_RANK": "0"})
    told = {"PMI_RANK": "1", "PMI_SIZE": "2"}
    process(tmp_path, 11, mpi=False, role="rank", rank_environment=told)
    write_run(tmp_path)
    trace = open_recording(tmp_path)
    assert [rank.pid for rank in trace.ranks] == [10, 11]
    assert trace.ranks[1].init_exit_ns is None


def test_a_wrapper_around_each_rank_is_not_a_rank(tmp_path: Path) -> None:
    for rank in (0, 1):
        told = {"PMI_RANK": str(rank), "PMI_SIZE": "2"}
        outer: dict[str, Any] = {"role": "rank", "rank_environment": told, "parent_pid": 9}
        process(tmp_path, 10 + rank, mpi=False, end_s=9.0, **outer)
        process(tmp_path, 20 + rank, rank=rank, size=2, role="worker", owner_pid=10 + rank)
    write_run(tmp_path)
    trace = open_recording(tmp_path)
    assert [rank.pid for rank in trace.ranks] == [20, 21]
    assert sorted(other["pid"] for other in trace.other_processes) == [10, 11]


def test_a_library_that_does_not_fit_its_launcher(tmp_path: Path) -> None:
    for rank in (0, 1):
        told = {"PMI_RANK": str(rank), "PMI_SIZE": "2"}
        process(tmp_path, 10 + rank, rank=0, size=1, role="rank", rank_environment=told)
    write_run(tmp_path)
    trace = open_recording(tmp_path)
    assert any("alone in their MPI_COMM_WORLD" in note for note in trace.notes)


def test_a_library_that_only_looks_whether_mpi_is_there(tmp_path: Path) -> None:
    for rank in (0, 1):
        told = {"torch.distributed": {"rank": rank, "size": 2}}
        process(tmp_path, 10 + rank, rank=0, size=1, role="rank", frameworks=told)
    write_run(tmp_path)
    trace = open_recording(tmp_path)
    assert [(rank.number, rank.pid) for rank in trace.ranks] == [(0, 10), (1, 11)]
    assert all(rank.init_exit_ns is rank.finalize_enter_ns is None for rank in trace.ranks)
    assert trace.notes == []


def test_torch_ranks_told_by_their_environment(tmp_path: Path) -> None:
    for rank in (0, 1):
        told = {"RANK": str(rank), "WORLD_SIZE": "2"}
        process(tmp_path, 10 + rank, mpi=False, role="rank", rank_environment=told)
    write_run(tmp_path)
    trace = open_recording(tmp_path)
    assert (trace.world_size, len(trace.ranks)) == (2, 2)


def trainer(directory: Path, pid: int, *, role: str, begin_s: float, end_s: float) -> None:
    """A process without a number that has a training step, started by process 5."""
    writer = ProcessWriter(rank=-1, size=-1, pid=pid, flags=NO_MPI, start_s=begin_s)
    writer.step(0, begin_s + 0.1, begin_s + 0.2)
    writer.header["exit_ns"] = writer.mono(end_s)
    parent = {} if pid == 5 else {"parent_pid": 5}
    writer.metadata = {"schema": 1, "pid": pid, "role": role} | parent
    writer.write(directory)


def test_processes_that_train_beside_each_other_are_ranks(tmp_path: Path) -> None:
    process(tmp_path, 5, mpi=False, end_s=9.0, role="unranked")
    trainer(tmp_path, 11, role="rank", begin_s=2.0, end_s=8.0)
    trainer(tmp_path, 12, role="rank", begin_s=1.0, end_s=8.0)
    trace = open_recording(tmp_path)
    assert [rank.pid for rank in trace.ranks] == [12, 11]
    assert [other["pid"] for other in trace.other_processes] == [5]


def test_a_parent_that_trains_as_well_is_the_first_rank(tmp_path: Path) -> None:
    trainer(tmp_path, 5, role="unranked", begin_s=0.0, end_s=9.0)
    trainer(tmp_path, 11, role="rank", begin_s=2.0, end_s=8.0)
    trace = open_recording(tmp_path)
    assert [rank.pid for rank in trace.ranks] == [5, 11]


def test_a_parent_that_only_evaluates_is_no_rank(tmp_path: Path) -> None:
    parent = ProcessWriter(rank=-1, size=-1, pid=5, flags=NO_MPI)
    parent.phase(PhaseKind.EVALUATE, 8.5, 8.9)
    parent.metadata = {"schema": 1, "pid": 5, "role": "unranked"}
    parent.write(tmp_path)
    trainer(tmp_path, 11, role="rank", begin_s=1.0, end_s=8.0)
    trainer(tmp_path, 12, role="rank", begin_s=2.0, end_s=8.0)
    assert [rank.pid for rank in open_recording(tmp_path).ranks] == [11, 12]


def test_trainings_that_follow_each_other_are_no_ranks_of_one_job(tmp_path: Path) -> None:
    process(tmp_path, 5, mpi=False, end_s=9.0, role="unranked")
    trainer(tmp_path, 11, role="rank", begin_s=1.0, end_s=3.0)
    trainer(tmp_path, 12, role="rank", begin_s=4.0, end_s=8.0)
    trace = open_recording(tmp_path)
    assert [rank.pid for rank in trace.ranks] == [12]
    assert any("2 groups of ranks" in note for note in trace.notes)


def test_how_long_only_other_attempts_lived_is_told(tmp_path: Path) -> None:
    for pid, (begin_s, end_s) in enumerate([(0.0, 1.5), (2.0, 3.0), (4.0, 8.0), (7.0, 9.0)], 11):
        trainer(tmp_path, pid, role="rank", begin_s=begin_s, end_s=end_s)
    trace = open_recording(tmp_path)
    assert trace.elsewhere_ns == 2_500_000_000
    assert any("perfscope restarts" in note for note in trace.notes)


def test_of_attempts_that_follow_each_other_the_one_that_trains_longest_is_chosen(
    tmp_path: Path,
) -> None:
    """On a busy machine the one that fails soon may live longer as it loads its modules."""
    for attempt, (start_s, end_s, trains_s) in enumerate([(0.0, 9.0, 0.5), (10.0, 14.0, 3.0)]):
        for rank in (0, 1):
            writer = ProcessWriter(
                rank=rank, size=2, pid=10 + 10 * attempt + rank, flags=NO_MPI, start_s=start_s
            )
            writer.metadata = {"schema": 1, "role": "rank"}
            writer.step(0, end_s - trains_s - 0.1, end_s - 0.1)
            writer.header["exit_ns"] = writer.mono(end_s)
            writer.write(tmp_path)
    write_run(tmp_path)
    assert [rank.pid for rank in open_recording(tmp_path).ranks] == [20, 21]


def elastic(directory: Path, pid: int, *groups: tuple[float, int, int], **more: Any) -> None:
    """A process of a job whose ranks come and go: from when on it was which rank of how many."""
    mono = ProcessWriter().mono
    told = [[mono(at_s), rank, size] for at_s, rank, size in groups]
    _, rank, size = groups[0]
    horovod = {"elastic": {"driver": 4711, "groups": told}}
    more |= {"rank": rank, "size": size, "frameworks": {"horovod": horovod}}
    process(directory, pid, mpi=False, role="rank", **more)


def test_ranks_that_come_and_go_are_of_one_job(tmp_path: Path) -> None:
    """Two ranks, then three, of which the first one goes; who joined is no rank of another job."""
    elastic(tmp_path, 10, (1.0, 0, 2), (20.0, 0, 3), end_s=40.0)
    elastic(tmp_path, 11, (1.1, 1, 2), (20.1, 2, 3), (41.0, 1, 2), end_s=60.0)
    elastic(tmp_path, 12, (20.2, 1, 3), (41.1, 0, 2), start_s=15.0, end_s=60.0)
    write_run(tmp_path, end_mono_ns=ProcessWriter().mono(61.0))
    trace = open_recording(tmp_path)
    assert [(rank.number, rank.pid) for rank in trace.ranks] == [(0, 10), (1, 11), (2, 12)]
    assert trace.world_size == 3
    assert trace.environment["elastic_sizes"] == [2, 3, 2]
    assert any("it had 2, then 3, then 2 of them." in note for note in trace.notes)


def test_a_job_whose_ranks_could_have_come_and_gone_is_one_as_any(tmp_path: Path) -> None:
    elastic(tmp_path, 10, (1.0, 1, 2))
    elastic(tmp_path, 11, (1.1, 0, 2))
    write_run(tmp_path)
    trace = open_recording(tmp_path)
    assert [(rank.number, rank.pid) for rank in trace.ranks] == [(0, 11), (1, 10)]
    assert trace.environment["elastic_sizes"] == []


def test_damaged_groups_are_not_believed(tmp_path: Path) -> None:
    for pid, groups in ((10, "x"), (11, [[1, 2], None, [-1, 0, 2], [1, 3, 2], [1, 0, 1 << 40]])):
        told = {"horovod": {"elastic": {"driver": 1, "groups": groups}}}
        process(tmp_path, pid, rank=pid - 10, size=2, frameworks=told)
    write_run(tmp_path)
    trace = open_recording(tmp_path)
    assert (len(trace.ranks), trace.environment["elastic_sizes"]) == (2, [])
