"""Forward work that samples show in backward passes, in which it is computed a second time."""

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from perfscope.arrays import Floats
from perfscope.attribution.focus import Focus
from perfscope.attribution.ledger import IS_COMMUNICATION
from perfscope.attribution.timeline import Timeline
from perfscope.judging import MAIN
from perfscope.structures import dataclass
from perfscope.trace.model import Frame, Function, Trace

FORWARD = "forward"
"""What frameworks call the method by which a layer computes its output."""

_Way = tuple[Function, ...]


@dataclass(frozen=True)
class Recomputed:
    """What a rank was seen computing in its backward passes.

    Of nanoseconds outside communication and of samples: all, and those of forward work. `place` is
    the layer in which that was seen most: the outermost one that the backward pass calls.
    """

    rank: int
    whole_ns: int
    again_ns: int
    samples: int
    place: Frame

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
        forward: what `Timeline.phases` say of forward passes.
        backward: the same of backward passes.
    """
    stacks = len(trace.stacks)
    spent = [_by_stack(one, focus, backward, stacks) for one in timelines]
    ahead = [_by_stack(one, focus, forward, stacks) for one in timelines]
    both = _ways(trace, sum(ahead, np.zeros(stacks))), _ways(trace, sum(spent, np.zeros(stacks)))
    seen = np.flatnonzero(sum(spent, np.zeros(stacks))).tolist()
    again = {stack: one for stack in seen if (one := _layer(trace, stack, *both))}
    found = []
    for rank, timeline, ns in zip(trace.ranks, timelines, spent, strict=True):
        places: Counter[Frame] = Counter()
        for stack, place in again.items():
            places[place] += int(ns[stack])
        if not places.total():
            continue
        rows = focus.within(rank.main_stacks)
        inside = np.isin(timeline.phases[timeline.at(rows["t"])], backward)
        samples = int(np.isin(rows["stack"][inside], list(again)).sum())
        most = places.most_common(1)[0][0]
        found.append(Recomputed(rank.number, int(ns.sum()), places.total(), samples, most))
    return tuple(found)


def _by_stack(timeline: Timeline, focus: Focus, phases: Sequence[int], stacks: int) -> Floats:
    """Nanoseconds by what was seen in some phases, outside communication."""
    chosen = timeline.inside(focus) & (timeline.stacks >= 0) & np.isin(timeline.phases, phases)
    chosen &= ~IS_COMMUNICATION[timeline.accounts]
    found = np.bincount(timeline.stacks[chosen], timeline.lengths[chosen], stacks)
    return found.astype(np.float64)


def _ways(trace: Trace, ns: Floats) -> Mapping[_Way, float]:
    """The share of passes that the ways from the outermost function to each other one have."""
    found: Counter[_Way] = Counter()
    for stack in np.flatnonzero(ns).tolist():
        way = _way(trace, stack)
        found.update({way[:length]: float(ns[stack]) for length in range(1, len(way) + 1)})
    whole = float(ns.sum())
    return {way: spent / whole for way, spent in found.items()}


def _way(trace: Trace, stack: int) -> _Way:
    return tuple(trace.frames[place].key for place in trace.stacks[stack])


def _layer(
    trace: Trace, stack: int, forward: Mapping[_Way, float], backward: Mapping[_Way, float]
) -> Frame | None:
    """The outermost layer behind where the way to what was seen parts from that of forward passes.

    A way that leads to both has its part of both: a sample speaks for the time around it, so that a
    little of either pass is counted as the other.
    """
    way, common = _way(trace, stack), 0
    while common < len(way):
        longer = way[: common + 1]
        if forward.get(longer, 0.0) < MAIN * backward[longer]:
            break
        common += 1
    frames = [trace.frames[place] for place in trace.stacks[stack]]
    return next((one for one in frames[common:] if _is_layer(one.key)), None)


def _is_layer(function: Function) -> bool:
    return function[0].rpartition(".")[2] == FORWARD
