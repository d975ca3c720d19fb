"""Forward work that samples show in backward passes, in which it is computed a second time."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence

import numpy as np

from perfscope.arrays import Floats
from perfscope.attribution.focus import Focus
from perfscope.attribution.stack_rules import is_user_file
from perfscope.attribution.timeline import Timeline
from perfscope.judging import MAIN
from perfscope.structures import dataclass
from perfscope.trace.model import Frame, Function, Trace

FORWARD = "forward"
"""What frameworks call the method by which a layer computes its output."""

_PARTS = ("apply", "backward")
"""What calls the forward part of an operation, where it is no layer."""


@dataclass(frozen=True)
class Recomputed:
    """What a rank was seen computing in its backward passes.

    Of nanoseconds outside communication and of samples: all, and those of forward work. `place` is
    the layer in which that was seen most: the outermost one that the backward pass calls, also of
    the time that the library between the two takes for it. `asked_at` is the line of the program
    that calls that library in forward passes.
    """

    rank: int
    whole_ns: int
    again_ns: int
    samples: int
    place: Frame
    asked_at: Frame | None

    @property
    def share(self) -> float:
        """Of the backward passes, what computes the forward passes again."""
        return self.again_ns / self.whole_ns


def recomputed(
    trace: Trace,
    timelines: Sequence[Timeline],
    focus: Focus,
    forward: Sequence[int],
    backward: Sequence[int],
) -> tuple[Recomputed, ...]:
    """What each rank does again, of those that were seen to.

    Args:
        trace: the trace with its stacks.
        timelines: of the ranks, in their order.
        focus: what is analyzed.
        forward: what `Timeline.phases` say of forward passes; -1 is what lies in no phase.
        backward: the same of backward passes.
    """
    stacks = len(trace.stacks)
    spent, ahead = (
        [one.by_stack(one.work(focus) & np.isin(one.phases, phases), stacks) for one in timelines]
        for phases in (backward, forward)
    )
    whole = sum(spent, np.zeros(stacks))
    ways = _Ways(trace, sum(ahead, np.zeros(stacks)), whole)
    seen = np.flatnonzero(whole).tolist()
    again = {stack: one for stack in seen if (one := ways.layer(stack))}
    files = ways.between(again)
    asked_at = ways.asked_at(files)
    through = [stack for stack in seen if stack not in again and ways.is_through(stack, files)]
    is_again = np.zeros(stacks, np.bool_)
    is_again[[*again, *through]] = True
    found = []
    for rank, timeline, ns in zip(trace.ranks, timelines, spent, strict=True):
        places: Counter[Frame] = Counter()
        for stack, place in again.items():
            places[place] += int(ns[stack])
        if not places.total():
            continue
        rows = focus.within(rank.main_stacks)
        inside = np.isin(timeline.phases[timeline.at(rows["t"])], backward)
        samples = int(is_again[rows["stack"][inside]].sum())
        most = places.most_common(1)[0][0]
        again_ns = places.total() + int(ns[through].sum())
        found.append(Recomputed(rank.number, int(ns.sum()), again_ns, samples, most, asked_at))
    return tuple(found)


class _Ways:
    """The ways from outermost functions inward, as a tree, with the share of passes that each has.

    A node is known by the one it is in and its function; a sum of forward and of backward passes
    stands for each.
    """

    def __init__(self, trace: Trace, forward: Floats, backward: Floats) -> None:
        self._trace = trace
        self._ahead = np.flatnonzero(forward).tolist()
        self._nodes: dict[tuple[int, Function], int] = {}
        self._shares: list[list[float]] = []
        whole = np.maximum([forward.sum(), backward.sum()], 1.0)
        for stack in np.flatnonzero(forward + backward).tolist():
            parts = np.array([forward[stack], backward[stack]]) / whole
            self._add(stack, *parts.tolist())

    def _add(self, stack: int, forward: float, backward: float) -> None:
        node = -1
        for place in self._trace.stacks[stack]:
            node = self._nodes.setdefault((node, self._trace.frames[place].key), len(self._nodes))
            if node == len(self._shares):
                self._shares.append([0.0, 0.0])
            self._shares[node][0] += forward
            self._shares[node][1] += backward

    def layer(self, stack: int) -> Frame | None:
        """The outermost layer behind where the way to a stack parts from that of forward passes.

        A way that leads to both has its part of both: a sample speaks for the time around it, so
        that a little of either pass is counted as the other.
        """
        way = [one for one, _ in self._apart(stack)]
        at = _layer_at(way)
        return None if at is None else way[at]

    def between(self, again: Iterable[int]) -> Collection[str]:
        """The files whose code, in backward passes alone, comes between these and their layers.

        What layers call themselves is none, nor what most of the backward passes goes through.
        """
        found: dict[str, float] = {}
        inside = set[str]()
        for stack in again:
            way = list(self._apart(stack))
            first = _layer_at([one for one, _ in way]) or 0
            found.update({one.file: share for one, share in reversed(way[:first])})
            inside.update(one.file for one, _ in way[first:])
        return {one for one, share in found.items() if share < MAIN and one not in inside}

    def is_through(self, stack: int, files: Collection[str]) -> bool:
        """Whether a stack goes through some files behind where it parts from forward passes."""
        return any(one.file in files for one, _ in self._apart(stack))

    def asked_at(self, files: Collection[str]) -> Frame | None:
        """The line of the program that calls some files in forward passes, most of the time."""
        lines: Counter[Frame] = Counter()
        for stack in self._ahead:
            own = [self._trace.frames[place] for place in self._trace.stacks[stack]]
            at = next((at for at, one in enumerate(own) if one.file in files), 0)
            lines.update([one for one in reversed(own[:at]) if is_user_file(one.file)][:1])
        return lines.most_common(1)[0][0] if lines else None

    def _apart(self, stack: int) -> Iterator[tuple[Frame, float]]:
        """The functions of a stack from where its way parts from that of forward passes.

        With each of them the share of backward passes that goes on from there.
        """
        node, is_apart = -1, False
        for place in self._trace.stacks[stack]:
            frame = self._trace.frames[place]
            node = self._nodes[node, frame.key]
            forward, backward = self._shares[node]
            is_apart = is_apart or forward < MAIN * backward
            if is_apart:
                yield frame, backward


def _layer_at(way: Sequence[Frame]) -> int | None:
    """Where the first layer is that a way leads to; None where it leads to none.

    The backward part of an operation of the program's or a library's own (`autograd.Function`) may
    apply another operation, as the exchange behind a gather: its forward part is new work.
    """
    names = ["", *(one.function.rpartition(".")[2] for one in way)]
    return next(
        (at for at, name in enumerate(names[1:]) if name == FORWARD and names[at] not in _PARTS),
        None,
    )
