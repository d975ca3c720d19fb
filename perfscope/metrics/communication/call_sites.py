"""Places of the user's program that communicate or access files, by samples of the main thread."""

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import field

import numpy as np

from perfscope.arrays import Bools, is_one_of
from perfscope.attribution.ledger import INDEX
from perfscope.attribution.preparation import Prepared
from perfscope.attribution.sampled import search_within
from perfscope.attribution.stack_rules import StackLabels, is_user_file, most_seen_line
from perfscope.attribution.together import gaps_of, period_ns
from perfscope.matching.intervals import Times
from perfscope.metrics.host.file_waits import stalled_moments
from perfscope.schema.enums import Account
from perfscope.structures import dataclass
from perfscope.trace.model import Frame, Function, Table, Trace

MOST_PLACES = 3
"""That are named of what was lost, or waited for, in many."""

LONG_PERIODS = 2.0
"""A stretch without communication that is so many sampling periods long has samples of its own."""

TRANSFER = (Account.COMMUNICATION_TRANSFER, Account.COMMUNICATION_OTHER)


@dataclass(frozen=True)
class Place:
    """A function of the user's with the line seen most often in it, and in how many samples."""

    frame: Frame
    samples: int


@dataclass(frozen=True)
class Places:
    """Where samples were: the user's own innermost functions, most samples first, at most three.

    `samples` counts all, also those in which no function of the user's was on the stack.
    """

    samples: int = 0
    most: tuple[Place, ...] = ()


@dataclass(frozen=True)
class CallSites:
    """Where main threads were while data was moved, in file calls, and when ranks stood still.

    Waiting for other ranks is not among the first: what is late there is elsewhere. It has places
    of its own, where ranks meet: where they need not, these are what to change.
    """

    transfer: Places = field(default_factory=Places)
    waiting: Places = field(default_factory=Places)
    files: Places = field(default_factory=Places)
    stalls: Mapping[int, Places] = field(default_factory=dict)
    """By rank number; a stalled moment takes the sample that speaks for it."""


def call_sites(prepared: Prepared) -> CallSites:
    """The places of all ranks in the focus; samples are those of the Python stack."""
    transfer: Counter[int] = Counter()
    waiting: Counter[int] = Counter()
    files: Counter[int] = Counter()
    counted = [
        (found, [INDEX[account] for account in accounts])
        for found, accounts in (
            (transfer, TRANSFER),
            (waiting, (Account.COMMUNICATION_WAIT,)),
            (files, (Account.IO,)),
        )
    ]
    stalls, trace = {}, prepared.trace
    for position, (rank, timeline) in enumerate(zip(trace.ranks, prepared.timelines, strict=True)):
        rows = prepared.focus.within(rank.main_stacks)
        if not len(rows):
            continue
        account = timeline.accounts[timeline.at(rows["t"])]
        for found, accounts in counted:
            found.update(rows["stack"][is_one_of(account, accounts)].tolist())
        stalled = Counter(_stalled(prepared, position, rows))
        stalls[rank.number] = places(trace, prepared.labels, stalled)
    return CallSites(
        transfer=places(trace, prepared.labels, transfer),
        waiting=places(trace, prepared.labels, waiting),
        files=places(trace, prepared.labels, files),
        stalls=stalls,
    )


def _stalled(prepared: Prepared, position: int, rows: Table) -> list[int]:
    """The stack that speaks for each moment at which a rank was seen standing still.

    Stacks are sampled as rarely as the states of threads, and not at the same moments: in a stretch
    without communication that is too short for samples of its own, the one speaks that was taken
    after as long a time in a stretch of the same kind.
    """
    part = prepared.parts[position]
    times, moments = rows["t"].astype(np.int64), stalled_moments(prepared, position)
    if not len(part.samples.gap_stack) or not len(moments):
        return []
    gaps = gaps_of(part.rank, part.blocking)
    period = period_ns(times)
    is_long = gaps.end - gaps.start >= LONG_PERIODS * period
    kinds = np.where(is_long, int(gaps.kind.max()) + 1 + np.arange(len(gaps.kind)), gaps.kind)
    gap, inside = _gap_of(gaps.start, gaps.end, times)
    seen = kinds[gap], times[inside] - gaps.start[gap]
    order = np.lexsort(seen[::-1])
    stacks = rows["stack"][inside][order]
    gap, inside = _gap_of(gaps.start, gaps.end, moments)
    wanted = kinds[gap], moments[inside] - gaps.start[gap]
    nearest = _nearest((seen[0][order], seen[1][order]), wanted, reach=period)
    chosen: list[int] = stacks[nearest].tolist()
    return chosen


def _nearest(seen: tuple[Times, Times], wanted: tuple[Times, Times], *, reach: int) -> Times:
    """The sample of the same kind with the nearest age for each moment that has one within reach.

    Both are kinds and ages: the time since the stretch began; samples are sorted by both.
    """
    kinds, ages = seen
    kind, age = wanted
    first = np.searchsorted(kinds, kind, side="left")
    last = np.searchsorted(kinds, kind, side="right") - 1
    known = last >= first
    kind, age, first, last = kind[known], age[known], first[known], last[known]
    later = np.clip(search_within(kinds, ages, kind, age), first, last)
    earlier = np.maximum(later - 1, first)
    is_earlier = np.abs(ages[earlier] - age) <= np.abs(ages[later] - age)
    place = np.where(is_earlier, earlier, later)
    near: Times = place[np.abs(ages[place] - age) <= reach]
    return near


def _gap_of(start: Times, end: Times, times: Times) -> tuple[Times, Bools]:
    """The stretch that each moment lies in, of those that lie in one, and which these are."""
    gap = np.searchsorted(start, times, side="right") - 1
    inside = (gap >= 0) & (times < end[np.maximum(gap, 0)])
    return gap[inside], inside


def places(trace: Trace, labels: StackLabels, stacks: Counter[int]) -> Places:
    """The user's innermost functions of some stacks, which are counted by their numbers."""
    frames = trace.frames
    lines: dict[Function, list[int]] = defaultdict(list)
    for stack, count in stacks.items():
        frame = frames[int(labels.user_frame[stack])]
        if is_user_file(frame.file):
            lines[frame.key] += [frame.line] * count
    found = [
        Place(Frame(function, file, most_seen_line(seen)), len(seen))
        for (function, file), seen in lines.items()
    ]
    found.sort(key=lambda place: (-place.samples, place.frame.file, place.frame.function))
    return Places(sum(stacks.values()), tuple(found[:MOST_PLACES]))
