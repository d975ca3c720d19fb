"""What ranks gave to large collectives, read defensively from the metadata of all of them."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from perfscope.structures import dataclass
from perfscope.trace.counts import whole
from perfscope.trace.model import Frame, Rank
from perfscope.trace.operands import frame_of
from perfscope.trace.operations import BY_CODE, BY_NAME

_MOST_ROWS = 128
_MOST_LOOKS = 64
_WIDTH, _LOOK_WIDTH = 5, 4

_Call = tuple[int, int]
"""The group that a call is in, and its ordinal there."""


@dataclass(frozen=True)
class Given:
    """Calls like one another, by one rank: one operation, one size, one line of the program."""

    rank: int  # its number
    operation: str
    bytes: int  # that the rank gives to each
    where: Frame | None  # None where that is not known
    calls: int  # about, in all
    is_same: tuple[bool, ...]
    """Whether all members of the group gave the same, of calls that all of them looked at.

    Calls to which all gave the same value throughout are left out: that tells nothing.
    """
    groups: tuple[tuple[int, ...], ...]
    """The ranks that were in these calls together, this one among them."""


def given(ranks: Sequence[Rank]) -> Iterator[Given]:
    """The calls of all ranks, each rank's by themselves."""
    told = [list(_rows(rank.metadata)) for rank in ranks]
    seen: defaultdict[tuple[str, int, _Call], list[tuple[int, int]]] = defaultdict(list)
    for rank, rows in zip(ranks, told, strict=True):
        for name, size, _, _, looks in rows:
            for group, _, ordinal, digest in looks:
                seen[name, size, (group, ordinal)].append((rank.number, digest))
    for rank, rows in zip(ranks, told, strict=True):
        for name, size, where, calls, looks in rows:
            found = [(seen[name, size, (one[0], one[2])], one[1]) for one in looks]
            whole = [digests for digests, members in found if 1 < members == len(digests)]
            groups = tuple(sorted({tuple(sorted(number for number, _ in one)) for one in whole}))
            kinds = [{digest for _, digest in one} for one in whole]
            # an even one is of one value throughout
            same = tuple(len(one) == 1 for one in kinds if len(one) > 1 or max(one) % 2)
            yield Given(rank.number, name, size, where, max(calls, len(looks)), same, groups)


_Row = tuple[str, int, Frame | None, int, list[list[int]]]


def _rows(metadata: Mapping[str, Any]) -> Iterator[_Row]:
    rows = metadata.get("given")
    for row in rows[:_MOST_ROWS] if isinstance(rows, list) else ():
        if not isinstance(row, list) or len(row) != _WIDTH or not isinstance(row[4], list):
            continue
        operation, size, place, calls, looks = row
        one = BY_CODE.get(operation) if isinstance(operation, int) else BY_NAME.get(str(operation))
        if one is not None:
            known = [list(map(whole, look)) for look in looks[:_MOST_LOOKS] if _is_look(look)]
            known.sort(key=lambda look: look[2])
            yield one.name, whole(size), frame_of(place), whole(calls), known


def _is_look(look: Any) -> bool:
    return isinstance(look, list) and len(look) == _LOOK_WIDTH
