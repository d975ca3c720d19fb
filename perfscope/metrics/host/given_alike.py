"""Functions that several ranks call with the same at the same time: each does all of the work."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property

from perfscope.judging import MAIN
from perfscope.metrics.host.compared import Instruction, calls_by_line, compared, is_too_often
from perfscope.metrics.host.hot_lines import NOT_COMPUTING, LineSamples
from perfscope.metrics.results import Results
from perfscope.structures import dataclass
from perfscope.trace.model import Frame, Function
from perfscope.trace.operands import Operand, WorkedOn
from perfscope.units import NS


@dataclass(frozen=True)
class GivenAlike:
    """Such a function, with what tells it."""

    function: Function
    lines: Sequence[Frame]  # of its own, the one that ranks are in most of the time first
    calls: Sequence[Instruction]  # of it, with data that are not made from its own results
    itself: Sequence[Instruction]  # what it was given, seen from inside
    seconds: Sequence[float]  # that each rank is in it, and in what it calls
    inside: frozenset[Function]  # itself, and functions in which ranks are mostly for it

    @cached_property
    def met_at(self) -> frozenset[int]:
        """The numbers of the meetings at which ranks were compared."""
        return frozenset(at for one in (*self.calls, *self.itself) for at in one.met_at)

    @cached_property
    def alike_at(self) -> frozenset[int]:
        """Of these, those at which some ranks had the same; seen from inside, if it was."""
        inside = {at for one in self.itself for at in one.met_at}
        called = {at for one in self.calls for at in one.alike_at}
        return frozenset((called - inside).union(*[one.alike_at for one in self.itself]))

    @property
    def operands(self) -> Sequence[Operand]:
        """The data that its callers give it."""
        found = {one.name: one for call in self.calls for one in fresh(call.site)}
        return tuple(found.values())

    @property
    def is_replicated(self) -> bool:
        """Whether ranks were given the same too often for chance, and for an exception."""
        by_chance = max(one.by_chance for one in self.calls)
        by_chance += sum(one.by_chance for one in self.itself)
        return is_too_often(len(self.alike_at), len(self.met_at), by_chance)


def fresh(site: WorkedOn) -> Sequence[Operand]:
    """What changes of what an instruction takes, and is not made from what it has returned."""
    return [
        one
        for one in site.operands
        if one.contents > 1 and one.elements > 1 and one.name not in site.fed_back
    ]


def given_alike(results: Results, seen: Iterable[Instruction]) -> Sequence[GivenAlike]:
    """Those of a run, outermost ones alone, the one that takes most time first.

    `seen` is what `compared` tells of the instructions. A function that keeps a state, or is given
    nothing but what comes from its own results, as the step of an optimizer, does on every rank
    what every rank needs.
    """
    at_lines = calls_by_line(seen)
    itself = {one.site.frame.key: one for one in compared(results.own_calls) if one.changes}
    looked_at = {site.frame.key for own in results.own_looks for site in own}
    samples, found = _Samples(results), list[GivenAlike]()
    for function, own in _decided(results.own_calls).items():
        lines = {frame for site in own for frame, _ in site.callers}
        calls = [call for line in lines for call in at_lines.get(line, ()) if fresh(call.site)]
        lines_of = samples.lines(function)
        if calls and lines_of and not any(site.updated for site in own):
            inside = samples.below(function, {*looked_at, function})
            one = GivenAlike(
                function=function,
                lines=lines_of,
                calls=calls,
                itself=[itself[function]] if function in itself else [],
                seconds=samples.computing(function, inside),
                inside=inside,
            )
            found += [one] if one.is_replicated else []
    found.sort(key=lambda one: -max(one.seconds))
    return [
        one
        for place, one in enumerate(found)
        if not any(one.function in other.inside for other in found[:place])
    ]


def _decided(calls: Iterable[Sequence[WorkedOn]]) -> Mapping[Function, Sequence[WorkedOn]]:
    """The functions of which all that decides what they do was seen on several ranks.

    What they read of their modules is the same on all of these.
    """
    found: defaultdict[Function, list[WorkedOn]] = defaultdict(list)
    for own in calls:
        for site in own:
            found[site.frame.key].append(site)
    return {
        function: sites
        for function, sites in found.items()
        if len(sites) > 1 and all(one.outside == sites[0].outside != 0 for one in sites)
    }


class _Samples:
    """How long the ranks are in functions."""

    def __init__(self, results: Results) -> None:
        self._results, self._ranks = results, results.trace.ranks
        self._by_line = LineSamples(results)
        self._frames: defaultdict[Function, list[Frame]] = defaultdict(list)
        for frame in dict.fromkeys(results.trace.frames):
            self._frames[frame.key].append(frame)

    def seconds(self, function: Function) -> Sequence[float]:
        """Of each rank, in a function and what it calls."""
        return self._seconds(self._frames[function])

    def computing(self, function: Function, inside: Collection[Function]) -> Sequence[float]:
        """The same without what these functions, for its sake, wait or read for."""
        other = Counter[int]()
        for row in self._results.activities.rows:
            if row.activity in NOT_COMPUTING and row.where is not None and row.where.key in inside:
                other[row.rank] += row.ns
        both = zip(self._ranks, self.seconds(function), strict=True)
        return [max(0.0, seconds - other[rank.number] * NS) for rank, seconds in both]

    def lines(self, function: Function) -> Sequence[Frame]:
        """Its lines, the one with most of the time first."""
        frames = self._frames[function]
        return sorted(frames, key=lambda frame: -sum(self._seconds([frame])))

    def below(self, function: Function, among: Iterable[Function]) -> frozenset[Function]:
        """Of some functions those that ranks are in mostly for another one's sake."""
        return frozenset(one for one in among if self._is_below(one, function))

    def _is_below(self, function: Function, other: Function) -> bool:
        """Whether most of the time in a function is spent in another one that calls it."""
        both = sum(self._seconds([*self._frames[function], *self._frames[other]]))
        own, outer = sum(self.seconds(function)), sum(self.seconds(other))
        return own + outer - both > MAIN * own

    def _seconds(self, frames: Sequence[Frame]) -> Sequence[float]:
        return [self._by_line.seconds(rank, frames) for rank in self._ranks]
