"""Threads over cores: judged against what affinity and cgroup allow, with the setting to use."""

from __future__ import annotations

from typing import Any

import pytest

from perfscope.findings.finding import Finding, Status
from perfscope.trace.builder import TraceBuilder
from tests.findings.analysed import analyse_trace


def judged(
    *,
    runnable: int,
    ranks: int = 2,
    cpus: str = "0-1",
    cgroup: float | None = None,
    delay_share: float = 0.5,
    metadata: dict[str, Any] | None = None,
) -> Finding:
    """The finding about ranks that compute for 10 s with so many runnable threads each."""
    builder = TraceBuilder(ranks, end_s=12.0)
    low, high = (int(part) for part in cpus.split("-"))
    for number in range(ranks):
        rank = builder.rank(number).init(1.0).finalize(11.0)
        rank.set(
            cpus_allowed=cpus,
            cpu_count_allowed=high - low + 1,
            cgroup_cpus=cgroup,
            metadata=metadata or {},
        )
        for tick in range(1, 110):
            at = tick * 0.1
            rank.process_sample(
                at,
                cpu_s=at,
                queue_delay_s=at * delay_share,
                threads=runnable + 1,
                runnable=runnable,
            )
            rank.system_sample(at, involuntary_switches=tick * 10)
    return analyse_trace(builder.build()).findings["threads_over_cores"]


def test_fails_with_the_exact_setting() -> None:
    metadata = {"environment": {"OPENBLAS_NUM_THREADS": "8"}, "blas_threads": 8}
    finding = judged(runnable=8, metadata=metadata)
    assert finding.status is Status.FAIL
    assert finding.title == "16.0 threads want to run on 2 CPUs of node0"
    assert finding.gain_s is None
    assert finding.gain_basis is None
    assert finding.actions[0] == (
        "Set OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 for 2 ranks on 2 CPUs."
    )
    assert "compare step times" in finding.actions[-1]
    evidence = {item.label: item.value for item in finding.evidence}
    assert "8 threads" in str(evidence["Largest pool"])
    assert evidence["OPENBLAS_NUM_THREADS in this run"] == "8"


def test_more_cpus_allow_more_threads() -> None:
    finding = judged(runnable=8, cpus="0-7")
    assert finding.status is Status.FAIL
    assert finding.actions[0] == "Set OMP_NUM_THREADS=4 for 2 ranks on 8 CPUs."


def test_fitting_threads_pass_with_the_number() -> None:
    finding = judged(runnable=1, delay_share=0.0)
    assert finding.status is Status.PASS
    assert finding.title == "The threads fit the CPUs: 2.0 threads want to run on 2 CPUs"


def test_the_cgroup_counts() -> None:
    assert judged(runnable=2, cpus="0-7", cgroup=1.5).status is Status.FAIL


def test_no_delay_no_fault() -> None:
    assert judged(runnable=4, delay_share=0.01).status is Status.PASS


def test_too_many_ranks_are_told_from_too_many_threads() -> None:
    finding = judged(runnable=1, ranks=4)
    assert finding.status is Status.FAIL
    assert "ranks alone" in finding.summary
    assert finding.actions[0].startswith("Start at most 2 ranks on node0")
    assert not any("OMP_NUM_THREADS" in action for action in finding.actions)


def test_other_processes_are_named_as_such() -> None:
    finding = judged(runnable=1)
    assert finding.status is Status.INFO
    assert "other processes" in finding.title


def test_no_samples_name_the_flag() -> None:
    builder = TraceBuilder(2, end_s=12.0)
    for number in (0, 1):
        builder.rank(number).init(1.0).finalize(11.0)
    finding = analyse_trace(builder.build()).findings["threads_over_cores"]
    assert finding.status is Status.NOT_MEASURED
    assert "--sample-hz" in finding.summary


@pytest.mark.parametrize(("runnable", "status"), [(1, Status.PASS), (2, Status.FAIL)])
def test_the_bound_is_per_cpu(runnable: int, status: Status) -> None:
    delay = 0.02 if status is Status.PASS else 0.2
    assert judged(runnable=runnable, delay_share=delay).status is status
