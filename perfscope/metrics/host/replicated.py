"""Functions in which several ranks work on the same data at the same time."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

from perfscope.judging import ALONE, FEWEST_SAMPLES, MAIN
from perfscope.metrics.host.compared import Instruction, calls_by_line, is_too_often
from perfscope.metrics.host.given_alike import GivenAlike, fresh, given_alike
from perfscope.metrics.host.hot_lines import NOT_COMPUTING
from perfscope.metrics.results import Results
from perfscope.structures import dataclass
from perfscope.trace.model import Frame, Function
from perfscope.trace.operands import Operand, WorkedOn
from perfscope.units import NS


@dataclass(frozen=True)
class Replicated:
    """A function whose work several ranks do, each of them all of it."""

    place: Frame
    caller: Frame | None  # the program's own, most often
    instructions: Sequence[Instruction]  # alike, of its own or those that call it, most often first
    seconds: Sequence[float]  # that each rank is in these lines of it, in the order of the ranks
    meetings: int
    alike: int
    copies: int
    operands: Sequence[Operand]  # what they work on that is not always the same, each name once

    @property
    def part(self) -> float:
        """Of its time, what is such work: all where ranks were nearly always seen at the same."""
        share = self.alike / self.meetings
        return share if share < ALONE else 1.0

    @property
    def saved_s(self) -> Sequence[float]:
        """What each rank saves at most that does its part alone."""
        return [self.part * seconds * (1.0 - 1.0 / self.copies) for seconds in self.seconds]


def replicated(results: Results, seen: Iterable[Instruction]) -> tuple[Replicated, ...]:
    """Those of a run, the one that takes most time first; `seen` is what `compared` tells.

    Ranks look at the same moments, so that those that do the same at the same time see the same.
    Where one is ahead of the others by part of a step they do not: how often the same was seen
    tells for how sure it is, and not for how much of the work. What never changes is no sign of it,
    nor is what is one of few things, by chance. A function that changes what it got from outside,
    as the step of an optimizer does, keeps a state that all ranks need: to send it costs as much.
    """
    seen = tuple(seen)
    whole = given_alike(results, seen)
    functions: defaultdict[Function, _Seen] = defaultdict(_Seen)
    calling = calls_by_line(seen)
    for one in seen:
        if one.site.is_innermost:
            functions[one.site.frame.key].own.append(one)
    callers, states = _callers(results.own_looks), _states(results.own_looks)
    for function, frames in callers.items():
        functions[function].outer += [one for at in frames for one in calling.get(at, ())]
    inside = {key for one in whole for key in one.inside}
    found = [
        (function, own)
        for function, own in functions.items()
        if function not in inside
        and not states.issuperset(callers.get(function) or [None])
        and own.is_replicated()
    ]
    alike = [one for own in whole for one in (*own.calls, *own.itself)]
    alike += [one for _, own in found for one in own.alike]
    alike = list({id(one): one for one in alike}.values())
    is_sure = sum(one.contents for one in alike) >= FEWEST_SAMPLES
    if not is_sure or not any(one.is_of_arrays for one in alike) or not _lasts(results, alike):
        return ()
    told = [
        _of_function(results, one, own, callers.get(one, ()))
        for one, own in found
        if any(it.is_of_arrays for it in own.alike)
    ]
    told += [_of_whole(one) for one in whole]
    return tuple(sorted(told, key=lambda one: -max(one.seconds, default=0.0)))


def _of_whole(given: GivenAlike) -> Replicated:
    alike = sorted((*given.calls, *given.itself), key=lambda one: -one.alike)
    return Replicated(
        place=given.lines[0],
        caller=alike[0].site.frame if alike[0] in given.calls else given.calls[0].site.frame,
        instructions=[one for one in alike if one.alike],
        seconds=given.seconds,
        meetings=len(given.met_at),
        alike=len(given.alike_at),
        copies=max(one.copies for one in alike),
        operands=given.operands,
    )


def _lasts(results: Results, alike: Iterable[Instruction]) -> bool:
    """Whether it is seen over most of the run: each rank may make its data once for itself."""
    looked = [number for own in results.own_looks for one in own for number, _ in one.at_meetings]
    at = [number for one in alike for number in one.alike_at]
    return max(at) - min(at) > MAIN * (max(looked) - min(looked))


def _callers(looks: Iterable[Sequence[WorkedOn]]) -> Mapping[Function, Sequence[Frame]]:
    """The lines that functions were seen to be called at, of those that call no others."""
    found: defaultdict[Function, Counter[Frame]] = defaultdict(Counter)
    for site in (one for own in looks for one in own if one.is_innermost):
        found[site.frame.key].update(dict(site.callers))
    return {
        function: [frame for frame, _ in callers.most_common()]
        for function, callers in found.items()
    }


def _states(looks: Iterable[Sequence[WorkedOn]]) -> frozenset[Frame]:
    """The lines in which a function is given what it has returned before, and no other data."""
    found: defaultdict[Frame, list[WorkedOn]] = defaultdict(list)
    for site in (one for own in looks for one in own if not one.is_innermost):
        found[site.frame].append(site)
    return frozenset(
        frame
        for frame, sites in found.items()
        if any(one.fed_back for one in sites) and not any(map(fresh, sites))
    )


class _Seen:
    """The instructions of a function, and those that call it with all that it takes known."""

    def __init__(self) -> None:
        self.own: list[Instruction] = []
        self.outer: list[Instruction] = []

    @property
    def alike(self) -> Sequence[Instruction]:
        """Those at which ranks were seen to work on the same, most often first; its own first."""
        own, outer = ([one for one in them if one.alike] for them in (self.own, self.outer))
        return [one for them in (own, outer) for one in sorted(them, key=lambda one: -one.alike)]

    def is_replicated(self) -> bool:
        """Whether ranks did the same in it too often for chance, and for an exception.

        Where it was called with the same, and then never did the same, it knows its part.
        """
        every = [one for one in (*self.own, *self.outer) if one.changes]
        meetings, alike = sum(one.meetings for one in every), sum(one.alike for one in every)
        by_chance = sum(one.by_chance for one in every)
        if not is_too_often(alike, meetings, by_chance):
            return False
        differs = sum(one.meetings for one in self.own) >= FEWEST_SAMPLES
        return not (differs and not any(one.alike for one in self.own)) and not _is_update(self.own)

    def is_whole(self) -> bool:
        """Whether all of its lines do the same: it was called with that, or several lines did."""
        if any(one.alike for one in self.outer):
            return True
        lines = {one.site.frame for one in self.own if one.alike}
        return len(lines) > 1 and all(one.alike for one in self.own)


def _of_function(
    results: Results, function: Function, seen: _Seen, callers: Sequence[Frame]
) -> Replicated:
    alike = seen.alike
    count = sum(one.alike for one in alike)
    lines = None if seen.is_whole() else {one.site.frame for one in alike}
    by_rank, by_line = Counter[int](), Counter[Frame]()
    for row in results.activities.rows:
        where = row.where
        if where is None or where.key != function or row.activity in NOT_COMPUTING:
            continue
        if lines is None or where in lines:
            by_rank[row.rank] += row.ns
            by_line[where] += row.ns
    ranks = frozenset().union(*(one.ranks for one in alike))
    copies = max(one.copies for one in alike)
    is_all = copies == len(ranks)  # also of ranks that no look has compared with others
    own = [one.site.frame for one in alike if one.site.is_innermost]
    longest = [frame for frame, _ in by_line.most_common(1)]
    return Replicated(
        place=[*own, *longest, Frame(*function, 0)][0],
        caller=next(iter(callers), None),
        instructions=alike,
        seconds=[
            by_rank[rank.number] * NS * (is_all or place in ranks)
            for place, rank in enumerate(results.trace.ranks)
        ],
        meetings=sum(one.meetings for one in (*seen.own, *seen.outer)),
        alike=count,
        copies=copies,
        operands=_operands(alike),
    )


def _operands(instructions: Iterable[Instruction]) -> Sequence[Operand]:
    own = [one for it in instructions for one in it.site.operands]
    found = {one.name: one for one in own if one.contents > 1} or {one.name: one for one in own}
    return tuple(found.values())


def _is_update(own: Sequence[Instruction]) -> bool:
    """Whether a function changes an array by what that was before, and has not made that."""
    return any(one.name in it.site.updated for it in own for one in it.site.operands)
