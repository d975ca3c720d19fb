"""What a loop does around calls that a single one can stand for."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from perfscope.findings.core.finding import Gain
from perfscope.findings.core.gain import as_bare_bound, saved
from perfscope.findings.losses.groups import Group, class_of
from perfscope.metrics.results import Results
from perfscope.trace.loops import innermost, loops_of
from perfscope.trace.model import Frame
from perfscope.trace.operations import OperationClass
from perfscope.units import NS


def with_loop(results: Results, group: Group, meeting: Sequence[Frame], gain: Gain) -> Gain:
    """The gain; where one call can replace all that a loop makes, the loop goes, too.

    What fetches row by row spends as much on finding each row and calling for it as in the calls.
    `meeting` is where the calls are made, empty where samples tell no such place.
    """
    is_fetched = class_of(group.entries[0].cause.operation) is OperationClass.ONE_SIDED
    around_s = _around_s(results, meeting[0]) if meeting and is_fetched else 0.0
    around_s = min(around_s, gain.seconds)  # what else the loop computes stays
    if not around_s:
        return gain
    most_s = min(gain.seconds + around_s, results.focus.length_ns * NS)
    return replace(
        as_bare_bound(saved(results, most_s)),
        counts="counts the loop that makes the calls, too",
        counts_more=True,
    )


def _around_s(results: Results, place: Frame) -> float:
    """Seconds of the rank that spends most between the calls, in the innermost loop around one."""
    lines = innermost(loops_of(results.trace.ranks).get(place.key, ()), place.line)
    if lines is None or results.labels is None:
        return 0.0
    frames = results.trace.frames
    is_inside = np.array([f.key == place.key and lines[0] <= f.line <= lines[1] for f in frames])
    users = results.labels.user_frame
    is_around = is_inside[users] & (users >= 0)
    spent = (one.by_stack(one.work(results.focus), len(users)) for one in results.timelines)
    return NS * max((float(ns[is_around].sum()) for ns in spent), default=0.0)
