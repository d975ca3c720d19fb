"""What lines of each rank work on, also where other ranks looked: ranks run the same program."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from perfscope.judging import FEWEST_SAMPLES, MAIN
from perfscope.trace.model import Frame, Function, Rank
from perfscope.trace.operands import Operand, WorkedOn, worked_on

FEWEST_LOOKS = FEWEST_SAMPLES

_Kind = tuple[str, bool, str]
"""Type, order of bytes and layout."""


def looks_of(ranks: Sequence[Rank]) -> tuple[tuple[WorkedOn, ...], ...]:
    """What each rank's lines were seen to work on, in the order of the ranks.

    Looks are rare, and which rank one falls on is chance. So of a line that a rank itself looked at
    too seldom, the looks of all ranks tell, as far as its own do not contradict them.
    """
    own = {rank.number: worked_on(rank.metadata) for rank in ranks}
    by_line: defaultdict[Frame, dict[int, list[WorkedOn]]] = defaultdict(dict)
    for number, sites in own.items():
        for site in sites:
            by_line[site.frame].setdefault(number, []).append(site)
    told = ([site for seen in by_line.values() for site in _at_line(seen, n)] for n in own)
    return _with_alike(told, own.values())


def _at_line(seen: dict[int, list[WorkedOn]], number: int) -> Sequence[WorkedOn]:
    """What a rank works on in a line, of which several ranks tell."""
    mine = seen.get(number, [])
    if any(site.looks >= FEWEST_LOOKS for site in mine) or set(seen) == {number}:
        return mine
    together: defaultdict[tuple[object, ...], list[tuple[int, WorkedOn]]] = defaultdict(list)
    for rank, sites in seen.items():
        for site in sites:
            together[_names(site), tuple(map(_kind, site.operands))].append((rank, site))
    named = {_names(site) for site in mine}
    return [
        _joined(sites)
        for (names, _), sites in together.items()
        if names not in named or any(rank == number for rank, _ in sites)
    ]


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


def _with_alike(
    told: Iterable[Sequence[WorkedOn]], seen: Iterable[Sequence[WorkedOn]]
) -> tuple[tuple[WorkedOn, ...], ...]:
    """The same with how often names were seen to be of their kind anywhere in their functions."""
    kinds: defaultdict[tuple[Function, str], Counter[_Kind]] = defaultdict(Counter)
    for own in seen:
        for site in own:
            for one in site.operands:
                kinds[site.frame.key, one.name][_kind(one)] += one.looks
    return tuple(tuple(_alike(site, kinds) for site in sites) for sites in told)


def _alike(site: WorkedOn, kinds: Mapping[tuple[Function, str], Counter[_Kind]]) -> WorkedOn:
    operands = []
    for one in site.operands:
        seen = kinds[site.frame.key, one.name]
        count = seen[_kind(one)]
        operands.append(replace(one, alike=count if count > MAIN * seen.total() else one.looks))
    return replace(site, operands=tuple(operands))
