"""The line of the program that deals out work by rank, as the first rank read it in its files."""

import re
from collections.abc import Sequence

from perfscope.trace.model import Frame, Rank
from perfscope.trace.operands import frame_of

_HANDLE = re.compile(r"pipe_handle=\d+")
"""Python starts each process with a number of its own there."""


def split_of(ranks: Sequence[Rank]) -> Frame | None:
    """The line; None where the agent told none or several, or may have told another program's.

    That may be so where several ranks told, each the first of its job, or other ranks were started
    in another way than the one that did.
    """
    told = [one for rank in ranks if (one := rank.metadata.get("splits")) is not None]
    places = told[0] if len(told) == 1 else None
    is_same = len({_HANDLE.sub("", repr(rank.metadata.get("argv"))) for rank in ranks}) == 1
    if not is_same or not isinstance(places, list) or len(places) != 1:
        return None
    return frame_of(places[0])
