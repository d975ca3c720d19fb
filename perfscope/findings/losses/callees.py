"""What a line of the program calls while something is lost there."""

from collections import Counter
from collections.abc import Sequence

import numpy as np

from perfscope.attribution.activities import ACTIVITIES
from perfscope.attribution.activity_rules import module_of
from perfscope.attribution.stack_rules import BUILT_IN
from perfscope.judging import MAIN
from perfscope.losses.entry import Entry
from perfscope.metrics.results import Results
from perfscope.trace.model import Frame

INNER = "<locals>"
"""In the names of functions that are made in others, as decorators do."""


def callee_of(results: Results, entry: Entry) -> str:
    """The function of a library that the program calls where most of a loss is seen.

    "" where it is not seen to call any, and of a loss that is of no activity.
    """
    labels, kinds, activity = results.labels, results.not_training, entry.cause.activity
    if labels is None or kinds is None or entry.frame is None or activity is None:
        return ""
    trace = results.trace
    is_here = np.array([frame.key == entry.frame.key for frame in trace.frames], np.bool_)
    chosen = (kinds == ACTIVITIES.index(activity)) & is_here[labels.user_frame]
    counts = np.zeros(len(trace.stacks), np.int64)
    for rank in trace.ranks:
        if rank.number in entry.ranks:
            stacks = results.focus.within(rank.main_stacks)["stack"]
            counts += np.bincount(stacks, minlength=len(counts))
    seen = Counter[str]()
    for number in np.flatnonzero(chosen & (counts > 0)).tolist():
        stack = [trace.frames[one] for one in trace.stacks[number]]
        seen[_called(stack, trace.frames[labels.user_frame[number]])] += int(counts[number])
    name, count = max(seen.items(), key=lambda one: (one[1], one[0]), default=("", 0))
    return name if count > MAIN * seen.total() else ""


def _called(stack: Sequence[Frame], caller: Frame) -> str:
    """The function behind the last call of the user's function, what decorates it left out."""
    if caller not in stack:
        return ""
    behind = stack[len(stack) - stack[::-1].index(caller) :]
    called = next((one for one in behind if INNER not in one.function), None)
    if called is None or called.file == BUILT_IN:
        return called.function if called else ""
    package, _, inner = module_of(called.file).partition(".")
    if not package:
        return ""
    return f"{called.function} of {package}" if inner else f"{package}.{called.function}"
