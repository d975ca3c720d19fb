"""What a line of the program calls while something is lost there."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from enum import Enum

import numpy as np

from perfscope.arrays import Floats
from perfscope.attribution.activities import ACTIVITIES
from perfscope.attribution.activity_rules import module_of
from perfscope.attribution.stack_rules import BUILT_IN
from perfscope.judging import ALONE, MAIN
from perfscope.losses.entry import Entry
from perfscope.metrics.results import Results
from perfscope.replay.model import Edit
from perfscope.schema.enums import Activity
from perfscope.structures import dataclass
from perfscope.trace.model import Frame, Trace
from perfscope.units import NS

INNER = "<locals>"
"""In the names of functions that are made in others, as decorators do."""


class FilesUse(Enum):
    """What a call does with files."""

    ARCHIVE = "reads an archive (zip), which may be compressed or not"
    READS = "only reads"
    WRITES = "only writes"


@dataclass(frozen=True)
class Callee:
    """The function of a library that the program calls where most of a loss is seen.

    `shares` are by rank: of the time that the rank spends in that function of the program, outside
    communication, what all of the call takes, and not only what is lost; `seconds` are the call's,
    and `lost_s` those that are lost in it, the mean of these ranks. `goes_through_all`: nearly
    all that is lost is in a function of C that is given all items at once. `files_use` is what it
    does with files, as far as what it calls tells.
    """

    name: str
    shares: Mapping[int, float]
    seconds: Mapping[int, float]
    lost_s: float
    goes_through_all: bool = False
    files_use: FilesUse | None = None

    @property
    def mean_s(self) -> float:
        """Seconds of a rank in it, on average of those that call it."""
        return sum(self.seconds.values()) / max(len(self.seconds), 1)


def callee_of(results: Results, entry: Entry) -> Callee | None:
    """What the program calls where most of a loss is seen.

    None where it is not seen to call any, and of a loss that is of no activity.
    """
    labels, kinds, activity = results.labels, results.not_training, entry.cause.activity
    if labels is None or kinds is None or entry.frame is None or activity is None:
        return None
    trace, key = results.trace, entry.frame.key
    is_here = np.array([frame.key == key for frame in trace.frames], np.bool_)[labels.user_frame]
    is_lost = is_here & (kinds == ACTIVITIES.index(activity))
    names = {}
    for number in np.flatnonzero(is_here).tolist():
        stack = [trace.frames[one] for one in trace.stacks[number]]
        names[number] = _called(stack, trace.frames[labels.user_frame[number]])
    spent = {
        rank.number: timeline.by_stack(timeline.work(results.focus), len(trace.stacks))
        for rank, timeline in zip(trace.ranks, results.timelines, strict=True)
        if rank.number in entry.ranks
    }
    lost = sum(spent.values(), np.zeros(len(trace.stacks)))
    seen = Counter[str]()
    for number in np.flatnonzero(is_lost & (lost > 0)).tolist():
        seen[names[number]] += lost[number]
    name, most = max(seen.items(), key=lambda one: (one[1], one[0]), default=("", 0))
    if not name or most <= MAIN * seen.total():
        return None
    is_call = np.isin(np.arange(len(lost)), [one for one, told in names.items() if told == name])
    return Callee(
        name,
        {
            rank: float(ns[is_call].sum() / max(ns[is_here].sum(), 1.0))
            for rank, ns in spent.items()
        },
        {rank: float(ns[is_call].sum()) * NS for rank, ns in spent.items()},
        float(lost[is_call & is_lost].sum()) * NS / len(spent),
        _goes_through_all(trace, lost * (is_call & is_lost)),
        _files_use(trace, lost * (is_call & is_lost)),
    )


WHOLE = frozenset({"_collections._count_elements"})
"""Functions of C in Python's own library that are given all items at once."""


def is_needed(results: Results, entry: Entry) -> bool:
    """Whether what the interpreter seems to do is compiled, and done with a single call.

    As `collections.Counter.update` counts words: no loop is there to be made compiled code, and
    nothing shows that the program needs less of it.
    """
    may_be = entry.cause.activity is Activity.INTERPRETER
    if not may_be or not any(_is_whole(one) for one in results.trace.frames):
        return False
    callee = callee_of(results, entry)
    return callee is not None and callee.goes_through_all


def _goes_through_all(trace: Trace, spent: Floats) -> bool:
    """Whether nearly all that stacks spend is in a function of C that goes through all items.

    Other C code tells nothing: it may be called for each item by a loop of Python.
    """
    ends = [bool(stack) and _is_whole(trace.frames[stack[-1]]) for stack in trace.stacks]
    return bool(spent[np.array(ends, bool)].sum() >= ALONE * spent.sum() > 0)


def _is_whole(frame: Frame) -> bool:
    return frame.file == BUILT_IN and frame.function in WHOLE


ARCHIVES = "ZipExtFile", "/zipfile"
"""The class whose objects read a file of an archive, and the module that it is of."""

_READS, _WRITES = (
    re.compile(r"(?i)(?<!th)read|load|recv"),
    re.compile(r"(?i)writ|dump|save|flush|sync"),
)


def _files_use(trace: Trace, spent: Floats) -> FilesUse | None:
    """What a call does with files by the functions that it is seen in; None where these differ.

    Of two names of which one says reading and the other writing, the innermost tells. That opening
    and closing files says neither is no matter.
    """
    seen = Counter[FilesUse]()
    for number in np.flatnonzero(spent > 0).tolist():
        stack = [trace.frames[one] for one in trace.stacks[number]]
        if any(one.function.startswith(ARCHIVES[0]) and ARCHIVES[1] in one.file for one in stack):
            return FilesUse.ARCHIVE
        names = (one.function for one in reversed(stack))
        told = ((_READS.search(one), _WRITES.search(one)) for one in names)
        reads = next((bool(read) for read, write in told if bool(read) != bool(write)), None)
        if reads is not None:
            seen[FilesUse.READS if reads else FilesUse.WRITES] += spent[number]
    return next(iter(seen)) if len(seen) == 1 else None


def without_calls(entry: Entry, callee: Callee) -> list[Edit]:
    """What takes all of these calls away, as far as samples tell them from the rest there."""
    assert entry.frame is not None
    return [
        Edit(function=entry.frame.key, ranks=(rank,), factor=1.0 - share)
        for rank, share in sorted(callee.shares.items())
    ]


def _called(stack: Sequence[Frame], caller: Frame) -> str:
    """The function behind the last call of the user's function, what decorates it left out.

    `torch.Tensor.__repr__`: programs call it by its package, and not by the file that holds it.
    """
    if caller not in stack:
        return ""
    behind = stack[len(stack) - stack[::-1].index(caller) :]
    called = next((one for one in behind if INNER not in one.function), None)
    if called is None or called.file == BUILT_IN:
        return called.function if called else ""
    package = module_of(called.file).partition(".")[0]
    return f"{package}.{called.function}" if package else ""
