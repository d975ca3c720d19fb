"""Memory, threads and files as objects of analysis.json."""

from dataclasses import fields, replace

from perfscope.findings.core.finding import place_of
from perfscope.findings.facts.thread_pools import pools
from perfscope.metrics.host.resources import NodeThreads, RankMemory
from perfscope.metrics.host.worker_use import WorkerUse
from perfscope.metrics.results import Results
from perfscope.schema.resources import (
    InputOutput,
    Memory,
    MemoryLines,
    MemoryOfRank,
    Threads,
    ThreadsOfNode,
    ThreadsOfRank,
    WorkersActivity,
    WorkersOfRank,
)
from perfscope.trace.model import Rank

NO_LINES = "memory was not recorded by line: record with --memory-detail RANK"


def memory(results: Results) -> Memory:
    """Resident memory of each rank and available memory of each node, in bytes."""
    lines = MemoryLines(None if results.memory_detail else NO_LINES, results.memory_detail)
    if reason := results.trace.not_recorded.get("memory"):
        return Memory(reason, (), (), lines)
    found = results.resources
    return Memory(None, tuple(_memory(rank) for rank in found.memory), found.node_memory, lines)


def _memory(rank: RankMemory) -> MemoryOfRank:
    return MemoryOfRank(**{one.name: getattr(rank, one.name) for one in fields(MemoryOfRank)})


def threads(results: Results) -> Threads:
    """Threads and CPU of each rank, and of all ranks of a node against its CPUs."""
    if reason := results.trace.not_recorded.get("threads"):
        return Threads(reason, (), ())
    by_number = {rank.number: rank for rank in results.trace.ranks}
    return Threads(
        reason=None,
        ranks=tuple(
            _rank_threads(found, by_number[found.rank]) for found in results.resources.threads
        ),
        nodes=tuple(_node_threads(node) for node in results.resources.node_threads),
        workers=tuple(_workers(use) for use in results.worker_use),
    )


def _workers(use: WorkerUse) -> WorkersOfRank:
    return WorkersOfRank(
        rank=use.rank,
        processes=use.processes,
        working_samples=use.working,
        waiting_samples=use.waiting,
        cpu_share=use.cpu_share,
        queue_share=use.queue_share,
        activities=tuple(
            WorkersActivity(activity, count / use.working)
            for activity, count in use.activities.items()
        ),
        where=place_of(use.place) if use.place else None,
        where_share=use.at_place / use.working if use.working else 0.0,
    )


def _rank_threads(found: ThreadsOfRank, rank: Rank) -> ThreadsOfRank:
    known = pools(rank)
    return replace(found, pool_threads=known[0].threads if known else None)


def _node_threads(node: NodeThreads) -> ThreadsOfNode:
    return ThreadsOfNode(
        host=node.host,
        ranks=node.ranks,
        cpus=node.cpus,
        runnable_mean=node.runnable_mean if node.samples else None,
        runnable_p95=node.runnable_p95 if node.samples else None,
        ranks_sharing_a_cpu=node.ranks_sharing_a_cpu,
    )


def io(results: Results) -> InputOutput:
    """Bytes that each rank read and wrote over its life, and how long it stood still for files."""
    if reason := results.trace.not_recorded.get("io"):
        return InputOutput(reason, (), (), ())
    stalled_s = {one.rank: one.stalled_s for one in results.resources.files}
    return InputOutput(
        reason=None,
        stalled_s_by_rank=tuple(stalled_s.get(rank.number) for rank in results.trace.ranks),
        read_bytes_by_rank=results.resources.read_bytes_by_rank,
        written_bytes_by_rank=results.resources.written_bytes_by_rank,
    )
