"""Memory, threads and files as objects of analysis.json."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from perfscope.findings.facts.thread_pools import pools

if TYPE_CHECKING:
    from perfscope.metrics.host.resources import RankMemory, RankThreads, Series
    from perfscope.metrics.results import Results

Json = dict[str, Any]


def memory(results: Results) -> Json:
    """Resident memory of each rank and available memory of each node, in bytes."""
    if reason := results.trace.not_recorded.get("memory"):
        return {"ranks": [], "nodes": [], "reason": reason}
    return {
        "reason": None,
        "ranks": [_rank_memory(rank) for rank in results.resources.memory],
        "nodes": [
            {
                "host": node.host,
                "total_bytes": node.total_bytes,
                "least_available_bytes": node.least_available_bytes,
                "oom_kills": node.oom_kills,
                "ranks": list(node.ranks),
            }
            for node in results.resources.node_memory
        ],
    }


def _rank_memory(rank: RankMemory) -> Json:
    return {
        "rank": rank.rank,
        "host": rank.host,
        "peak_bytes": rank.peak_bytes,
        "start_bytes": rank.start_bytes,
        "end_bytes": rank.end_bytes,
        "slope_bytes_per_s": rank.slope_bytes_per_s,
        "limit_bytes": rank.limit_bytes,
        "peak_phase": rank.peak_phase,
        "tree_bytes": rank.tree_bytes,
        "descendants": rank.descendants,
        "series": _series(rank.series),
    }


def threads(results: Results) -> Json:
    """Threads and CPU of each rank, and of all ranks of a node against its CPUs."""
    if reason := results.trace.not_recorded.get("threads"):
        return {"ranks": [], "nodes": [], "reason": reason}
    return {
        "reason": None,
        "ranks": [_rank_threads(rank, results) for rank in results.resources.threads],
        "nodes": [
            {
                "host": node.host,
                "ranks": list(node.ranks),
                "cpus": node.cpus,
                "runnable_mean": node.runnable_mean if node.samples else None,
                "runnable_p95": node.runnable_p95 if node.samples else None,
                "ranks_sharing_a_cpu": list(node.ranks_sharing_a_cpu),
            }
            for node in results.resources.node_threads
        ],
    }


def _rank_threads(rank: RankThreads, results: Results) -> Json:
    known = next(pools(one) for one in results.trace.ranks if one.number == rank.rank)
    return {
        "rank": rank.rank,
        "host": rank.host,
        "pool_threads": known[0].threads if known else None,
        "threads_max": rank.threads_max,
        "runnable_mean": rank.runnable_mean,
        "runnable_p95": rank.runnable_p95,
        "cpu_s": rank.cpu_s,
        "cpu_utilization": rank.cpu_utilization,
        "queue_delay_s": rank.queue_delay_s,
        "involuntary_switches": rank.involuntary_switches,
        "voluntary_switches": rank.voluntary_switches,
        "cpus_allowed": rank.cpus_allowed,
        "cpus_available": rank.cpus_available,
        "groups": [
            {
                "stem": group.stem,
                "count": group.count,
                "cpu_s": group.cpu_s,
                "runnable_mean": group.runnable_mean,
            }
            for group in rank.groups
        ],
        "threads_series": _series(rank.threads_series),
        "runnable_series": _series(rank.runnable_series),
        "cpu_series": _series(rank.cpu_series),
    }


def io(results: Results) -> Json:
    """Bytes that each rank read and wrote over its life, and how long it stood still for files."""
    if reason := results.trace.not_recorded.get("io"):
        lists: Json = {"read_bytes_by_rank": [], "written_bytes_by_rank": []}
        return {**lists, "stalled_s_by_rank": [], "reason": reason}
    stalled_s = {one.rank: one.stalled_s for one in results.resources.files}
    return {
        "reason": None,
        "stalled_s_by_rank": [stalled_s.get(rank.number) for rank in results.trace.ranks],
        "read_bytes_by_rank": list(results.resources.read_bytes_by_rank),
        "written_bytes_by_rank": list(results.resources.written_bytes_by_rank),
    }


def _series(series: Series) -> Json:
    return {"seconds": list(series.seconds), "values": list(series.values)}
