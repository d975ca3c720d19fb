"""Seconds by activity, phase and place in the program, inside and outside training steps."""

from collections import Counter
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from perfscope.attribution.activities import ACTIVITIES, stack_activities
from perfscope.attribution.activity_timeline import (
    ActivityTimeline,
    activity_timeline,
    hears_collections,
)
from perfscope.attribution.ledger import INDEX, IS_COMMUNICATION
from perfscope.attribution.preparation import Prepared
from perfscope.attribution.stack_rules import is_user_file
from perfscope.attribution.timeline import Timeline
from perfscope.matching.intervals import NOTHING, disjoint_layer, union
from perfscope.matching.pool import dense
from perfscope.schema.enums import Account, Activity
from perfscope.structures import dataclass
from perfscope.trace.model import Frame, Rank

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class ActivityRow:
    """What one rank spent on one activity at one place of the program.

    Attributes:
        rank: the rank.
        activity: what was done.
        phase: id of the innermost phase, "" none.
        where: the user's innermost function and its line; None where no sample tells it.
        calls: the innermost function seen there that is not the user's own, "" none.
        is_in_step: whether it was inside a training step.
        ns: how long, outside communication.
    """

    rank: int
    activity: Activity
    phase: str
    where: Frame | None
    calls: str
    is_in_step: bool
    ns: int


@dataclass(frozen=True)
class GarbageTime:
    """What Python's garbage collector took on one rank in the focus.

    Its time is None where only a part of the collections was listened to: that of so short ones is
    mostly that of listening, and tells nothing of the others.
    """

    rank: int
    count: int | None  # of the whole life
    long_ns: int | None  # collections with a time of their own
    shorter_ns: int | None  # of others


@dataclass(frozen=True)
class Activities:
    """What the ranks were doing in the focus outside communication.

    Attributes:
        rows: by rank, most time first.
        garbage: of each rank that was listened to.
        untold_ns: time outside communication of which no sample speaks.
    """

    rows: tuple[ActivityRow, ...] = ()
    garbage: tuple[GarbageTime, ...] = ()
    untold_ns: int = 0


def activities(prepared: Prepared) -> Activities:
    """The activities of all ranks in the focus."""
    trace = prepared.trace
    told = stack_activities(trace)
    rows: list[ActivityRow] = []
    garbage = []
    untold_ns = 0
    leaves = _leaves(trace.frames, trace.stacks)
    for rank, timeline in zip(trace.ranks, prepared.timelines, strict=True):
        found = activity_timeline(rank, timeline, told)
        own, untold = _rows_of(prepared, rank, timeline, found, leaves)
        rows += own
        untold_ns += untold
        if (spent := _garbage(prepared, rank)) is not None:
            garbage.append(spent)
    return Activities(tuple(rows), tuple(garbage), untold_ns)


def _rows_of(
    prepared: Prepared,
    rank: Rank,
    timeline: Timeline,
    found: ActivityTimeline,
    leaves: Sequence[str],
) -> tuple[list[ActivityRow], int]:
    """The rows of a rank, and the time that none has."""
    at, focus = found.boundaries[:-1], prepared.focus
    free = ~IS_COMMUNICATION[timeline.accounts[found.segments]]
    free &= (at >= focus.start_ns) & (at < focus.end_ns)
    untold = int(found.lengths[free & (found.activities == NOTHING)].sum())
    here = np.flatnonzero(free & (found.activities != NOTHING))
    stacks = found.stacks[here]
    frame = _looked_up(prepared.labels.user_frame, stacks)
    in_step = _in_steps(rank, timeline, found)[here]
    phase = timeline.phases[found.segments[here]].astype(np.int64)
    kind = dense(found.activities[here], phase, frame, in_step.astype(np.int64))
    spent = np.zeros(int(kind.max(initial=-1)) + 1, np.int64)
    np.add.at(spent, kind, found.lengths[here])
    first = np.unique(kind, return_index=True)[1] if len(kind) else kind
    calls = _most_called(kind, stacks, found.lengths[here], leaves)
    rows = [
        ActivityRow(
            rank=rank.number,
            activity=ACTIVITIES[int(found.activities[here[place]])],
            phase=prepared.catalog.ids[int(phase[place])] if phase[place] >= 0 else "",
            where=prepared.trace.frames[int(frame[place])] if frame[place] >= 0 else None,
            calls=calls.get(number, ""),
            is_in_step=bool(in_step[place]),
            ns=int(spent[number]),
        )
        for number, place in enumerate(first.tolist())
    ]
    return sorted(rows, key=lambda row: -row.ns), untold


def _in_steps(rank: Rank, timeline: Timeline, found: ActivityTimeline) -> npt.NDArray[np.bool_]:
    """Which segments lie in training steps, or in training work where no step is known."""
    if not len(rank.steps):
        training: npt.NDArray[np.bool_] = timeline.accounts == INDEX[Account.TRAINING]
        return training[found.segments]
    starts, ends = union(rank.steps["t0"].astype(np.int64), rank.steps["t1"].astype(np.int64))
    layer = disjoint_layer(starts, ends, np.zeros(len(starts), np.int64))
    inside: npt.NDArray[np.bool_] = layer.at(found.boundaries[:-1]) != NOTHING
    return inside


def _looked_up(table: Ints, stacks: Ints) -> Ints:
    if not len(table):
        return np.full(len(stacks), NOTHING, np.int64)
    return np.where(stacks >= 0, table[np.maximum(stacks, 0)], NOTHING)


def _leaves(frames: Sequence[Frame], stacks: Sequence[Sequence[int]]) -> list[str]:
    """The innermost function of each stack, "" where that is the user's own."""
    innermost = (frames[stack[-1]] if stack else None for stack in stacks)
    return [
        frame.function if frame is not None and not is_user_file(frame.file) else ""
        for frame in innermost
    ]


def _most_called(kind: Ints, stacks: Ints, ns: Ints, leaves: Sequence[str]) -> dict[int, str]:
    """The leaf with most time of each kind of row."""
    counts: dict[int, Counter[str]] = {}
    for number, stack, spent in zip(kind.tolist(), stacks.tolist(), ns.tolist(), strict=True):
        if stack >= 0 and leaves[stack]:
            counts.setdefault(number, Counter())[leaves[stack]] += spent
    return {
        number: max(counter.items(), key=lambda item: (item[1], item[0]))[0]
        for number, counter in counts.items()
    }


def _garbage(prepared: Prepared, rank: Rank) -> GarbageTime | None:
    facts = rank.metadata.get("garbage_collector")
    told = facts if isinstance(facts, dict) else {}
    rows = rank.garbage_collections
    counts = told.get("collections")
    numbers = counts if isinstance(counts, list) else []
    known = bool(numbers) and all(isinstance(number, int) for number in numbers)
    count = sum(numbers) if known else None
    if not len(rows) and not told:
        return None
    if not hears_collections(rank):
        return GarbageTime(rank.number, count, None, None)
    focus = prepared.focus
    rows = rows[(rows["t0"] >= focus.start_ns) & (rows["t0"] < focus.end_ns)]
    return GarbageTime(
        rank=rank.number,
        count=count,
        long_ns=int((rows["t1"] - rows["t0"]).sum()),
        shorter_ns=int(rows["shorter_ns"].sum()),
    )
