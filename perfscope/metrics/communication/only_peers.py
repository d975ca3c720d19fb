"""Ranks whose messages are all with one other, as those of a pool's workers are."""

import numpy as np

from perfscope.attribution.preparation import Prepared
from perfscope.judging import MAIN
from perfscope.structures import dataclass
from perfscope.trace.model import Rank
from perfscope.trace.operations import IS_COLLECTIVE, OperationClass, codes_mask

_COMBINED = codes_mask([OperationClass.SENDRECV])


@dataclass(frozen=True)
class OnlyPeer:
    """The one rank with which another exchanges messages."""

    number: int  # its rank in the world
    received: int  # calls that received from it


def only_peers(prepared: Prepared) -> tuple[OnlyPeer | None, ...]:
    """By place of the ranks, in the focus; None for a rank with several peers, or none.

    None as well where collectives, in which all ranks meet, are half as many as its messages.
    Empty for fewer than three ranks: of two, each is the only peer of the other.
    """
    ranks = prepared.trace.ranks
    return tuple(_of(prepared, rank) for rank in ranks) if len(ranks) > 2 else ()


def _of(prepared: Prepared, rank: Rank) -> OnlyPeer | None:
    rows, focus = rank.operations, prepared.focus
    inside = (rows["t0"] >= focus.start_ns) & (rows["t0"] < focus.end_ns)
    collective = IS_COLLECTIVE[rows["op"]]
    messages = inside & ~collective & (rows["peer"] >= 0)
    peers = rows["peer"][messages]
    if not len(peers) or np.any(peers != peers[0]):
        return None
    combined = messages & _COMBINED[rows["op"]]
    if np.any(rows["seq"][combined] != peers[0]):  # the rank that these receive from
        return None
    if np.count_nonzero(inside & collective) > MAIN * len(peers):
        return None
    return OnlyPeer(int(peers[0]), int(np.count_nonzero(rows["received"][messages])))
