"""Stack samples inside communication: what they show at their leaf is the call, and no work.

Another thread looks at stacks, and gets to where the main one lets go of the interpreter: more
often than not at such a call. The sample then speaks for the work around the call, of which it
knows the function; what the call does it must not pass off as that work.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from perfscope.attribution.stack_rules import BUILT_IN, NATIVE_FILES
from perfscope.trace.model import Frame, Rank, Table, Trace

CALL = Frame("mpi4py.MPI", BUILT_IN, 0)
"""What stands for the call at the leaf of such a stack."""


def with_calls_told(trace: Trace) -> Trace:
    """The trace with samples inside calls telling so, where leaves are recorded at all."""
    is_native = np.array([frame.file in NATIVE_FILES for frame in trace.frames], np.bool_)
    if not is_native.any():
        return trace
    leaf_is_native = np.array(
        [bool(stack) and bool(is_native[stack[-1]]) for stack in trace.stacks], np.bool_
    )
    frames, stacks = [*trace.frames, CALL], list(trace.stacks)
    made: dict[int, int] = {}
    ranks = []
    for rank in trace.ranks:
        here = np.flatnonzero(_in_calls(rank) & leaf_is_native[rank.stacks["stack"]])
        rows = rank.stacks.copy()
        for place in here.tolist():
            old = int(rows["stack"][place])
            if old not in made:
                made[old] = len(stacks)
                stacks.append((*trace.stacks[old][:-1], len(frames) - 1))
            rows["stack"][place] = made[old]
        ranks.append(replace(rank, stacks=rows))
    return replace(trace, ranks=ranks, frames=frames, stacks=stacks)


def _in_calls(rank: Rank) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Which samples of the main thread lie in one of its operations."""
    samples: Table = rank.stacks
    main = rank.operations[rank.operations["tid"] == rank.main_tid]
    if not len(main) or not len(samples):
        return np.zeros(len(samples), np.bool_)
    order = np.argsort(main["t0"], kind="stable")
    enter, leave = main["t0"][order], np.maximum.accumulate(main["t1"][order])
    place = np.searchsorted(enter, samples["t"], side="right") - 1
    inside = (place >= 0) & (samples["t"] <= leave[np.maximum(place, 0)])
    return np.asarray(inside & (samples["tid"] == rank.main_tid) & (samples["stack"] >= 0))
