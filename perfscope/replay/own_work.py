"""What ranks do by themselves in each segment of a run: their work without waiting for CPUs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from perfscope.arrays import Floats
from perfscope.metrics.host.cpu_delay import CpuDelay
from perfscope.replay.edits import apply_edits, by_segment
from perfscope.replay.model import Edit
from perfscope.replay.program import Program
from perfscope.units import NS

OWN = Edit(waits_for_cpu=True)
"""The run as it would be if no rank waited for a CPU in its work."""


def least_uneven_s(program: Program, *, after: Sequence[Edit] = ()) -> float:
    """What ranks surely lose by unequal work of their own in single segments, in seconds.

    In a segment all wait for the rank that works longest. It may have waited for CPUs for as long
    as scheduler and clocks allow, and the others for no longer than they tell: what it works longer
    even so, beyond the mean of all, is its own. 0.0 where waiting is not known.
    """
    delays = program.delays
    if not delays or program.begin_ns is None:
        return 0.0
    work = by_segment(program, apply_edits(program, after))
    told, most = _waited(program, delays)
    own, least = np.maximum(work - told, 0.0), np.maximum(work - most, 0.0)
    is_exact = most <= told + 1.0  # to the nanosecond, in which times are
    others = np.where(is_exact, own, work)
    rest = others.sum(axis=1, keepdims=True) - others
    beyond = least - (least + rest) / work.shape[1]
    return NS * float(np.maximum(beyond.max(axis=1), 0.0).sum())


def _waited(program: Program, delays: Sequence[CpuDelay]) -> tuple[Floats, Floats]:
    """Waiting in the work of each segment and rank, told and at most, shape (segments, ranks)."""
    assert program.begin_ns is not None
    begin, row = program.begin_ns.all(), program.work.row[: len(program.begin_ns)]
    ranks = len(program.ranks)
    shape = program.segment_count, ranks
    cell = program.row_segment[row].astype(np.int64) * ranks + program.row_rank[row]
    firsts = np.flatnonzero(np.diff(cell, prepend=-1))
    lasts = np.append(firsts, len(cell))[1:] - 1  # none where there is no work
    end = begin[lasts] + program.work.ns[lasts]
    told, most = np.zeros(shape[0] * ranks), np.zeros(shape[0] * ranks)
    for place, delay in enumerate(delays):
        mine = cell[firsts] % ranks == place
        cells, stretch = cell[firsts][mine], (begin[firsts][mine], end[mine])
        told[cells], most[cells] = delay.between(*stretch), delay.most(*stretch)
    return told.reshape(shape), most.reshape(shape)
