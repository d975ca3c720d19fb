"""What a thread was doing, from the innermost frames of its stack and not from the user's names."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from perfscope.arrays import Bools, Ints
from perfscope.attribution.activity_rules import (
    Told,
    claims,
    module_of,
    told_by,
    told_last,
    waited_for,
)
from perfscope.attribution.input_evidence import is_input
from perfscope.attribution.own_threads import waits_computed
from perfscope.attribution.small_work import is_small_work
from perfscope.attribution.stack_rules import (
    BUILT_IN,
    FROM_TEXT,
    NATIVE_FILES,
    SYSTEM_CALL,
    is_user_file,
)
from perfscope.attribution.waited_for import waited_for as thing_waited_for
from perfscope.schema.enums import Activity, AwaitedThing
from perfscope.trace.loops import polling_frames
from perfscope.trace.model import Frame, Trace
from perfscope.trace.started import starts_no_process

ACTIVITIES = tuple(Activity)
_INDEX = {activity: place for place, activity in enumerate(ACTIVITIES)}
_BEYOND_USER = frozenset({Activity.DATA_PREPARATION, Activity.COMPILING})
"""What stays the purpose when a library calls back a function of the user's: a data set that a
loader asks for an item, a model that is traced."""

_UNTOLD = frozenset({Activity.INTERPRETER, Activity.UNKNOWN})
"""What a system call in which a thread was seen tells more than."""

_NOTHING = Told(Activity.UNKNOWN)
_POOLS = "multiprocessing.pool"
"""The standard library's pools of processes, which is also that of its pools of threads."""

_IN_LOCKS = frozenset({Activity.LOCK, Activity.SLEEP})
"""By which libraries wait for whatever they wait for."""

_CLOCKS = frozenset(
    (f"time.{name}{unit}", BUILT_IN)
    for name in ("time", "monotonic", "perf_counter")
    for unit in ("", "_ns")
)

_KEPT = "stack_activities"
"""Where a trace has its own, which stay as they are: `replace` makes a trace that has none yet."""


def stack_activities(trace: Trace) -> npt.NDArray[np.int8]:
    """For each stack of the trace the place of its activity in `tuple(Activity)`.

    The innermost frame that tells an activity tells that of the stack, down from the user's own
    innermost function; the rest of what that function does is the interpreter's work. A library
    further out, whose purpose the inner ones serve, claims what it has them do. What may prepare
    data does so only where these are input, and who waits for nobody knows what has it computed
    where threads of a library compute meanwhile. Who polls in Python waits as in a lock, and so
    does who waits for a pool where no rank has started a process. What a loop has libraries of
    arrays do is the interpreter's work where each of the calls is over as soon as an empty one.
    """
    kept: dict[str, Any] = vars(trace)
    if _KEPT not in kept:
        kept[_KEPT] = _stack_activities(trace)
        kept[_KEPT].setflags(write=False)
    found: npt.NDArray[np.int8] = kept[_KEPT]
    return found


def _stack_activities(trace: Trace) -> npt.NDArray[np.int8]:
    told = [told_by(frame) for frame in trace.frames]
    awaited = [waited_for(frame) for frame in trace.frames]
    for place in _pools_of_threads(trace):
        told[place] = awaited[place] = None
    polling = polling_frames(trace)
    for place in polling:
        told[place] = Told(Activity.LOCK)
    is_user = [is_user_file(frame.file) for frame in trace.frames]
    found = [
        Told(Activity.LOCK)
        if _looks_at_a_clock(trace.frames, polling, stack)
        else _of_stack(trace.frames, told, awaited, is_user, stack)
        for stack in trace.stacks
    ]
    prepared = is_input(trace, told, is_user, found)
    whole = (
        Activity.DATA_PREPARATION if prepares else one.activity
        for one, prepares in zip(found, prepared, strict=True)
    )
    activities = np.fromiter((_INDEX[activity] for activity in whole), np.int8, len(trace.stacks))
    waits_in = _undecided_places(trace, activities == _INDEX[Activity.LOCK])
    activities[waits_computed(trace.ranks, waits_in)] = _INDEX[Activity.UNKNOWN]
    may_compute = np.isin(activities, [_INDEX[Activity.NUMERIC], _INDEX[Activity.UNKNOWN]])
    activities[is_small_work(trace, may_compute)] = _INDEX[Activity.INTERPRETER]
    return activities


def _looks_at_a_clock(
    frames: Sequence[Frame], polling: frozenset[int], stack: Sequence[int]
) -> bool:
    """Whether all that a loop which only waits calls is a clock: the call is part of the wait."""
    return len(stack) > 1 and stack[-2] in polling and frames[stack[-1]].key in _CLOCKS


def _pools_of_threads(trace: Trace) -> list[int]:
    """The frames of pools in a job in which these cannot be pools of processes."""
    if not all(starts_no_process(rank) for rank in trace.ranks):
        return []
    return [at for at, frame in enumerate(trace.frames) if module_of(frame.file) == _POOLS]


def _undecided_places(trace: Trace, locked: Bools) -> Ints:
    """By stack the frame of Python that waits in a futex without a word for what, -1 none."""
    frames = trace.frames
    places = np.full(len(trace.stacks), -1)
    for at in np.flatnonzero(locked).tolist():
        stack = trace.stacks[at]
        leaf = frames[stack[-1]]
        is_futex = leaf.key == ("futex", SYSTEM_CALL)
        if is_futex and thing_waited_for(frames, stack) is AwaitedThing.UNKNOWN:
            python = (one for one in reversed(stack) if frames[one].file not in NATIVE_FILES)
            places[at] = next(python, -1)
    return places


def _of_stack(
    frames: Sequence[Frame],
    told: Sequence[Told | None],
    awaited: Sequence[Activity | None],
    is_user: Sequence[bool],
    stack: Sequence[int],
) -> Told:
    if _tries_again(frames, told, stack):
        return Told(Activity.LOCK)
    found = _innermost(frames, told, is_user, stack)
    beyond = False
    for place in reversed(stack):
        beyond = beyond or is_user[place]
        if found.activity in _IN_LOCKS and not beyond:
            found = Told(awaited[place] or found.activity)
        outer = told[place]
        if outer is None or (beyond and outer.activity not in _BEYOND_USER):
            continue
        if claims(outer, found.activity):
            found = outer
        elif outer.prepares and found.activity is Activity.NUMERIC:
            found = found._replace(prepares=True)
    return found


def _tries_again(
    frames: Sequence[Frame], told: Sequence[Told | None], stack: Sequence[int]
) -> bool:
    """Whether C code that reads or writes files sleeps: until it gets a lock, as SQLite does."""
    if len(stack) < 2 or _undecided(frames, stack) is not Activity.SLEEP:
        return False
    caller = told[stack[-2]]
    is_native = frames[stack[-2]].file == BUILT_IN
    return is_native and caller is not None and caller.activity is Activity.FILES


def _innermost(
    frames: Sequence[Frame],
    told: Sequence[Told | None],
    is_user: Sequence[bool],
    stack: Sequence[int],
) -> Told:
    """What the innermost frames tell, up to the user's innermost function."""
    if not stack:
        return _NOTHING
    unsure = _undecided(frames, stack)
    is_known = told[stack[-1]] is not None
    if frames[stack[-1]].file == BUILT_IN and not is_known and is_user[stack[-2:][0]]:
        return _NOTHING  # a function of C of no known library: it may well be numeric
    own: Told | None = None
    for place in reversed(stack[:-1] if _serves_a_library(frames, is_user, stack) else stack):
        one = told[place]
        if is_user[place] and frames[place].file == FROM_TEXT and one is None:
            one = Told(Activity.INTERPRETER)  # as named tuples are made: of whoever calls it
        if one is None and not is_user[place]:
            continue
        if unsure and (one is None or one.activity in _UNTOLD):
            return Told(unsure)
        if one is None or one.activity is not Activity.INTERPRETER:
            # what a numeric library has the interpreter do is a part of that library's work
            if own is None or (one is not None and one.activity is Activity.NUMERIC):
                return one or Told(Activity.INTERPRETER)
            return own
        own = own or one
    return own or Told(unsure or Activity.UNKNOWN)


def _serves_a_library(
    frames: Sequence[Frame], is_user: Sequence[bool], stack: Sequence[int]
) -> bool:
    """Whether the innermost frame is C code of no known name that Python code of a library calls.

    What that library is for tells more. Called by the user's code, it may well be numeric.
    """
    if len(stack) < 2 or frames[stack[-1]].file != BUILT_IN or is_user[stack[-2]]:
        return False
    told = told_by(frames[stack[-1]])
    return told is not None and told.activity is Activity.UNKNOWN


def _undecided(frames: Sequence[Frame], stack: Sequence[int]) -> Activity | None:
    """What a system call tells by which many things are waited for."""
    return told_last(frames[stack[-1]])
