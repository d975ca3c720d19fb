"""Training work in which a rank was ready to work and could not: by CPUs, lock or page faults."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from perfscope.attribution.ledger import IS_COMMUNICATION
from perfscope.losses.cause import LossCause
from perfscope.replay.model import Edit
from perfscope.schema.enums import LossKind

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt

    from perfscope.attribution.timeline import Timeline
    from perfscope.metrics.results import Results

    Ints = npt.NDArray[np.int64]

HELD_UP = (LossKind.CPU_WAIT, LossKind.INTERPRETER_LOCK, LossKind.PAGE_FAULTS)

MOST = 0.98
"""Of a rank's work at most: some of it was done."""


def held_up(results: Results, position: int, training_ns: int) -> Iterator[tuple[LossCause, int]]:
    """Nanoseconds of a rank's training work in which it was held up, by what.

    The three exclude each other: without a CPU a thread runs nothing, a thread that waits for the
    lock wants no CPU, and one that has a page fault runs in the kernel. They are known of all work
    between calls; training work has its part of them.

    Args:
        results: the run.
        position: of the rank.
        training_ns: its training work in the focus.
    """
    work_ns = _work_ns(results, position)
    part = training_ns / work_ns if work_ns else 0.0
    left = training_ns
    for kind, seconds in zip(HELD_UP, _seconds(results, position), strict=True):
        ns = min(round(seconds * 1e9 * part), left)
        left -= ns
        yield LossCause(kind), ns


def _seconds(results: Results, position: int) -> tuple[float, float, float]:
    """Of all work between calls of a rank; 0 where it was not measured."""
    number = results.trace.ranks[position].number
    queued = (one.in_work_s for one in results.resources.cpu_waits if one.rank == number)
    locked = (one.waited_s for one in results.lock_waits if one.rank == number)
    faults = (one.fault_s for one in results.fault_times if one.rank == number and one.least_s > 0)
    return next(queued, 0.0), next(locked, 0.0), next(faults, 0.0)


def _work_ns(results: Results, position: int) -> int:
    timeline: Timeline = results.timelines[position]
    work = timeline.inside(results.focus) & ~IS_COMMUNICATION[timeline.accounts]
    return int(timeline.lengths[work].sum())


def without(results: Results, own: Ints) -> tuple[Edit, ...]:
    """The work of each rank shorter by what it was held up, shape (ranks,)."""
    found = []
    for position, ns in enumerate(own.tolist()):
        work_ns = _work_ns(results, position)
        if ns > 0 and work_ns > 0:
            number = results.trace.ranks[position].number
            found.append(Edit(ranks=(number,), factor=1.0 - min(ns / work_ns, MOST)))
    return tuple(found)
