"""Where work happens, as a person would say it: the outermost function that does only that work."""

from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np

from perfscope.arrays import Bools, Floats, Ints
from perfscope.attribution.focus import Focus
from perfscope.attribution.ledger import IS_COMMUNICATION
from perfscope.attribution.stack_rules import is_user_file
from perfscope.attribution.timeline import Timeline
from perfscope.judging import ALONE, FEWEST_SAMPLES, MAIN
from perfscope.matching.intervals import Times
from perfscope.structures import dataclass
from perfscope.trace.model import Frame, Function, Rank, Trace


def usual_place(stacks: Iterable[Sequence[int]], frames: Sequence[Frame]) -> Frame | None:
    """The innermost of the user's functions seen most often, at the line seen most often."""
    places = Counter(
        next((place for place in reversed(stack) if is_user_file(frames[place].file)), -1)
        for stack in stacks
    )
    places.pop(-1, None)
    functions: Counter[Function] = Counter()
    for place, times in places.items():
        functions[frames[place].key] += times
    if not functions:
        return None
    function = max(functions, key=lambda one: (functions[one], one))
    lines = [place for place in places if frames[place].key == function]
    return frames[max(lines, key=lambda place: (places[place], -frames[place].line))]


Weights = Floats
"""Samples by stack of the trace."""


@dataclass(frozen=True)
class Samples:
    """What the main thread of a rank was seen in, look by look, inside the focus of analysis."""

    at_ns: Times
    stacks: Ints  # indices in Trace.stacks
    at_work: Bools  # outside communication

    def within(self, starts: Times, ends: Times) -> Bools:
        """Which of them lie in windows that may nest, given by their starts and ends."""
        begun = np.searchsorted(np.sort(starts), self.at_ns, side="right")
        inside: Bools = begun > np.searchsorted(np.sort(ends), self.at_ns, side="right")
        return inside

    def by_stack(self, trace: Trace, chosen: Bools) -> Weights:
        """How often each stack is among those chosen."""
        seen: Weights = np.bincount(self.stacks[chosen], minlength=len(trace.stacks)).astype(float)
        return seen


def samples_of(rank: Rank, timeline: Timeline, focus: Focus) -> Samples:
    """The samples of a rank, whose time the timeline gives to accounts."""
    rows = focus.within(rank.main_stacks)
    at = rows["t"].astype(np.int64)
    segments = np.searchsorted(timeline.boundaries[1:-1], at, side="right")
    at_work: Bools = ~IS_COMMUNICATION[timeline.accounts[segments]]
    return Samples(at, rows["stack"].astype(np.int64), at_work)


def outermost_own(
    trace: Trace,
    wanted: Weights,
    *,
    mine: Weights | None = None,
    total: Weights,
    waiting: Weights | None = None,
) -> Frame | None:
    """The user's outermost function that nearly only the wanted runs, with the line seen most.

    A function in which others only wait is that of who works there, unless it is seen at other
    work as well.

    Args:
        trace: the trace.
        wanted: samples by stack of what is looked for.
        mine: samples in which a function may run and still be its own; None: the wanted.
        total: samples by stack of everything that is compared with it.
        waiting: further samples by stack, of ranks that only wait; None: there are none.
    """
    allowed = wanted if mine is None else mine
    idle = np.zeros(len(total)) if waiting is None else waiting
    if allowed.sum() >= ALONE * (total + idle).sum():
        return None  # nearly everything is of this kind: every function would be its own
    seen = np.stack((wanted, allowed, total, idle))
    functions: dict[Function, int] = {}
    of_frame = [
        functions.setdefault(frame.key, len(functions)) if _names(frame) else -1
        for frame in trace.frames
    ]
    sums, depth = _summed(trace, seen, of_frame)
    enough = _is_own(sums) & (sums[0] >= MAIN * wanted.sum())
    if np.any(enough):
        candidates = np.flatnonzero(enough)
        chosen = int(min(candidates, key=lambda place: (-sums[0][place], depth[place])))
        return _with_line(trace, wanted, of_frame, chosen)
    return _outermost_lines(trace, seen)


def _outermost_lines(trace: Trace, seen: Floats) -> Frame | None:
    """The outermost function with lines that only the wanted runs, at the one seen most.

    A function that trains and then evaluates calls the model in two places, of which one evaluates.
    """
    of_frame = [
        place if is_user_file(frame.file) and not frame.file.startswith("<") else -1
        for place, frame in enumerate(trace.frames)
    ]
    sums, depth = _summed(trace, seen, of_frame)
    functions: dict[Function, list[int]] = {}
    for place in np.flatnonzero(_is_own(sums)).tolist():
        functions.setdefault(trace.frames[place].key, []).append(place)
    spent = {key: float(sums[0][lines].sum()) for key, lines in functions.items()}
    enough = [key for key in functions if spent[key] >= MAIN * seen[0].sum()]
    if not enough:
        return None
    chosen = min(enough, key=lambda key: (-spent[key], depth[functions[key]].min()))
    return trace.frames[max(functions[chosen], key=lambda place: sums[0][place])]


def _summed(trace: Trace, seen: Floats, of_frame: list[int]) -> tuple[Floats, Floats]:
    """How much was seen below each group of frames, and how deep in the stack it begins."""
    groups = max(of_frame, default=-1) + 1
    sums, depth = np.zeros((len(seen), groups)), np.full(groups, np.inf)
    for stack in np.flatnonzero(seen.sum(axis=0)).tolist():
        passed: set[int] = set()
        for level, frame in enumerate(trace.stacks[stack]):
            group = of_frame[frame]
            if group >= 0 and group not in passed:
                passed.add(group)
                sums[:, group] += seen[:, stack]
                if seen[0, stack]:
                    depth[group] = min(depth[group], level)
    return sums, depth


def _is_own(sums: Floats) -> Bools:
    """Which groups nearly only the wanted runs."""
    does_more = sums[2] - sums[1] >= FEWEST_SAMPLES
    compared = sums[2] + np.where(does_more, sums[3], 0.0)
    own: Bools = (sums[1] >= ALONE * compared) & (sums[0] > 0)
    return own


def called_below(trace: Trace, wanted: Weights, own: Frame) -> tuple[Frame, ...]:
    """The user's functions that a place calls on its way to most of the wanted, outermost first."""
    functions: Counter[tuple[Frame, ...]] = Counter()
    for stack in np.flatnonzero(wanted).tolist():
        frames = [trace.frames[frame] for frame in trace.stacks[stack]]
        if own in frames:
            below = frames[frames.index(own) + 1 :]
            functions[tuple(one for one in below if _names(one))] += wanted[stack]
    return max(functions, key=lambda chain: functions[chain], default=())


def stacks_inside(trace: Trace, where: Frame | None) -> Bools:
    """Of each stack whether it is inside a function; none is where that is not known."""
    named = [where is not None and one.key == where.key for one in trace.frames]
    return np.array([any(named[frame] for frame in stack) for stack in trace.stacks], np.bool_)


def _names(frame: Frame) -> bool:
    """Whether people know a frame's name: no module, comprehension or generated file."""
    return (
        is_user_file(frame.file)
        and not frame.file.startswith("<")
        and not frame.function.rpartition(".")[2].startswith("<")
    )


def _with_line(trace: Trace, wanted: Weights, of_frame: list[int], chosen: int) -> Frame:
    lines = np.zeros(len(trace.frames))
    for stack in np.flatnonzero(wanted).tolist():
        for frame in set(trace.stacks[stack]):
            if of_frame[frame] == chosen:
                lines[frame] += wanted[stack]
    return trace.frames[int(np.argmax(lines))]
