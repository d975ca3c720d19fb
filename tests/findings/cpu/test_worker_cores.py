"""Loader processes and communication threads: in the way only where CPUs do not suffice."""

from typing import Any

import numpy as np
import pytest

from perfscope.findings.core.finding import Finding
from perfscope.schema.enums import EndKind, Status
from perfscope.trace.model import OPERATION_DTYPE, Ending, ThreadInfo
from tests.findings.analyzed import analyze_trace
from tests.support.trace_builder import TraceBuilder

LOADER = {"frameworks": {"torch": {"loaders": [{"workers": 2}]}}}


def judged(
    *,
    masks: tuple[str, ...] = ("0", "1"),
    own: float = 0.5,
    delay: float = 0.5,
    children_s: float | None = 10.0,
    horovod_s: float = 0.0,
    environment: dict[str, str] | None = None,
    metadata: dict[str, Any] | None = None,
    ending: Ending | None = None,
    launcher: str = "mpirun (MPICH)",
    main_waits_s: float | None = None,
) -> Finding:
    """Ranks of 20 s whose threads keep `own` CPUs busy beside processes that used so much."""
    builder = TraceBuilder(len(masks), end_s=20.0)
    builder.set(launcher=launcher)
    for number, mask in enumerate(masks):
        count = 8 if mask == "0-7" else 1
        noted = {**(LOADER if metadata is None else metadata), "environment": environment or {}}
        if children_s is not None:
            noted["children_cpu_s"] = children_s
        rank = builder.rank(number).init(0.5).finalize(19.5)
        rank.set(cpus_allowed=mask, cpu_count_allowed=count, metadata=noted)
        if ending is not None:
            rank.set(ending=ending)
        if horovod_s:
            row = np.zeros(1, OPERATION_DTYPE)
            row["tid"], row["comm"] = 77, -1
            rank.set(
                background=row, threads=(ThreadInfo(77, "python", int(horovod_s * 1e9), 0, 9, 9),)
            )
        for tick in range(5, 195):
            at = tick / 10
            rank.process_sample(at, cpu_s=at * own, queue_delay_s=at * own * delay)
            if main_waits_s is not None:
                rank.main_sample(at, cpu_s=at * own, queue_delay_s=at / 20 * main_waits_s)
                rank.stack(at, [("main", "/job/train.py", 40)])
    return analyze_trace(builder.build()).findings["worker_cores"]


def test_workers_on_the_one_core_of_their_rank() -> None:
    """Open MPI binds each of two ranks to one core; the loader's workers inherit that."""
    finding = judged()
    assert finding.status is Status.FAIL
    assert finding.ranks == (0, 1)
    assert finding.title == ("Ranks 0 and 1 share their CPUs with 2 input processes each")
    rows = {row.label: row.value for row in finding.evidence}
    assert rows["Busy with its 2 input processes"] == pytest.approx(10 / 19)
    assert rows["Busy with training"] == pytest.approx(0.5)
    assert "Give each rank 2 CPUs: `mpirun -bind-to none`" in finding.actions[0]
    assert "num_workers of the DataLoader from 2 to 1" in finding.actions[1]
    assert finding.gain_s is None
    assert {"threads_over_cores", "data_stall"} <= set(finding.overlaps)


@pytest.mark.parametrize(
    ("launcher", "how"),
    [
        ("direct", ""),
        ("torchrun", ""),
        ("mpirun (Open MPI)", "mpirun --bind-to none"),
        ("", "srun"),
    ],
)
def test_how_to_bind_is_told_for_what_starts_the_ranks(launcher: str, how: str) -> None:
    told = judged(launcher=launcher).actions[0]
    assert how in told
    assert ("`" in told) is bool(how)


@pytest.mark.parametrize(("seconds", "is_told"), [(0.1, False), (2.0, True)])
def test_waits_for_helpers_matter_where_the_training_does_the_waiting(
    seconds: float, *, is_told: bool
) -> None:
    """Of 19 s main threads wait 0.1 s or 2 s, a tenth of the CPU time that they get or twice it."""
    finding = judged(own=0.05, delay=seconds, main_waits_s=seconds, children_s=16.0)
    assert finding.status.is_fault is is_told


def test_a_little_waiting_is_a_warning() -> None:
    assert judged(delay=0.1).status is Status.WARN


def test_enough_cpus_are_silent() -> None:
    assert judged(masks=("0-7", "0-7")).status is Status.PASS


def test_without_waiting_they_are_silent() -> None:
    assert judged(delay=0.0).status is Status.PASS


def test_processes_that_did_nothing_are_silent() -> None:
    assert judged(children_s=0.2).status is Status.PASS


def test_ranks_without_helpers_are_silent() -> None:
    assert judged(children_s=0.0, own=0.95).status is Status.PASS


def test_unknown_processor_time_is_not_called_well() -> None:
    finding = judged(children_s=None)
    assert finding.status is Status.NOT_MEASURED
    assert "Record a run that ends" in finding.summary


def test_processes_of_no_known_loader_are_told_as_such() -> None:
    """ChainerMN's MultiprocessIterator, or any other program that starts its own."""
    finding = judged(metadata={})
    assert finding.title == "Ranks 0 and 1 share their CPUs with processes that they started"
    assert finding.actions[1] == "Or start fewer input processes in each rank."


def test_the_progress_thread_of_mpi_is_named() -> None:
    finding = judged(children_s=0.0, own=1.0, environment={"MPICH_ASYNC_PROGRESS": "1"})
    assert "MPI's progress thread (MPICH_ASYNC_PROGRESS)" in finding.title
    assert any("unset MPICH_ASYNC_PROGRESS" in action for action in finding.actions)
    off = judged(children_s=0.0, own=1.0, environment={"MPICH_ASYNC_PROGRESS": "0"})
    assert off.status is Status.PASS


def test_the_thread_of_horovod_is_named() -> None:
    finding = judged(children_s=0.0, own=0.95, horovod_s=5.0)
    assert "Horovod's communication thread" in finding.title
    assert not any("HOROVOD_THREAD_AFFINITY" in action for action in finding.actions)
    wide = {**LOADER, "topology": {"cpus": 4}}
    finding = judged(children_s=0.0, own=0.95, horovod_s=5.0, metadata=wide)
    assert finding.actions[-1].startswith("Horovod: `export HOROVOD_THREAD_AFFINITY=2,3` puts")


@pytest.mark.parametrize("metadata", [None, {}])
def test_workers_of_a_rank_that_was_killed_are_unknown(metadata: dict[str, Any] | None) -> None:
    """Their time is noted when they have ended; a rank that is killed notes that of none.

    Processes that a program forks by itself are not even known to be its workers.
    """
    killed = Ending(EndKind.KILLED, 9, "by hand")
    finding = judged(children_s=0.0, metadata=metadata, ending=killed)
    assert finding.status is Status.NOT_MEASURED
    assert judged(children_s=0.0, delay=0.0, ending=killed).status is Status.PASS


def test_ranks_with_workers_are_not_told_that_others_use_their_cpus() -> None:
    builder = TraceBuilder(1, end_s=20.0)
    rank = builder.rank(0).init(0.5).finalize(19.5)
    rank.set(cpus_allowed="0", cpu_count_allowed=1, workers=({"pid": 7, "argv": ["python"]},))
    for tick in range(5, 195):
        rank.process_sample(tick / 10, cpu_s=tick / 20, queue_delay_s=tick / 20)
    finding = analyze_trace(builder.build()).findings["threads_over_cores"]
    assert finding.status is Status.INFO
    assert "that their own workers, or others, use" in finding.title


def test_one_process_is_not_told_as_several() -> None:
    one = {"frameworks": {"torch": {"loaders": [{"workers": 1}]}}}
    finding = judged(metadata=one)
    assert finding.title == "Ranks 0 and 1 share their CPUs with 1 input process each"
    assert "Busy with its input process" in {row.label for row in finding.evidence}


def test_samples_are_needed() -> None:
    builder = TraceBuilder(1, end_s=5.0)
    builder.rank(0).init(1.0).finalize(4.0)
    finding = analyze_trace(builder.build()).findings["worker_cores"]
    assert finding.status is Status.NOT_MEASURED
    assert "--sample-hz" in finding.summary


@pytest.mark.parametrize("told", ["much", True, float("inf"), -5.0])
def test_processor_time_that_makes_no_sense(told: Any) -> None:
    builder = TraceBuilder(1, end_s=20.0)
    rank = builder.rank(0).init(0.5).finalize(19.5)
    rank.set(cpus_allowed="0", metadata={**LOADER, "children_cpu_s": told})
    for tick in range(5, 195):
        rank.process_sample(tick / 10, cpu_s=tick / 20, queue_delay_s=tick / 20)
    finding = analyze_trace(builder.build()).findings["worker_cores"]
    assert finding.status is Status.NOT_MEASURED


@pytest.mark.parametrize(("of_ranks_s", "status"), [(9.9, Status.PASS), (2.0, Status.FAIL)])
def test_processes_that_are_ranks_are_none_that_work_for_the_one_that_started_them(
    of_ranks_s: float, status: Status
) -> None:
    """As where a coordinator starts its workers and waits for them: they used 10 s in all."""
    builder = TraceBuilder(2, end_s=20.0)
    for number in range(2):
        rank = builder.rank(number).init(0.5).finalize(19.5)
        noted = (
            {"children_cpu_s": 10.0} if number == 0 else {"parent_pid": 1000}
        )  # the number of rank 0's process
        rank.set(cpus_allowed="0", cpu_count_allowed=1, metadata=noted)
        for tick in range(5, 195):
            at = tick / 10
            used_s = of_ranks_s * at / 19.4 if number else at * 0.5
            rank.process_sample(at, cpu_s=used_s, queue_delay_s=at * 0.25)
    assert analyze_trace(builder.build()).findings["worker_cores"].status is status
