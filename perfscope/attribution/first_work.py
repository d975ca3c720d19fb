"""Work of the program's own before its first step, where the run is for that as well."""

import numpy as np

from perfscope.arrays import Bools, Ints
from perfscope.attribution.activities import ACTIVITIES, stack_activities
from perfscope.attribution.stack_rules import is_user_file
from perfscope.judging import ALONE
from perfscope.schema.enums import Activity
from perfscope.trace.model import Rank, Trace

SETS_UP = (Activity.IMPORTING, Activity.COMPILING)
"""What comes once, however much the program has to do."""


def first_work_ns(rank: Rank, is_own: Bools, end_ns: int) -> int:
    """When a rank begins the work that the run is for: with its first step, or before that.

    Before the steps much may be done, as data are prepared or another method is tried first. Where
    that is more than a fifth of what is left of the program without its setting up, it is a part
    of the run like any other. It begins where most would be left of it without imports and
    compilation.

    Args:
        rank: one that tells steps.
        is_own: which stacks of the trace are such work (`own_stacks`).
        end_ns: the end of its work.
    """
    first_ns = int(rank.steps["t0"].min())
    seen = rank.main_stacks
    seen = seen[seen["t"] < first_ns]
    if not len(seen):
        return first_ns
    seen = seen[np.argsort(seen["t"], kind="stable")]
    begins: Ints = np.concatenate([[rank.start_ns], seen["t"][:-1]])
    lengths = np.diff(begins, append=first_ns)
    works = is_own[seen["stack"]]
    left = np.cumsum(np.where(works, lengths, -lengths)[::-1])[::-1]
    at = int(left.argmax())
    own_ns = int(lengths[at:][works[at:]].sum())
    begin_ns = int(begins[at])
    return begin_ns if own_ns > (1.0 - ALONE) * (end_ns - begin_ns) else first_ns


def own_stacks(trace: Trace) -> Bools:
    """Which stacks are in the program's own code, and do not set it up; none behind the last."""
    sets_up = np.isin(stack_activities(trace), [ACTIVITIES.index(one) for one in SETS_UP])
    is_user = [is_user_file(frame.file) for frame in trace.frames]
    has_user = np.array([any(is_user[at] for at in stack) for stack in trace.stacks], np.bool_)
    return np.append(has_user & ~sets_up, False)
