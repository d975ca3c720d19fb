"""What findings about operands say of lines and what these work on."""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Protocol, TypeVar

from perfscope.findings.core.finding import Evidence, Gain
from perfscope.findings.core.gain import bound_s, saved
from perfscope.findings.core.wording import ranks
from perfscope.judging import MAIN
from perfscope.metrics.host.hot_lines import HotLine
from perfscope.metrics.host.looks import FEWEST_LOOKS
from perfscope.metrics.results import Results
from perfscope.trace.model import Frame
from perfscope.trace.operands import Operand, WorkedOn

Found = TypeVar("Found", bound="OnLine")


def has_operands(results: Results) -> bool:
    """Whether any rank looked at what its lines work on."""
    return any(results.worked_on)


def grown_operand(told: Iterable[Iterable[WorkedOn]], frame: Frame | None) -> Operand | None:
    """What a function works on that has grown most while it was looked at; None: nothing has."""
    seen = [
        one
        for own in told
        for site in own
        if frame is not None and site.frame.key == frame.key and site.looks >= FEWEST_LOOKS
        for one in site.operands
    ]
    grown = [one for one in seen if 0 < one.fewest <= MAIN * one.elements]
    return max(grown, key=lambda one: one.elements / one.fewest, default=None)


def ranks_of(lines: Iterable[HotLine]) -> tuple[int, ...]:
    """The numbers of the ranks that spend time in some lines."""
    return tuple(sorted({line.rank.number for line in lines if line.seconds > 0}))


def seen_on(lines: Sequence[HotLine]) -> tuple[Evidence, ...]:
    """Which ranks looked at some lines, where others that spend time in them did not."""
    by_site = {id(line.site): line.site.seen_on or (line.rank.number,) for line in lines}
    looked = {rank for told in by_site.values() for rank in told}  # ranks share what they tell
    if looked.issuperset(ranks_of(lines)):
        return ()
    return (Evidence("Looked at on, others spend time in the same lines", ranks(sorted(looked))),)


def frames_of(lines: Iterable[HotLine]) -> tuple[Frame, ...]:
    """The places of some lines, each once."""
    return tuple(dict.fromkeys(line.site.frame for line in lines))


class OnLine(Protocol):
    """Something that was found on a hot line."""

    @property
    def line(self) -> HotLine:
        """The line, with the time that it is about."""
        ...


def costliest(found: Iterable[tuple[Hashable, Found]]) -> list[Found]:
    """Of what was found on lines, by what it is about, that which takes most time together."""
    groups: defaultdict[Hashable, list[Found]] = defaultdict(list)
    for key, one in found:
        groups[key].append(one)
    return max(groups.values(), key=lambda own: sum(one.line.seconds for one in own), default=[])


def saved_at_most(results: Results, lines: Sequence[HotLine]) -> Gain:
    """What the job saves at most without these lines: no rank has to wait longer for the others."""
    spent = spent_by_rank(lines)
    return saved_of_ranks(results, [spent[rank.number] for rank in results.trace.ranks])


def saved_of_ranks(results: Results, seconds: Sequence[float]) -> Gain:
    """The same of so many seconds of each rank."""
    return saved(results, min(max(seconds, default=0.0), bound_s(results, seconds)))


def spent_by_rank(lines: Iterable[HotLine]) -> Mapping[int, float]:
    """How long each rank is in some lines, by its number; 0 of others."""
    spent: defaultdict[int, float] = defaultdict(float)
    for line in lines:
        spent[line.rank.number] += line.seconds
    return spent


def shape_of(operand: Operand) -> str:
    """Shape and type in words: `360 × 360 float64`."""
    sizes = " × ".join(f"{size:,}" for size in operand.shape)
    return f"{sizes} {operand.dtype}".strip()
