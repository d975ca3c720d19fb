"""Sampled stacks by phase and rank: the trees that flame graphs are drawn from."""

from collections.abc import Sequence

import numpy as np

from perfscope.arrays import Ints
from perfscope.attribution.ledger import INDEX, IS_COMMUNICATION
from perfscope.attribution.preparation import Prepared
from perfscope.attribution.timeline import Timeline
from perfscope.metrics.host.stack_tree import FunctionTree
from perfscope.schema.enums import Account
from perfscope.schema.resources import MissingStacks, NoStacks, Stacks, StacksOfPhase
from perfscope.trace.model import Table

START_UP, SHUTDOWN, COMMUNICATION, OUTSIDE = "start_up", "shutdown", "communication", "outside"
OTHERS = "others"
"""Worker processes of the ranks, and their threads beside the main one."""

_LABELS = {
    START_UP: "Start-up",
    SHUTDOWN: "Shutdown",
    COMMUNICATION: "Communication outside any phase",
    OUTSIDE: "Outside any phase",
    OTHERS: "Worker processes and other threads",
}
NO_STACKS = NoStacks("whole stacks of all threads were not recorded: use --stacks", (), ())
MOST_PHASES = 16
MOST_RANKS = 8
"""Ranks that a phase is shown for one by one: those with the most seconds in it."""


def stack_profile(prepared: Prepared) -> Stacks | NoStacks:
    """Where the ranks' main threads were, phase by phase, those with most seconds first."""
    sampling = prepared.trace.stack_sampling
    if sampling is None:
        return NO_STACKS
    tree = FunctionTree(sampling.forest, [rank.number for rank in prepared.trace.ranks])
    names = (*prepared.catalog.ids, START_UP, SHUTDOWN, COMMUNICATION, OUTSIDE)
    lengths = np.zeros(len(names))
    for position, timeline in enumerate(prepared.timelines):
        keys = _keys(timeline, names)
        np.add.at(lengths, keys, timeline.lengths)
        spans = prepared.trace.ranks[position].spans
        _add_main(tree, position, timeline, keys, spans[spans["is_main"]], names)
    waiting_ns = _add_others(tree, prepared)
    seconds: dict[str, float] = {}
    for name, spent in zip(names, (lengths / 1e9).tolist(), strict=True):
        seconds[name] = seconds.get(name, 0.0) + spent  # a program may mark what is named so here
    found = [_phase(prepared, tree, name, seconds) for name in tree.groups()]
    found.sort(key=lambda phase: (phase.id == OTHERS, -phase.sampled_s))
    missing = tuple(MissingStacks(rank, why) for rank, why in sorted(sampling.reasons.items()))
    reason = None
    if not found:
        reason = missing[0].reason if missing else "py-spy saw no stack"
    return Stacks(
        reason=reason,
        hz=sampling.hz,
        ranks=tuple(r.number for r in prepared.trace.ranks if np.any(r.spans["is_main"])),
        missing=missing,
        paused_s=max(sampling.paused_s.values(), default=0.0),
        waiting_s=waiting_ns / 1e9,
        phases=tuple(found[:MOST_PHASES]),
        phases_left_out=max(0, len(found) - MOST_PHASES),
    )


def _keys(timeline: Timeline, names: Sequence[str]) -> Ints:
    """What each segment of a timeline counts as: an index in `names`."""
    outside = len(names) - 1
    keys = np.where(timeline.phases >= 0, timeline.phases.astype(np.int64), outside)
    idle = (keys == outside) & IS_COMMUNICATION[timeline.accounts]
    keys = np.where(idle, outside - 1, keys)
    for account, place in ((Account.START_UP, outside - 3), (Account.SHUTDOWN, outside - 2)):
        keys = np.where(timeline.accounts == INDEX[account], place, keys)
    return keys


def _add_main(
    tree: FunctionTree,
    position: int,
    timeline: Timeline,
    keys: Ints,
    spans: Table,
    names: Sequence[str],
) -> None:
    """Adds the time of a rank's main thread, cut where its phases change."""
    if not len(spans) or not len(keys):
        return
    edges = np.unique(np.concatenate([spans["t0"], spans["t1"], timeline.boundaries]))
    first, last = edges[:-1], edges[1:]
    span = np.searchsorted(spans["t0"], first, side="right") - 1
    segment = np.searchsorted(timeline.boundaries, first, side="right") - 1
    known = (span >= 0) & (segment >= 0) & (segment < len(keys))
    known &= last <= spans["t1"][np.maximum(span, 0)]
    nodes, groups = spans["node"][span[known]], keys[segment[known]]
    span_of_nodes = int(nodes.max(initial=0)) + 1
    pairs, index = np.unique(groups * span_of_nodes + nodes, return_inverse=True)
    spent = np.bincount(index.reshape(-1), (last - first)[known])
    for pair, ns in zip(pairs.tolist(), spent.tolist(), strict=True):
        name = names[pair // span_of_nodes]
        tree.add(name, tree.node(pair % span_of_nodes), position, ns)


def _add_others(tree: FunctionTree, prepared: Prepared) -> float:
    """Adds workers and other threads where they do something; nanoseconds in which they wait."""
    waiting = 0.0
    for position, rank in enumerate(prepared.trace.ranks):
        rows = rank.spans[~rank.spans["is_main"]]
        pairs, index = np.unique(rows[["process", "node"]], return_inverse=True)
        spent = np.bincount(index.reshape(-1), rows["t1"] - rows["t0"], minlength=len(pairs))
        for (pid, node), ns in zip(pairs.tolist(), spent.tolist(), strict=True):
            if tree.is_recorder(node):
                continue
            if tree.waits(node):
                waiting += ns
                continue
            name = "other threads" if pid == rank.pid else f"worker process {pid}"
            place = tree.node(node, below=(f"rank {rank.number}", name))
            if not tree.is_root(place[0]):
                tree.add(OTHERS, place, position, ns)
    return waiting


def _phase(
    prepared: Prepared, tree: FunctionTree, name: str, seconds: dict[str, float]
) -> StacksOfPhase:
    label = _LABELS.get(name)
    if label is None:
        label = prepared.catalog.label(prepared.catalog.index(name))
    found = tree.reduced(name, MOST_RANKS)
    whole_s = max(seconds.get(name, 0.0), found.seconds)
    return StacksOfPhase(
        **vars(found) | {"id": name, "label": label, "seconds": whole_s, "sampled_s": found.seconds}
    )
