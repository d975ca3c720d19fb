"""What a line of the program calls while something is lost there."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from enum import Enum

import numpy as np

from perfscope.arrays import Floats
from perfscope.attribution.activities import ACTIVITIES
from perfscope.attribution.library_calls import called
from perfscope.attribution.stack_rules import BUILT_IN
from perfscope.judging import ALONE, MAIN
from perfscope.losses.entry import Entry
from perfscope.metrics.results import Results
from perfscope.replay.model import Edit
from perfscope.schema.enums import Activity
from perfscope.structures import dataclass
from perfscope.trace.model import Frame, Trace
from perfscope.units import NS


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
    behind = {
        number: _behind(
            [trace.frames[one] for one in trace.stacks[number]],
            trace.frames[labels.user_frame[number]],
        )
        for number in np.flatnonzero(is_here).tolist()
    }
    names = {number: called(frames) for number, frames in behind.items()}
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
        _files_use(behind, lost * (is_call & is_lost)),
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

_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
"""A word of a name such as `BufferedReader.read_all`."""

_READS, _WRITES = (
    re.compile(r"[pf]?read(?!y)\w*|load\w*|recv\w*"),
    re.compile(r"[pf]?writ\w*|dump\w*|save\w*|flush\w*|(f|fdata)?sync(fs)?"),
)


def _files_use(behind: Mapping[int, Sequence[Frame]], spent: Floats) -> FilesUse | None:
    """What a call does with files by the functions that it is seen in; None where these differ.

    `behind` is by stack what the program's own function calls, the innermost last. An archive is
    read where most of the time is spent in one, files are read or written where no time is spent
    in the reverse. That opening and closing files says neither is no matter.
    """
    seen, in_archives = Counter[FilesUse](), 0.0
    for number in np.flatnonzero(spent > 0).tolist():
        frames = behind[number]
        is_archive = any(
            one.function.startswith(ARCHIVES[0]) and ARCHIVES[1] in one.file for one in frames
        )
        in_archives += spent[number] * is_archive
        told = FilesUse.READS if is_archive else _told_by([one.function for one in frames])
        if told is not None:
            seen[told] += spent[number]
    if in_archives > MAIN * spent.sum():
        return FilesUse.ARCHIVE
    return next(iter(seen)) if len(seen) == 1 else None


def _told_by(names: Sequence[str]) -> FilesUse | None:
    """Whether functions read or write, by the innermost name that says one and not the other."""
    for name in reversed(names):
        words = [one.lower() for one in _WORD.findall(name)]
        reads, writes = (any(map(rule.fullmatch, words)) for rule in (_READS, _WRITES))
        if reads != writes:
            return FilesUse.READS if reads else FilesUse.WRITES
    return None


def without_calls(entry: Entry, callee: Callee) -> list[Edit]:
    """What takes all of these calls away, as far as samples tell them from the rest there."""
    assert entry.frame is not None
    return [
        Edit(function=entry.frame.key, ranks=(rank,), factor=1.0 - share)
        for rank, share in sorted(callee.shares.items())
    ]


def _behind(stack: Sequence[Frame], caller: Frame) -> Sequence[Frame]:
    """What the user's function calls, the innermost last; nothing where it is not there."""
    return stack[len(stack) - stack[::-1].index(caller) :] if caller in stack else ()
