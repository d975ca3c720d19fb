"""Instructions and functions at which several ranks were looked at at the same moments."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from math import comb, sqrt

from perfscope.judging import ALONE, SURE
from perfscope.structures import dataclass
from perfscope.trace.model import Frame
from perfscope.trace.operands import WorkedOn

_Digests = Mapping[int, Mapping[int, int]]
"""By the number of a meeting what each rank that was at one instruction worked on then."""


@dataclass(frozen=True)
class Instruction:
    """One instruction, by what several ranks saw of it at the same moments."""

    site: WorkedOn
    met_at: Sequence[int]  # the numbers of the meetings at which several ranks were there
    contents: int  # different ones in these
    copies: int  # on how many ranks the same was, at most
    ranks: frozenset[int]  # their places in the order of the ranks
    by_chance: float  # at how many meetings it would be so if ranks took any of what was ever seen
    alike_at: Sequence[int]  # of these, such at which some of them worked on the same

    @property
    def meetings(self) -> int:
        """At how many meetings several ranks were there."""
        return len(self.met_at)

    @property
    def alike(self) -> int:
        """At how many of them some ranks worked on the same."""
        return len(self.alike_at)

    @property
    def changes(self) -> bool:
        """Whether it could have been something else: what is always the same tells nothing."""
        return self.by_chance < self.meetings

    @property
    def is_of_arrays(self) -> bool:
        """Whether it works on more than single values, which ranks may have added up together.

        A loss that gradients are still computed of is one of this rank's own data.
        """
        return any(
            one.elements > 1 or (one.has_gradient and not one.is_parameter)
            for one in self.site.operands
        )


def is_too_often(alike: int, meetings: int, by_chance: float) -> bool:
    """Whether ranks had the same at more of the meetings than by chance, and than an exception."""
    return alike > max((1.0 - ALONE) * meetings, by_chance + SURE * sqrt(by_chance))


def calls_by_line(instructions: Iterable[Instruction]) -> Mapping[Frame, Sequence[Instruction]]:
    """Those that were seen to call other code of the program, by their lines."""
    found: defaultdict[Frame, list[Instruction]] = defaultdict(list)
    for one in instructions:
        if not one.site.is_innermost:
            found[one.site.frame].append(one)
    return found


def compared(looks: Iterable[Sequence[WorkedOn]]) -> Iterable[Instruction]:
    """What several ranks were looked at at the same moment, by the looks of each in their order."""
    seen: defaultdict[tuple[object, ...], list[tuple[int, WorkedOn]]] = defaultdict(list)
    for place, own_looks in enumerate(looks):
        for site in own_looks:
            if site.at_meetings:
                seen[site.frame, site.instruction].append((place, site))
    for sites in seen.values():
        digests: defaultdict[int, dict[int, int]] = defaultdict(dict)
        for place, site in sites:
            for number, digest in site.at_meetings:
                digests[number][place] = digest
        together = {number: own for number, own in digests.items() if len(own) > 1}
        if together:
            is_innermost = all(site.is_innermost for _, site in sites)
            most = max((site for _, site in sites), key=lambda one: one.looks)
            yield _instruction(replace(most, is_innermost=is_innermost), digests, together)


def _instruction(site: WorkedOn, digests: _Digests, together: _Digests) -> Instruction:
    largest = {number: Counter(own.values()).most_common(1)[0] for number, own in together.items()}
    alike = {number: found for number, found in largest.items() if found[1] > 1}
    return Instruction(
        site=site,
        met_at=list(together),
        contents=len({digest for digest, _ in alike.values()}),
        copies=max((count for _, count in alike.values()), default=1),
        ranks=frozenset(
            place
            for number, (digest, _) in alike.items()
            for place, own in together[number].items()
            if own == digest
        ),
        by_chance=len(together) * _equal_share(digests),
        alike_at=list(alike),
    )


def _equal_share(digests: _Digests) -> float:
    """Of pairs of looks at different meetings, those that saw the same."""
    at_meetings = Counter(digest for own in digests.values() for digest in set(own.values()))
    pairs = comb(len(digests), 2)
    return sum(comb(count, 2) for count in at_meetings.values()) / pairs if pairs else 0.0
