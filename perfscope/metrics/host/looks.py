"""What lines of each rank work on, also where other ranks looked: ranks run the same program."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

from perfscope.judging import FEWEST_SAMPLES, MAIN
from perfscope.trace.model import Frame, Function
from perfscope.trace.operands import Operand, WorkedOn

FEWEST_LOOKS = FEWEST_SAMPLES

_Kind = tuple[str, bool, str]
"""Type, order of bytes and layout."""


class _Name:
    """What a name in a function was seen to be, on any rank and at any line."""

    def __init__(self) -> None:
        self.kinds = Counter[_Kind]()
        self.least_zero = 1.0

    def see(self, one: Operand) -> None:
        """Takes note of what one instruction saw."""
        self.kinds[_kind(one)] += one.looks
        self.least_zero = min(self.least_zero, one.least_zero)


_Known = Mapping[tuple[Function, str], _Name]


def looks_of(own: Mapping[int, Sequence[WorkedOn]]) -> tuple[tuple[WorkedOn, ...], ...]:
    """What each rank's lines were seen to work on, in the order of the ranks.

    Looks are rare, and which rank one falls on is chance. So of a line that a rank itself looked at
    too seldom, the looks of all ranks tell, as far as its own do not contradict them.

    `own` is what each rank itself saw, by its number.
    """
    known = _known(own.values())
    lines: defaultdict[Frame, _Line] = defaultdict(lambda: _Line(known))
    for number, sites in own.items():
        for site in sites:
            lines[site.frame].seen[number].append(site)
    return tuple(tuple(one for line in lines.values() for one in line.of(n)) for n in own)


class _Line:
    """A line of which several ranks tell: what they tell together is one object for all of them."""

    def __init__(self, known: _Known) -> None:
        self.seen: defaultdict[int, list[WorkedOn]] = defaultdict(list)
        self._known = known

    def of(self, number: int) -> Iterable[WorkedOn]:
        """What a rank works on there."""
        mine = self.seen.get(number, [])
        is_alone = len(self.seen) == 1 and bool(mine)
        if is_alone or any(site.looks >= FEWEST_LOOKS for site in mine):
            return [_alike(site, self._known) for site in mine]
        named = {_names(site) for site in mine}
        return [
            site for looked, site in self._together if number in looked or _names(site) not in named
        ]

    @cached_property
    def _together(self) -> Sequence[tuple[frozenset[int], WorkedOn]]:
        """Its instructions by what all ranks saw of them, and which ranks that were."""
        together: defaultdict[tuple[object, ...], list[tuple[int, WorkedOn]]] = defaultdict(list)
        for rank, sites in self.seen.items():
            for site in sites:
                together[_names(site), tuple(map(_kind, site.operands))].append((rank, site))
        joined = [_alike(_joined(sites), self._known) for sites in together.values()]
        return [(frozenset(site.seen_on), site) for site in joined]


def _names(site: WorkedOn) -> tuple[str, ...]:
    return tuple(one.name for one in site.operands)


def _kind(operand: Operand) -> _Kind:
    return operand.dtype, operand.is_foreign, operand.layout


def _joined(told: Sequence[tuple[int, WorkedOn]]) -> WorkedOn:
    """One instruction by what several ranks saw of it, most as who looked most often."""
    sites = [site for _, site in told]
    most = max(sites, key=lambda one: one.looks)
    looks = _compared(site.looks for site in sites)
    return replace(
        most,
        is_innermost=all(site.is_innermost for site in sites),
        visits=sum(site.visits for site in sites),
        line_visits=sum(site.line_visits for site in sites),
        looks=looks,
        whole_looks=looks - sum(site.looks - site.whole_looks for site in sites),
        contents=_compared(site.contents for site in sites),
        contents_once=min(looks, sum(site.contents_once for site in sites)),
        returns=sum(site.returns for site in sites),
        result_looks=_compared(site.result_looks for site in sites),
        results=_compared(site.results for site in sites),
        result_returns=sum(site.result_returns for site in sites),
        operands=tuple(
            _operand([site.operands[place] for site in sites], most.operands[place])
            for place in range(len(most.operands))
        ),
        seen_on=tuple(rank for rank, _ in told),
        callers=tuple(one for site in sites for one in site.callers),
    )


def _compared(counts: Iterable[int]) -> int:
    """Looks, or different contents: with the first one of a rank its other ones are compared.

    What two ranks hold is not compared. So a look that is the only one of its rank adds nothing.
    """
    known = [count for count in counts if count]
    return sum(known) - len(known) + 1 if known else 0


def _operand(told: Sequence[Operand], most: Operand) -> Operand:
    """One name by what several ranks saw of it."""
    looks = sum(one.looks for one in told)
    names = {name for one in told for name in one.shares}
    return replace(
        most,
        looks=_compared(one.looks for one in told),
        elements=max(one.elements for one in told),
        fewest=min(one.fewest for one in told),
        contents=_compared(one.contents for one in told),
        returns=sum(one.returns for one in told),
        shares={
            name: sum(one.share(name) * one.looks for one in told) / looks if looks else 0.0
            for name in names
        },
    )


def _known(seen: Iterable[Sequence[WorkedOn]]) -> _Known:
    """What names were seen to be anywhere in their functions."""
    found: defaultdict[tuple[Function, str], _Name] = defaultdict(_Name)
    for own in seen:
        for site in own:
            for one in site.operands:
                found[site.frame.key, one.name].see(one)
    return found


def _alike(site: WorkedOn, known: _Known) -> WorkedOn:
    """The same with what is known of its names in its function: looks at that kind, zeros."""
    operands = []
    for one in site.operands:
        name = known[site.frame.key, one.name]
        count = name.kinds[_kind(one)]
        alike = count if count > MAIN * name.kinds.total() else one.looks
        operands.append(replace(one, alike=alike, least_zero=name.least_zero))
    return replace(site, operands=tuple(operands))
