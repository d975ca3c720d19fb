"""Which stacks, seen in training work, show something else than training."""

import sys
from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from perfscope.arrays import Bools, Floats, Ints
from perfscope.attribution.activities import ACTIVITIES, stack_activities
from perfscope.attribution.activity_rules import is_of_arrays, is_trainer, module_of
from perfscope.attribution.ledger import INDEX, IS_COMMUNICATION
from perfscope.attribution.stack_rules import (
    BUILT_IN,
    NATIVE_FILES,
    SYSTEM_CALL,
    is_user_file,
)
from perfscope.attribution.timeline import Timeline
from perfscope.attribution.waited_for import LOCKS, waited_for
from perfscope.judging import ALONE, MAIN, MOST_LOST
from perfscope.schema.enums import Account, Activity
from perfscope.trace.loops import innermost, loops_of
from perfscope.trace.model import Function, Rank, Trace
from perfscope.trace.small_calls import small_calls

TRAINING_ACCOUNTS = (
    Account.TRAINING,
    Account.COMPUTATION,
    Account.USER_PHASES,
    Account.DEVICE_WAIT,
)
"""Accounts of training work, as far as no stack tells that it is something else.

The host that waits for a device is no loss of its own: the device works meanwhile.
"""

TRAINING_ACTIVITIES = frozenset(
    {
        Activity.NUMERIC,
        Activity.COMMUNICATION,
        Activity.DEVICE_WAIT,
        Activity.WORKERS,
        Activity.UNKNOWN,
    }
)
"""Who waits for workers of its own has it done."""


_NEXT_ITEM = ".__next__"
"""What a `for` asks of what is not known: as often a range or a list as an array."""

PLAIN = (Activity.INTERPRETER, Activity.TEXT)
"""What a program does that computes with no arrays: its own code, and what takes texts apart."""

READ = Activity.DATA_PREPARATION
"""The same of what the program reads, where there is something that it prepares this for."""

IS_TRAINING = np.isin(np.arange(len(INDEX)), [INDEX[account] for account in TRAINING_ACCOUNTS])
"""Which indices of accounts are training work."""


def not_training(trace: Trace, timelines: Sequence[Timeline]) -> Ints:
    """For each stack the place in `tuple(Activity)` of what it shows in place of training.

    It is -1 where a stack shows training work, or does not tell. Shape (stacks,).
    """
    activity = stack_activities(trace).astype(np.int64)
    training = set(TRAINING_ACTIVITIES)
    if not any(frame.file in NATIVE_FILES for frame in trace.frames):
        # what a line of the user's had called is not recorded: it may all be numeric work
        training.add(Activity.INTERPRETER)
    else:
        training.update(_purpose(trace, activity, timelines))
    # who waits for its own workers has its work done
    by_rank = _spent(activity, timelines)
    if _simulates(trace, activity, timelines, by_rank):
        training.add(Activity.SLEEP)
    spent = by_rank.sum(axis=0)
    waited = int(spent[ACTIVITIES.index(Activity.LOCK)])
    if waited > MAIN * spent.sum() and _has_workers(trace):
        training.add(Activity.LOCK)
    is_training = np.isin(activity, [ACTIVITIES.index(one) for one in training])
    is_training &= ~_excluded(trace, activity)
    is_training |= (activity == ACTIVITIES.index(Activity.INTERPRETER)) & _calling(trace, timelines)
    return np.where(is_training | _in_numeric_functions(trace, activity), -1, activity)


def _simulates(trace: Trace, activity: Ints, timelines: Sequence[Timeline], by_rank: Ints) -> bool:
    """Whether sleep stands for work: all ranks do next to nothing else, or little, for parts of it.

    A pause lies in one place of a program; what sleeps in place of a forward pass, a backward pass
    and an update is called on several paths.
    """
    work = by_rank.sum(axis=1)
    asleep = by_rank[:, ACTIVITIES.index(Activity.SLEEP)]
    if not by_rank.any() or not np.all(asleep >= ALONE * work):
        return False
    if np.all(asleep >= MOST_LOST * work):
        return True
    is_sleep = activity == ACTIVITIES.index(Activity.SLEEP)
    by_stack = (_by_stack(trace, [timeline]) * is_sleep for timeline in timelines)
    return all(_is_on_several_paths(trace, one) for one in by_stack)


def _is_on_several_paths(trace: Trace, by_stack: Floats) -> bool:
    """Whether no path through the program's own functions leads to nearly all of the time."""
    paths: defaultdict[tuple[Function, ...], float] = defaultdict(float)
    for place in np.flatnonzero(by_stack > 0).tolist():
        frames = (trace.frames[one] for one in trace.stacks[place])
        paths[tuple(one.key for one in frames if is_user_file(one.file))] += by_stack[place]
    return bool(max(paths.values(), default=0.0) <= ALONE * by_stack.sum())


def _by_stack(trace: Trace, timelines: Sequence[Timeline]) -> Floats:
    """Nanoseconds of training work by stack, of all ranks. Shape (stacks,)."""
    result = np.zeros(len(trace.stacks))
    for timeline in timelines:
        known = IS_TRAINING.take(timeline.accounts) & (timeline.stacks >= 0)
        np.add.at(result, timeline.stacks[known], timeline.lengths[known])
    return result


def _excluded(trace: Trace, activity: Ints) -> Bools:
    """Which stacks wait for a lock that another one holds: nobody does their work meanwhile."""
    locked = activity == ACTIVITIES.index(Activity.LOCK)
    found = np.zeros(len(activity), bool)
    for place in np.flatnonzero(locked).tolist():
        found[place] = waited_for(trace.frames, trace.stacks[place]) in LOCKS
    return found


def _calling(trace: Trace, timelines: Sequence[Timeline]) -> Bools:
    """Which stacks are mostly in communication: outside of it they are on the way to or from it.

    What binds a library to Python is no code of the program's that could be another one.
    """
    found = np.zeros((2, len(trace.stacks)), np.int64)
    for rank, timeline in zip(trace.ranks, timelines, strict=False):
        if len(timeline.accounts):
            seen = rank.main_stacks
            is_call = IS_COMMUNICATION[timeline.accounts[timeline.at(seen["t"])]]
            np.add.at(found, (is_call.astype(np.int64), seen["stack"].astype(np.int64)), 1)
    mostly: Bools = found[1] > found[0]
    return mostly


def _has_workers(trace: Trace) -> bool:
    """Whether processes that work for ranks, or threads of theirs, keep more than a CPU busy.

    A single one that others wait for sets the pace: that is no training in parallel. What
    processes do is not known where they were not sampled: they are believed to work.
    """
    life_ns = sum(rank.end_ns - rank.start_ns for rank in trace.ranks)
    wanted = sum(_wanted_by_others(rank) + _wanted_by_workers(rank) for rank in trace.ranks)
    unknown = (rank for rank in trace.ranks if not len(rank.worker_samples))
    return wanted > life_ns or any(rank.workers for rank in unknown)


def _wanted_by_workers(rank: Rank) -> int:
    """Nanoseconds in which processes that work for a rank ran or waited for a CPU."""
    newest = rank.worker_samples[::-1]
    last = newest[np.unique(newest["pid"], return_index=True)[1]]
    return int(last["cpu_ns"].sum()) + int(last["queue_delay_ns"].sum())


def _wanted_by_others(rank: Rank) -> int:
    """Nanoseconds in which threads beside the main one ran or waited for a CPU."""
    return sum(one.cpu_ns + one.queue_delay_ns for one in rank.threads if one.tid != rank.main_tid)


def _purpose(trace: Trace, activity: Ints, timelines: Sequence[Timeline]) -> tuple[Activity, ...]:
    """What plain Python does, with texts, where that is what the program is for; else nothing.

    So it is where libraries of arrays take next to nothing of it, devices as well, and no line of
    the program most of it: a line that goes through all elements of something, again and again, can
    be changed, and of a simulation or a search each line is needed. Where arrays take a tenth, most
    of the rest in one function is such a loop as well, of several lines. Where they take less, and
    no library trains, nothing is there that what is read were prepared for.
    """
    by_stack = _by_stack(trace, timelines)
    computes = activity == ACTIVITIES.index(Activity.NUMERIC)
    for place in np.flatnonzero(computes & (by_stack > 0)).tolist():
        computes[place] = not _is_of_numbers(trace, trace.stacks[place])
    numbers = (activity == ACTIVITIES.index(Activity.NUMERIC)) & ~computes
    computes |= _is_on_few_values(trace, activity)
    computes |= activity == ACTIVITIES.index(Activity.DEVICE_WAIT)
    arrays_ns = by_stack[computes].sum()
    for purpose in ((*PLAIN, READ), PLAIN):
        python = np.isin(activity, [ACTIVITIES.index(one) for one in purpose])
        all_ns = by_stack[computes | python | numbers].sum()
        has_arrays = bool(arrays_ns > MAIN * (1.0 - ALONE) * all_ns)
        if READ in purpose and (has_arrays or any(map(is_trainer, trace.frames))):
            continue
        is_python = arrays_ns < (1.0 - ALONE) * all_ns
        if is_python and _is_spread(trace, by_stack * python, has_arrays):
            return purpose
    return ()


def _is_on_few_values(trace: Trace, activity: Ints) -> Bools:
    """Which stacks of plain Python are in code of a library of arrays, on a few values each."""
    small = small_calls(trace)
    is_there = [
        bool(stack)
        and is_of_arrays(trace.frames[stack[-1]])
        and any(trace.frames[one] in small for one in stack)
        for stack in trace.stacks
    ]
    found: Bools = np.array(is_there, np.bool_) & (
        activity == ACTIVITIES.index(Activity.INTERPRETER)
    )
    return found


def _is_spread(trace: Trace, by_stack: Floats, by_function: bool) -> bool:
    """Whether no line of the program, or no function, takes most of some stacks' time."""
    places: defaultdict[tuple[Function, int], float] = defaultdict(float)
    for place in np.flatnonzero(by_stack > 0).tolist():
        frames = (trace.frames[one] for one in reversed(trace.stacks[place]))
        own = next((one for one in frames if is_user_file(one.file)), None)
        if own is not None:
            places[own.key, 0 if by_function else own.line] += by_stack[place]
    return bool(max(places.values(), default=0.0) <= MAIN * by_stack.sum())


def _is_of_numbers(trace: Trace, stack: Sequence[int]) -> bool:
    """Whether a stack is in Python's own library, which computes with one number at a time."""
    leaf = next(
        (one for place in reversed(stack) if (one := trace.frames[place]).file != SYSTEM_CALL), None
    )
    if leaf is None:
        return False
    module = leaf.function if leaf.file == BUILT_IN else module_of(leaf.file)
    return module.partition(".")[0] in sys.stdlib_module_names


def _in_numeric_functions(trace: Trace, activity: Ints) -> Bools:
    """Which stacks are in Python of a function that at other times is seen in numeric code.

    An operator on arrays that keeps the interpreter's lock is noted when it is over: at the next
    call or jump of its function, or, where that has none left, at the end of the loop that calls
    it. An array that a function makes of objects is part of what it computes by it.
    """
    numeric = {ACTIVITIES.index(one) for one in (Activity.NUMERIC, Activity.UNKNOWN)}
    function = [frame.key for frame in trace.frames]
    native = {
        place
        for place, frame in enumerate(trace.frames)
        if frame.file in NATIVE_FILES and frame.function != _NEXT_ITEM
    }
    is_user = [is_user_file(frame.file) for frame in trace.frames]
    told = list(zip(trace.stacks, activity.tolist(), strict=True))
    computing, asking = set(), set()
    for stack, one in told:
        if len(stack) > 1 and stack[-1] in native and one in numeric:
            computing.add(function[stack[-2]])
            asking.add(next((function[at] for at in reversed(stack) if is_user[at]), None))
    interpreter = ACTIVITIES.index(Activity.INTERPRETER)
    turning = _turning(trace, computing)
    found = [
        bool(stack)
        and one == interpreter
        and (
            function[stack[-2:][0]] in asking
            if is_of_arrays(trace.frames[stack[-1]])
            else function[stack[-1]] in computing
            or (function[stack[-1]], trace.frames[stack[-1]].line) in turning
        )
        for stack, one in told
    ]
    return np.array(found, np.bool_)


def _turning(trace: Trace, computing: set[Function]) -> set[tuple[Function, int]]:
    """Functions with the last lines of the innermost loops around calls of some others.

    What these end with is over where that loop goes round; a loop around it comes there later.
    """
    loops = loops_of(trace.ranks)
    calls = {
        trace.frames[place]
        for stack in trace.stacks
        for place, called in pairwise(stack)
        if trace.frames[called].key in computing
    }
    around = ((one.key, innermost(loops.get(one.key, ()), one.line)) for one in calls)
    return {(function, lines[1]) for function, lines in around if lines is not None}


def _spent(activity: Ints, timelines: Sequence[Timeline]) -> Ints:
    """Nanoseconds of training work by rank and activity, as far as stacks tell.

    Shape (ranks, activities).
    """
    result = np.zeros((len(timelines), len(ACTIVITIES)), np.int64)
    for mine, timeline in zip(result, timelines, strict=True):
        known = IS_TRAINING.take(timeline.accounts) & (timeline.stacks >= 0)
        np.add.at(mine, activity[timeline.stacks[known]], timeline.lengths[known])
    return result
