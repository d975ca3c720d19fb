"""The lines of the program that deal out work by rank, as the first rank read them in its files."""

from collections.abc import Iterable

from perfscope.trace.model import Frame, Rank
from perfscope.trace.operands import frame_of

MOST_PLACES = 3
"""Of more nobody can tell which one it is."""


def splits_of(ranks: Iterable[Rank]) -> tuple[Frame, ...]:
    """The lines; none where the agent did not tell them, or tells too many."""
    told = (rank.metadata.get("splits") for rank in ranks)
    places = next((one for one in told if isinstance(one, list)), [])
    found = [frame for one in places if (frame := frame_of(one)) is not None]
    return tuple(found) if len(found) <= MOST_PLACES else ()
