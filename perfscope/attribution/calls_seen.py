"""Stack samples that speak for time in which they were not taken: what they called is left out.

Another thread looks at stacks, and gets to it where the main one lets go of the interpreter: more
often than not at a call for communication. Such a sample also speaks for the work around the call,
of which it knows the function; what the call does it must not pass off as that work.
"""

from dataclasses import replace

import numpy as np

from perfscope.arrays import Bools, Ints
from perfscope.attribution.activities import ACTIVITIES, stack_activities
from perfscope.attribution.stack_rules import BUILT_IN, NATIVE_FILES
from perfscope.schema.enums import Activity
from perfscope.trace.model import Frame, Rank, Trace

CALL = Frame("mpi4py.MPI", BUILT_IN, 0)
"""What stands for a call of which it is not told what it does."""

AT_THE_DOOR_NS = 500_000
"""The interpreter is let go of before the call is entered: so long a busy machine takes for it."""

BEGINS_A_CALL = (Activity.COMMUNICATION, Activity.SERIALIZATION)
"""What is seen then."""


def with_bare_stacks(trace: Trace) -> tuple[Trace, Ints]:
    """The trace with a stack more for each whose leaf is no Python code, in which a call stands.

    Samples inside operations get these. Also told is for each stack the one that stands for it,
    itself where its leaf is Python code; shape (stacks,).
    """
    native = {place for place, frame in enumerate(trace.frames) if frame.file in NATIVE_FILES}
    stacks = list(trace.stacks)
    bare = np.arange(len(stacks))
    for place, stack in enumerate(trace.stacks):
        if stack and stack[-1] in native:
            bare[place] = len(stacks)
            stacks.append((*stack[:-1], len(trace.frames)))
    if len(stacks) == len(trace.stacks):
        return trace, bare
    begins = np.isin(stack_activities(trace), [ACTIVITIES.index(one) for one in BEGINS_A_CALL])
    ranks = [_with_calls(rank, bare, begins) for rank in trace.ranks]
    whole = np.concatenate([bare, np.arange(len(bare), len(stacks))])
    return replace(trace, ranks=ranks, frames=[*trace.frames, CALL], stacks=stacks), whole


def _with_calls(rank: Rank, bare: Ints, begins: Bools) -> Rank:
    rows = rank.stacks.copy()
    inside = _in_calls(rank, begins)
    rows["stack"][inside] = bare[rows["stack"][inside]]
    return replace(rank, stacks=rows)


def _in_calls(rank: Rank, begins: Bools) -> Bools:
    """Which samples of the main thread lie in one of its operations, or at the door to one."""
    samples, operations = rank.stacks, rank.operations
    main = operations[operations["tid"] == rank.main_tid]
    if not len(main) or not len(samples):
        return np.zeros(len(samples), np.bool_)
    order = np.argsort(main["t0"], kind="stable")
    enter, leave = main["t0"][order], np.maximum.accumulate(main["t1"][order])
    at = samples["t"]
    place = np.searchsorted(enter, at, side="right") - 1
    inside = (place >= 0) & (at <= leave[np.maximum(place, 0)])
    later = np.minimum(place + 1, len(enter) - 1)
    inside |= begins[samples["stack"]] & (enter[later] > at) & (enter[later] - at < AT_THE_DOOR_NS)
    return np.asarray(inside & (samples["tid"] == rank.main_tid) & (samples["stack"] >= 0))
