"""Threads over cores: judged against what affinity and cgroup allow, with the setting to use."""

from typing import Any

import numpy as np
import pytest

from perfscope.findings.core.finding import Finding
from perfscope.schema.enums import Status
from perfscope.trace.model import OPERATION_DTYPE
from tests.findings.analyzed import analyze_trace
from tests.support.trace_builder import TraceBuilder


def judged(
    *,
    runnable: int,
    ranks: int = 2,
    cpus: str = "0-1",
    cgroup: float | None = None,
    delay_share: float = 0.5,
    metadata: dict[str, Any] | None = None,
    library: str = "",
    seconds: int = 10,
    beside_s: float = 0.0,
    main_waits: float | None = None,
    named: str = "",
) -> Finding:
    """The finding about ranks that compute for some time with so many runnable threads each.

    `main_waits` is the share of it in which main threads have no CPU; None: nobody looked.
    """
    builder = TraceBuilder(ranks, end_s=seconds + 2.0)
    low, high = (int(part) for part in cpus.split("-"))
    for number in range(ranks):
        rank = builder.rank(number).init(1.0).finalize(seconds + 1.0)
        rank.set(
            cpus_allowed=cpus,
            cpu_count_allowed=high - low + 1,
            cgroup_cpus=cgroup,
            metadata=metadata or {},
            mpi_library=library,
        )
        for tick in range(1, 10 * seconds + 10):
            at = tick * 0.1
            rank.process_sample(
                at,
                cpu_s=at,
                queue_delay_s=at * delay_share,
                threads=runnable + 1,
                runnable=runnable,
            )
            rank.system_sample(at, involuntary_switches=tick * 10)
            if main_waits is not None:
                ran = 1.0 - main_waits
                rank.main_sample(at, cpu_s=at * ran, queue_delay_s=at * main_waits)
            if beside_s:
                rank.main_sample(at, cpu_s=at)
                rank.stack(at, [("main", "/job/train.py", 40)])
                rank.stack(at, [("watch", "/job/train.py", 9)], tid=77)
        if named:
            rank.thread(named, tid=78, samples=100, runnable=60)
        if beside_s:
            rank.thread("python", tid=77, cpu_s=beside_s)
    return analyze_trace(builder.build()).findings["threads_over_cores"]


def test_fails_with_the_exact_setting() -> None:
    metadata = {"environment": {"OPENBLAS_NUM_THREADS": "8"}, "blas_threads": 8}
    finding = judged(runnable=8, metadata=metadata)
    assert finding.status is Status.FAIL
    assert finding.title == (
        "CPU oversubscription on host node0: 16.0 runnable threads on 2 CPUs; the numerical "
        "library (BLAS) has 8 in each rank"
    )
    assert finding.gain_s is None
    assert finding.gain_basis is None
    assert finding.actions[0] == (
        "Start with `export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1` for 2 ranks on 2 CPUs."
    )
    assert "compare step times" in finding.actions[-1]
    assert finding.actions[-1].endswith(
        "perfscope sweep --env OPENBLAS_NUM_THREADS=1,2,4,8 --env OMP_NUM_THREADS=1 "
        "--oversubscribe -- python train.py`"
    )
    evidence = {item.label: item.value for item in finding.evidence}
    assert "8 threads" in str(evidence["Largest pool"])
    assert evidence["OPENBLAS_NUM_THREADS in this run"] == "8"


@pytest.mark.parametrize(("beside_s", "where"), [(9.0, ["watch"]), (3.0, [])])
def test_a_python_thread_that_runs_all_the_time_is_named(beside_s: float, where: list[str]) -> None:
    finding = judged(runnable=2, beside_s=beside_s)
    assert finding.status.is_fault
    assert [one.function for one in finding.where] == where
    assert finding.actions[0].startswith("Make the thread in watch()") is bool(where)


def test_few_samples_are_no_fault() -> None:
    finding = judged(runnable=8, seconds=1)
    assert finding.status is Status.INFO
    assert finding.title == "CPU oversubscription on host node0: 16.0 runnable threads on 2 CPUs"
    assert finding.summary.endswith("This rests on only 10 samples of all ranks.")


def test_more_cpus_allow_more_threads() -> None:
    finding = judged(runnable=8, cpus="0-7")
    assert finding.status is Status.FAIL
    assert finding.actions[0] == "Start with `export OMP_NUM_THREADS=4` for 2 ranks on 8 CPUs."


def test_fitting_threads_pass_with_the_number() -> None:
    finding = judged(runnable=1, delay_share=0.0)
    assert finding.status is Status.PASS
    assert finding.title == "The threads fit the CPUs: 2.0 runnable threads on 2 CPUs"


def test_the_cgroup_counts() -> None:
    assert judged(runnable=2, cpus="0-7", cgroup=1.5).status is Status.FAIL


def test_no_delay_no_fault() -> None:
    assert judged(runnable=4, delay_share=0.01).status is Status.PASS


def test_too_many_ranks_are_told_from_too_many_threads() -> None:
    finding = judged(runnable=1, ranks=4)
    assert finding.status is Status.FAIL
    assert "more ranks than CPUs" in finding.summary
    assert finding.actions[0].startswith(
        "Ask for 4 CPUs where there are 2, or start 2 ranks fewer on host node0: waiting"
    )
    assert not any("OMP_NUM_THREADS" in action for action in finding.actions)


def test_other_processes_are_named_as_such() -> None:
    finding = judged(runnable=1)
    assert finding.status is Status.INFO
    assert "other processes" in finding.title


def test_no_samples_name_the_flag() -> None:
    builder = TraceBuilder(2, end_s=12.0)
    for number in (0, 1):
        builder.rank(number).init(1.0).finalize(11.0)
    finding = analyze_trace(builder.build()).findings["threads_over_cores"]
    assert finding.status is Status.NOT_MEASURED
    assert "--sample-hz" in finding.summary


@pytest.mark.parametrize(("runnable", "status"), [(1, Status.PASS), (2, Status.FAIL)])
def test_the_bound_is_per_cpu(runnable: int, status: Status) -> None:
    delay = 0.02 if status is Status.PASS else 0.2
    assert judged(runnable=runnable, delay_share=delay).status is status


def libraries(**threads: int) -> dict[str, Any]:
    rows = [{"library": f"lib{name}.so", "threads": count} for name, count in threads.items()]
    return {"blas_libraries": rows}


@pytest.mark.parametrize(
    ("metadata", "pool", "first"),
    [
        (libraries(gomp=8), "OpenMP (libgomp.so)", "Start with `export OMP_NUM_THREADS=1` for"),
        (libraries(mkl_rt=8), "Intel MKL (libmkl_rt.so)", "Start with `export OMP_NUM_THREADS=1`"),
        (
            {"frameworks": {"tensorflow": {"intra_op_threads": 8, "inter_op_threads": 1}}},
            "TensorFlow's intra-op pool (Eigen)",
            "In the program: tf.config.threading.set_intra_op_parallelism_threads(1), before",
        ),
        (
            {"frameworks": {"tensorflow": {"intra_op_threads": 0, "inter_op_threads": 0}}},
            "TensorFlow's intra-op pool (Eigen)",
            "Start with `export TF_NUM_INTRAOP_THREADS=1 TF_NUM_INTEROP_THREADS=1` for",
        ),
        (
            {"frameworks": {"torch": {"threads": 8}}, "environment": {"OMP_NUM_THREADS": "1"}},
            "PyTorch's intra-op pool",
            "In the program: torch.set_num_threads(1), before",
        ),
        (
            {"frameworks": {"daal4py": {"threads": 8}}},
            "oneTBB of daal4py",
            "In the program: daal4py.daalinit(nthreads=1), before",
        ),
    ],
)
def test_the_pool_and_its_own_setting_are_named(
    metadata: dict[str, Any], pool: str, first: str
) -> None:
    finding = judged(runnable=8, metadata=metadata)
    evidence = {item.label: str(item.value) for item in finding.evidence}
    assert evidence["Largest pool"].startswith(pool)
    assert finding.actions[0].startswith(first)


def test_a_pool_set_in_the_program_has_no_sweep_of_a_variable() -> None:
    finding = judged(runnable=8, metadata={"frameworks": {"daal4py": {"threads": 8}}})
    assert not any("sweep" in action for action in finding.actions)
    assert "perfscope compare" in finding.actions[-1]


@pytest.mark.parametrize(
    "metadata",
    [
        {"blas_libraries": "many", "blas_threads": True},
        {"blas_libraries": [None, {"library": 3}, {"library": "libgomp.so", "threads": -4}]},
        {"frameworks": {"torch": {"threads": "8"}, "tensorflow": {"intra_op_threads": 1e9}}},
        {"environment": {"OMP_NUM_THREADS": "4,2"}},
    ],
)
def test_what_makes_no_sense_names_no_pool(metadata: dict[str, Any]) -> None:
    finding = judged(runnable=8, metadata=metadata)
    assert finding.status is Status.FAIL
    assert not any(item.label == "Largest pool" for item in finding.evidence)
    assert finding.actions[0].startswith("Start with `export OMP_NUM_THREADS=1` for")


def test_a_polling_thread_of_mpi_is_named_instead_of_a_pool() -> None:
    finding = judged(runnable=2, metadata={"environment": {"MPICH_ASYNC_PROGRESS": "1"}})
    assert finding.status is Status.FAIL
    assert finding.actions[0].startswith(
        "Start with `unset MPICH_ASYNC_PROGRESS` for 2 ranks on 2 CPUs: "
    )
    assert not any("OMP_NUM_THREADS" in action for action in finding.actions)


def test_a_pool_that_is_too_large_comes_before_helping_threads() -> None:
    metadata = {**libraries(gomp=8), "environment": {"I_MPI_ASYNC_PROGRESS": "on"}}
    finding = judged(runnable=9, metadata=metadata)
    assert finding.actions[0].startswith("Start with `export OMP_NUM_THREADS=1` for")
    assert finding.actions[-1].startswith("Start with `unset I_MPI_ASYNC_PROGRESS` for")


def crowded_by_horovod(*, pool_runs: bool, waits: float = 0.0) -> Finding:
    """One core a rank: its main thread, Horovod's, and a pool of four threads that runs or not.

    The main thread waits for a CPU for a part of the time.
    """
    builder = TraceBuilder(2, end_s=12.0)
    for number in (0, 1):
        rank = builder.rank(number).init(1.0).finalize(11.0)
        row = np.zeros(1, OPERATION_DTYPE)
        row["tid"], row["comm"] = 77, -1
        rank.thread("python", tid=1000 + number, cpu_s=5.0, samples=110, runnable=105)
        rank.thread("python", tid=77, cpu_s=1.0, samples=40, runnable=36)
        for tid in (81, 82, 83):
            rank.thread("python", tid=tid, samples=110, runnable=90 if pool_runs else 1)
        rank.set(background=row, cpus_allowed=str(number), cpu_count_allowed=1)
        rank.set(metadata=libraries(gomp=4))
        for tick in range(10, 110):
            at = tick * 0.1
            rank.process_sample(
                at, cpu_s=at, queue_delay_s=at / 2, threads=5, runnable=5 if pool_runs else 2
            )
            rank.main_sample(at, cpu_s=at * (1 - waits), queue_delay_s=at * waits)
    return analyze_trace(builder.build()).findings["threads_over_cores"]


def test_the_thread_of_horovod_is_named_where_the_pools_are_idle() -> None:
    finding = crowded_by_horovod(pool_runs=False, waits=0.4)
    assert finding.status is Status.WARN
    assert finding.gain is not None
    assert finding.gain.share == pytest.approx(0.4, abs=0.02)
    assert finding.actions[0].startswith(
        "Reserve a CPU beside each rank for Horovod's background thread: "
    )
    assert not any("OMP_NUM_THREADS" in action for action in finding.actions)
    evidence = {item.label: item.value for item in finding.evidence}
    assert evidence["Horovod's thread of one rank wants to run"] == "90.0 % of the samples"


def test_a_thread_of_horovod_that_takes_little_from_the_program_is_no_fault() -> None:
    finding = crowded_by_horovod(pool_runs=False, waits=0.01)
    assert finding.status is Status.INFO
    assert finding.title.startswith("Horovod's background threads compete with")
    assert not finding.actions


def test_a_pool_that_runs_is_made_smaller_and_horovod_is_left_alone() -> None:
    actions = crowded_by_horovod(pool_runs=True).actions
    assert actions[0].startswith("Start with `export OMP_NUM_THREADS=1` for 2 ranks on 2 CPUs")
    assert not any("Horovod" in action for action in actions)


def test_a_variable_that_is_set_already_is_not_advised_again() -> None:
    metadata = {**libraries(gomp=1), "environment": {"OMP_NUM_THREADS": "1"}}
    finding = judged(runnable=8, metadata=metadata)
    assert finding.status is Status.FAIL
    assert finding.actions[0].startswith("No known pool has more than 1 thread:")
    assert not any("OMP_NUM_THREADS" in action for action in finding.actions)


def test_a_pool_that_the_program_itself_makes_large_is_told_as_such() -> None:
    metadata = {**libraries(gomp=8), "environment": {"OMP_NUM_THREADS": "1"}}
    finding = judged(runnable=8, metadata=metadata)
    assert finding.actions[0].startswith(
        "OpenMP (libgomp.so) has 8 threads although the environment asks for 1 at most"
    )
    assert not any("OMP_NUM_THREADS=" in action for action in finding.actions)


def default_pools(environment: dict[str, str]) -> dict[str, Any]:
    told = {"intra_op_threads": 0, "inter_op_threads": 0}
    return {"frameworks": {"tensorflow": told}, "environment": environment}


def test_pools_of_unset_size_take_the_mask_and_not_the_quota() -> None:
    """docker --cpus 4 on a machine of 64 CPUs: the pools see 64."""
    finding = judged(runnable=40, ranks=1, cpus="0-63", cgroup=4.0, metadata=default_pools({}))
    evidence = {item.label: str(item.value) for item in finding.evidence}
    assert evidence["Largest pool"].endswith("64 threads in each rank")
    assert finding.actions[0] == (
        "Start with `export TF_NUM_INTRAOP_THREADS=4 TF_NUM_INTEROP_THREADS=4` for 1 rank on 4 "
        "CPUs."
    )


def test_the_environment_sizes_the_pools_of_tensorflow() -> None:
    set_low = {"TF_NUM_INTRAOP_THREADS": "2", "TF_NUM_INTEROP_THREADS": "1"}
    finding = judged(runnable=40, ranks=1, cpus="0-15", metadata=default_pools(set_low))
    evidence = {item.label: str(item.value) for item in finding.evidence}
    assert evidence["Largest pool"].endswith("(Eigen), 2 threads in each rank")
    assert not any("TF_NUM" in action for action in finding.actions)


def test_a_part_of_a_cpu_is_not_told_as_no_rank() -> None:
    finding = judged(runnable=4, ranks=1, cpus="0-7", cgroup=0.5)
    assert finding.status is Status.FAIL
    assert any(action.startswith("Ask for 1 CPU: waiting") for action in finding.actions)
    assert "0 ranks" not in " ".join(finding.actions)


@pytest.mark.parametrize(
    ("variable", "library", "named"),
    [
        ("I_MPI_ASYNC_PROGRESS", "/opt/lib/libmpi.so.40\nOpen MPI v5.0.9", False),
        ("MPICH_ASYNC_PROGRESS", "/opt/lib/libmpi.so.40\nOpen MPI v5.0.9", False),
        ("MPICH_ASYNC_PROGRESS", "libmpi.so.12\nIntel(R) MPI Library 2021.15", False),
        ("I_MPI_ASYNC_PROGRESS", "libmpi.so.12\nIntel(R) MPI Library 2021.15", True),
        ("MPICH_ASYNC_PROGRESS", "libmpi.so.12\nMPICH Version: 4.3", True),
    ],
)
def test_a_variable_of_another_mpi_library_starts_no_thread(
    variable: str, library: str, named: bool
) -> None:
    finding = judged(runnable=2, metadata={"environment": {variable: "1"}}, library=library)
    assert any(variable in action for action in finding.actions) is named


def test_no_cpu_more_is_offered_where_the_node_has_none() -> None:
    noted = {"environment": {"MPICH_ASYNC_PROGRESS": "1"}, "topology": {"cpus": 2}}
    full = judged(runnable=2, metadata=noted)
    assert "ask for 4 CPUs where there are 2" in full.actions[0]
    assert "fewer" not in full.actions[0]  # of two ranks one alone would be left
    assert "PE=" not in full.actions[0]
    wide = judged(runnable=2, metadata={**noted, "topology": {"cpus": 8}})
    assert "give each rank 2 CPUs: `mpirun -bind-to none`" in wide.actions[0]


def test_the_node_that_fails_comes_before_the_most_crowded() -> None:
    builder = TraceBuilder(2, end_s=12.0)
    for number, (runnable, delay) in enumerate(((4, 0.01), (2, 0.5))):
        rank = builder.rank(number).init(1.0).finalize(11.0)
        rank.set(host=f"n{number}", cpus_allowed="0", cpu_count_allowed=1)
        for tick in range(1, 110):
            at = tick * 0.1
            rank.process_sample(at, cpu_s=at, queue_delay_s=at * delay, runnable=runnable)
    finding = analyze_trace(builder.build()).findings["threads_over_cores"]
    assert finding.status is Status.FAIL
    assert finding.ranks == (1,)


def test_the_pool_of_the_busiest_rank_is_named_with_its_rank() -> None:
    """Rank 0 has two threads, rank 1 has eight: its pool is what crowds the CPUs."""
    builder = TraceBuilder(2, end_s=12.0)
    for number, threads in enumerate((2, 8)):
        rank = builder.rank(number).init(1.0).finalize(11.0)
        told = {"OMP_NUM_THREADS": str(threads)}
        rank.set(
            cpus_allowed="0-1",
            cpu_count_allowed=2,
            metadata={"environment": told, "blas_threads": threads},
        )
        for tick in range(1, 110):
            at = tick * 0.1
            rank.process_sample(at, cpu_s=at, queue_delay_s=at, threads=threads, runnable=threads)
    finding = analyze_trace(builder.build()).findings["threads_over_cores"]
    assert finding.status is Status.FAIL
    assert finding.title == (
        "CPU oversubscription on host node0: 10.0 runnable threads on 2 CPUs; the numerical "
        "library (BLAS) has 8 in rank 1"
    )
    evidence = {item.label: item.value for item in finding.evidence}
    assert evidence["Largest pool"] == "the numerical library (BLAS), 8 threads in rank 1"
    assert evidence["OMP_NUM_THREADS in rank 1"] == "8"
    assert finding.actions[0] == "Start with `export OMP_NUM_THREADS=1` for 2 ranks on 2 CPUs."
