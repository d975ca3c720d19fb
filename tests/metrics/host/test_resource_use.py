"""Memory, threads and CPU from the native samples."""

import numpy as np
import pytest

from perfscope.metrics.compute import compute
from perfscope.metrics.host.resource_use import MAX_POINTS, theil_sen
from perfscope.metrics.host.resources import Resources
from perfscope.trace.host_cpus import cpu_set
from tests.support.trace_builder import TraceBuilder


def resources_of(builder: TraceBuilder) -> Resources:
    return compute(builder.build()).resources


def growing() -> TraceBuilder:
    """Two ranks for 100 s of samples; memory grows 1000 bytes a second, 1.5 CPUs are busy."""
    builder = TraceBuilder(2, end_s=100.0)
    for number in (0, 1):
        rank = builder.rank(number).init(0.0).finalize(100.0)
        rank.set(cpus_allowed="0-1", cpu_count_allowed=2, cgroup_memory_bytes=1 << 30)
        for tenth in range(1000):
            at = tenth / 10
            rank.process_sample(
                at,
                rss_bytes=10**6 + 100 * tenth,
                cpu_s=1.5 * at,
                queue_delay_s=0.25 * at,
                threads=5,
                runnable=3,
            )
        rank.system_sample(0.0, voluntary_switches=5, involuntary_switches=10)
        rank.system_sample(
            99.0,
            read_bytes=700,
            written_bytes=800,
            voluntary_switches=25,
            involuntary_switches=110,
            oom_kills=number,
        )
        rank.node_sample(1.0, available_bytes=500 - number, total_bytes=1000)
        rank.thread("python", tid=1, cpu_s=50.0, samples=1000, runnable=1000)
        rank.thread("worker-1", tid=2, cpu_s=60.0, samples=900, runnable=500)
        rank.thread("worker-2", tid=3, cpu_s=40.0, samples=900, runnable=300)
    return builder


def test_memory() -> None:
    resources = resources_of(growing())
    memory = resources.memory[0]
    assert memory.peak_bytes == 10**6 + 99_900
    assert memory.start_bytes == pytest.approx(10**6 + 4950, abs=60)
    assert memory.end_bytes == pytest.approx(10**6 + 94950, abs=60)
    assert memory.slope_bytes_per_s == pytest.approx(1000.0)
    assert memory.limit_bytes == 1 << 30
    assert len(memory.series.seconds) == len(memory.series.values) <= MAX_POINTS
    node = resources.node_memory[0]
    assert (node.total_bytes, node.least_available_bytes, node.oom_kills) == (1000, 499, 1)
    assert node.ranks == (0, 1)
    assert resources.read_bytes_by_rank == (700, 700)
    assert resources.written_bytes_by_rank == (800, 800)


def test_threads() -> None:
    threads = resources_of(growing()).threads[0]
    assert (threads.threads_max, threads.runnable_mean, threads.runnable_p95) == (5, 3.0, 3.0)
    assert threads.cpu_s == pytest.approx(1.5 * 99.9)
    assert threads.cpu_utilization == pytest.approx(0.75)
    assert threads.queue_delay_s == pytest.approx(0.25 * 99.9)
    assert (threads.voluntary_switches, threads.involuntary_switches) == (20, 100)
    assert threads.cpus_available == 2.0
    groups = {group.stem: group for group in threads.groups}
    assert groups["worker"].count == 2
    assert groups["worker"].cpu_s == pytest.approx(100.0)
    assert groups["worker"].runnable_mean == pytest.approx(0.8)
    assert threads.cpu_series.values[0] == pytest.approx(1.5)


def test_a_quota_below_the_mask_counts() -> None:
    builder = growing()
    builder.rank(0).set(cgroup_cpus=1.25)
    resources = resources_of(builder)
    assert resources.threads[0].cpus_available == 1.25
    assert resources.node_threads[0].cpus == 1.25


def test_nodes_add_up_their_ranks() -> None:
    node = resources_of(growing()).node_threads[0]
    assert (node.ranks, node.cpus, node.runnable_mean) == ((0, 1), 2.0, 6.0)
    assert node.ranks_sharing_a_cpu == ()


def test_runnable_threads_count_while_all_ranks_compute() -> None:
    builder = TraceBuilder(2, end_s=10.0)
    for number in (0, 1):
        rank = builder.rank(number).init(0.0).finalize(10.0)
        rank.op("MPI_Barrier", 5.0, 9.0)
        for tenth in range(100):
            rank.process_sample(tenth / 10 + 0.05, runnable=4 if tenth < 50 else 1)
    assert resources_of(builder).node_threads[0].runnable_mean == pytest.approx(8.0, abs=1.2)


def test_more_ranks_than_cpus_in_a_mask() -> None:
    builder = TraceBuilder(3, end_s=1.0)
    for number, mask in ((0, "0"), (1, "0"), (2, "1-2")):
        builder.rank(number).set(cpus_allowed=mask).process_sample(0.5)
    assert resources_of(builder).node_threads[0].ranks_sharing_a_cpu == (0, 1)


def test_without_samples_there_is_nothing_to_show() -> None:
    resources = resources_of(TraceBuilder(1, end_s=1.0))
    assert (*resources.memory, *resources.threads, *resources.node_threads) == ()
    assert resources.node_memory[0].total_bytes is None


@pytest.mark.parametrize(
    ("text", "cpus"), [("0-3,8", {0, 1, 2, 3, 8}), ("", set()), ("x,2-1,5", {5}), (" 7 ", {7})]
)
def test_cpu_lists(text: str, cpus: set[int]) -> None:
    assert cpu_set(text) == cpus


def test_theil_sen_ignores_outliers() -> None:
    times = np.arange(100, dtype=np.int64) * 10**9
    values = 5 * np.arange(100, dtype=np.int64)
    values[::7] = 10**6
    assert theil_sen(times, values) == pytest.approx(5.0, rel=0.2)
    assert theil_sen(times[:5], values[:5]) is None
