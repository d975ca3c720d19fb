"""What must hold of every trace that a reader returns, whatever it read."""

import numpy as np

from perfscope.schema.enums import EndKind, PhaseKind
from perfscope.trace import model
from perfscope.trace.model import Rank, Trace
from perfscope.trace.operations import KNOWN, OperationClass, in_classes

MAX_LIFE_NS = 500 * 86400 * 10**9


def check_trace(trace: Trace) -> None:
    """Asserts every invariant of the model."""
    numbers = [rank.number for rank in trace.ranks]
    assert trace.ranks
    assert numbers == sorted(set(numbers))
    assert all(0 <= number < trace.world_size for number in numbers)
    assert all(isinstance(note, str) for note in trace.notes)
    assert trace.wall_ns >= 0
    assert trace.communicators[0].members == tuple(range(trace.world_size))
    for communicator in trace.communicators:
        assert all(0 <= member < trace.world_size for member in communicator.members)
        assert -1 <= communicator.parent < len(trace.communicators)
    for stack in trace.stacks:
        assert stack
        assert all(0 <= frame < len(trace.frames) for frame in stack)
    for rank in trace.ranks:
        _check_rank(trace, rank)


def _check_rank(trace: Trace, rank: Rank) -> None:
    assert 0 <= rank.end_ns - rank.start_ns <= MAX_LIFE_NS
    assert rank.ending.kind in EndKind
    for moment in (rank.init_exit_ns, rank.finalize_enter_ns, rank.detail_end_ns):
        assert moment is None or rank.start_ns <= moment <= rank.end_ns
    _check_operations(trace, rank)
    phases = rank.phases
    assert set(np.unique(phases["kind"]).tolist()) <= set(PhaseKind)
    assert np.all((phases["name"] >= 0) & (phases["name"] < len(trace.names)))
    assert np.all((rank.metrics["name"] >= 0) & (rank.metrics["name"] < len(trace.names)))
    assert np.all((rank.stacks["stack"] >= 0) & (rank.stacks["stack"] < len(trace.stacks)))
    for table in (
        rank.operations,
        rank.background,
        rank.readiness,
        rank.completions,
        phases,
        rank.steps,
        rank.garbage_collections,
    ):
        assert np.all(table["t0"] >= rank.start_ns)
        assert np.all(table["t0"] <= table["t1"])
        assert np.all(table["t1"] <= rank.end_ns)
        assert np.all(np.diff(table["t0"]) >= 0)
    samples = (rank.process_samples, rank.system_samples, rank.node_samples, rank.main_samples)
    memory = (rank.tree_samples, rank.call_samples, rank.python_samples, rank.heap_samples)
    clocks = (rank.cpu_samples, rank.clock_samples)
    for table in (rank.stacks, rank.metrics, *samples, *memory, *clocks):
        assert np.all((table["t"] >= rank.start_ns) & (table["t"] <= rank.end_ns))
        assert np.all(np.diff(table["t"]) >= 0)
    for count, ns, sent, received in rank.totals.values():
        assert min(count, ns, sent, received) >= 0


def _check_operations(trace: Trace, rank: Rank) -> None:
    for table in (rank.operations, rank.completions):
        assert np.all(KNOWN[table["op"]])
        assert np.all((table["comm"] >= -1) & (table["comm"] < len(trace.communicators)))
        assert np.all(table["peer"] >= model.PEER_PROC_NULL)
        assert np.all(table["peer"] < trace.world_size)
        exchanging = in_classes(table["op"], OperationClass.SENDRECV)
        assert np.all(table["seq"][~exchanging] >= -1)
        assert np.all(table["seq"][exchanging] >= model.PEER_PROC_NULL)
        assert np.all(table["seq"][exchanging] < trace.world_size)
        for column in ("sent", "received", "request"):
            assert np.all(table[column] >= 0)
    coalesced = (rank.operations["flags"] & model.RowFlag.COALESCED) != 0
    single = rank.operations[~coalesced]
    for tid in np.unique(single["tid"]).tolist():
        mine = single[single["tid"] == tid]
        assert np.all(mine["t1"][:-1] <= mine["t0"][1:])
