"""Sampled stacks and lines that keep memory as objects of analysis.json."""

from __future__ import annotations

from perfscope.document.measures import place
from perfscope.metrics.host import stack_tree
from perfscope.metrics.host.memory_detail import KeptLine, MemoryDetail
from perfscope.metrics.host.stack_profile import PhaseStacks
from perfscope.metrics.results import Results
from perfscope.schema.resources import (
    MemoryLine,
    MemoryLines,
    MemoryLinesOfRank,
    MissingStacks,
    NoStacks,
    StackNode,
    Stacks,
    StacksOfPhase,
    TopFunction,
)

NO_STACKS = "stacks were not sampled: record with --stacks"
NO_LINES = "memory was not recorded by line: record with --memory-detail RANK"


def stacks(results: Results) -> Stacks | NoStacks:
    """Where the ranks' main threads were, phase by phase, as trees of functions."""
    found = results.stack_profile
    if found is None:
        return NoStacks(NO_STACKS, (), ())
    missing = tuple(MissingStacks(rank, why) for rank, why in sorted(found.reasons.items()))
    reason = None
    if not found.phases:
        reason = missing[0].reason if missing else "py-spy saw no stack"
    return Stacks(
        reason=reason,
        hz=found.hz,
        ranks=tuple(found.sampled_ranks),
        missing=missing,
        paused_s=max(found.paused_s.values(), default=0.0),
        waiting_s=found.waiting_s,
        phases=tuple(_phase(phase) for phase in found.phases),
        phases_left_out=found.left_out_phases,
    )


def _phase(phase: PhaseStacks) -> StacksOfPhase:
    return StacksOfPhase(
        id=phase.id,
        label=phase.label,
        seconds=phase.seconds,
        sampled_s=phase.sampled_s,
        ranks=tuple(phase.ranks),
        nodes=tuple(_node(node) for node in phase.nodes),
        nodes_left_out=phase.left_out_nodes,
        left_out_s=phase.left_out_s,
        top=tuple(_top(function) for function in phase.top),
    )


def _node(node: stack_tree.StackNode) -> StackNode:
    return StackNode(
        parent=node.parent,
        **vars(node.frame),
        is_user=node.is_user,
        seconds=node.seconds,
        self_s=node.self_s,
        seconds_by_rank=tuple(node.seconds_by_rank),
    )


def _top(function: stack_tree.TopFunction) -> TopFunction:
    return TopFunction(
        **vars(function.frame),
        is_user=function.is_user,
        self_s=function.self_s,
        total_s=function.total_s,
    )


def memory_detail(results: Results) -> MemoryLines:
    """Lines that kept memory on the ranks that were watched."""
    if not results.memory_detail:
        return MemoryLines(NO_LINES, ())
    return MemoryLines(None, tuple(_detail(detail) for detail in results.memory_detail))


def _detail(detail: MemoryDetail) -> MemoryLinesOfRank:
    return MemoryLinesOfRank(
        rank=detail.rank,
        engine=detail.engine,
        reason=detail.reason or None,
        window_s=(detail.start_s, detail.start_s + detail.seconds),
        is_whole_life=detail.is_whole_life,
        kept_bytes=detail.kept_bytes,
        lines=tuple(_line(line) for line in detail.lines),
    )


def _line(line: KeptLine) -> MemoryLine:
    return MemoryLine(
        **vars(line.where),
        kept_bytes=line.kept_bytes,
        count=line.count,
        allocator=place(line.allocator) if line.allocator else None,
    )
