"""What the processes that work for a rank were seen doing, and how much of a CPU they used."""

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from perfscope.arrays import Bools, Ints
from perfscope.attribution.activities import ACTIVITIES, stack_activities
from perfscope.attribution.own_places import stacks_inside, usual_place
from perfscope.attribution.preparation import Prepared
from perfscope.attribution.stack_rules import is_user_file
from perfscope.metrics.host.input_parts import (
    InputPart,
    in_main_threads,
    part_of_frame,
    part_of_stack,
)
from perfscope.schema.enums import Activity
from perfscope.structures import dataclass
from perfscope.trace.model import Frame, Rank, Table, Trace

WAITING = (Activity.LOCK, Activity.SLEEP, Activity.COMMUNICATION, Activity.DEVICE_WAIT)
"""What a process does that has nothing to do, where none of the user's functions is the cause."""


@dataclass(frozen=True)
class WorkerUse:
    """The processes that worked for one rank, in the focus of analysis.

    `at_once` is how many of them lived at a time, at most: a loader may start others each epoch. Of
    their main threads' samples, `waiting` are those in which they waited for work or for room in
    a queue, and `working` all others; `activities` tells these apart. `place` is the user's
    function in which they worked most, at the line seen most, and `at_place` how often that was.
    """

    rank: int
    processes: int
    at_once: int
    waiting: int
    working: int
    activities: Mapping[Activity, int]
    place: Frame | None
    at_place: int
    cpu_share: float | None  # of the time that they lived, in which they used a CPU; None unknown
    queue_share: float | None  # of that time, in which they waited for a CPU


def worker_use(prepared: Prepared) -> tuple[WorkerUse, ...]:
    """Of the ranks whose workers were seen in the focus."""
    trace = prepared.trace
    seen = [prepared.focus.within(rank.worker_stacks) for rank in trace.ranks]
    if not any(map(len, seen)):
        return ()
    activity = stack_activities(trace).astype(np.int64)
    idle = is_waiting(trace, activity)
    found = []
    for rank, rows in zip(trace.ranks, seen, strict=True):
        if len(rows):
            samples = prepared.focus.within(rank.worker_samples)
            found.append(_of_rank(trace, rank, rows, samples, activity, idle))
    return tuple(found)


def is_waiting(trace: Trace, activity: Ints) -> Bools:
    """By stack, whether a worker that is seen in it waits for others, outside the user's code."""
    frames = [part_of_frame(frame) for frame in trace.frames]
    is_own = [is_user_file(frame.file) for frame in trace.frames]
    waits = np.isin(activity, [ACTIVITIES.index(one) for one in WAITING])
    parts = [part_of_stack(frames, is_own, stack) is InputPart.WAIT for stack in trace.stacks]
    inside = np.array([any(is_own[place] for place in stack) for stack in trace.stacks], bool)
    found: Bools = (waits | np.array(parts, bool)) & ~inside
    return found


def _of_rank(
    trace: Trace, rank: Rank, rows: Table, samples: Table, activity: Ints, idle: Bools
) -> WorkerUse:
    main = in_main_threads(rows)
    stacks: Ints = main["stack"].astype(np.int64)
    busy = stacks[~idle[stacks]]
    place, at_place = _place(trace, busy.tolist())
    cpu, queue = _shares(samples)
    counted = Counter(ACTIVITIES[one] for one in activity[busy].tolist())
    return WorkerUse(
        rank=rank.number,
        processes=len(np.unique(main["pid"])),
        at_once=_at_once(main),
        waiting=len(stacks) - len(busy),
        working=len(busy),
        activities=dict(counted.most_common()),
        place=place,
        at_place=at_place,
        cpu_share=cpu,
        queue_share=queue,
    )


def _at_once(main: Table) -> int:
    """The most processes whose first and last samples have a moment between them."""
    lives = [main["t"][main["pid"] == pid] for pid in np.unique(main["pid"]).tolist()]
    ends = np.sort([int(times.max()) for times in lives])
    begins = np.sort([int(times.min()) for times in lives])
    alive = np.arange(1, len(begins) + 1) - np.searchsorted(ends, begins)
    return int(alive.max(initial=0))


def _place(trace: Trace, busy: Sequence[int]) -> tuple[Frame | None, int]:
    place = usual_place((trace.stacks[one] for one in busy), trace.frames)
    if place is None:
        return None, 0
    return place, int(stacks_inside(trace, place)[busy].sum())


def _shares(samples: Table) -> tuple[float | None, float | None]:
    """CPU time and time of waiting for a CPU, of the time between first and last samples."""
    lived = cpu = queue = 0
    for pid in np.unique(samples["pid"]).tolist():
        rows = samples[samples["pid"] == pid]
        lived += int(rows["t"][-1] - rows["t"][0])
        cpu += int(rows["cpu_ns"][-1] - rows["cpu_ns"][0])
        queue += int(rows["queue_delay_ns"][-1] - rows["queue_delay_ns"][0])
    return (max(0, cpu) / lived, max(0, queue) / lived) if lived else (None, None)
