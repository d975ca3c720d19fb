"""Modes that slow down what runs under them: where a rank's program sets them, and what they cost.

Both are read defensively from the rank's metadata.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from perfscope.trace.counts import whole
from perfscope.trace.model import Frame
from perfscope.trace.operands import frame_of

MOST_PLACES = 8


def set_in(metadata: Mapping[str, Any], fact: str) -> tuple[Frame, ...]:
    """The lines of the program that set the mode of a fact, as far as they are known."""
    switches = metadata.get("switches")
    places = switches.get(fact) if isinstance(switches, Mapping) else None
    if not isinstance(places, Sequence) or isinstance(places, str):
        return ()
    found = [frame_of(one) for one in places[:MOST_PLACES]]
    return tuple(one for one in found if one is not None)


def searched_share(torch: Mapping[str, Any]) -> float:
    """What part of its backward passes PyTorch searches gradients for NaN; 0 where it is unknown.

    A search of each size was timed when the program was over; the CPU time of the passes is theirs.
    """
    told = torch.get("searched_for_nan")
    if not isinstance(told, Mapping):
        return 0.0
    searched, spent = whole(told.get("searched_ns")), whole(told.get("whole_ns"))
    return searched / spent if 0 < searched < spent else 0.0
