"""Modes that slow down what runs under them: where a rank's program sets them, and what they cost.

Both are read defensively from the rank's metadata.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from perfscope.structures import dataclass
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


@dataclass(frozen=True)
class Searched:
    """What part of its backward passes PyTorch searches gradients for NaN, by their CPU time."""

    share: float  # of all passes, also of those without the mode
    is_whole: bool  # whether each gradient counts in it


def searched(torch: Mapping[str, Any]) -> Searched | None:
    """How long gradients are searched for NaN; None where it is unknown.

    A search of each size of a few passes was timed when the program was over.
    """
    told = torch.get("searched_for_nan")
    if not isinstance(told, Mapping):
        return None
    search, looked = whole(told.get("searched_ns")), whole(told.get("whole_ns"))
    in_mode, passes = whole(told.get("in_mode_ns")), whole(told.get("passes_ns"))
    if not (0 < search < looked <= in_mode <= passes):
        return None
    return Searched(search / looked * in_mode / passes, is_whole=not whole(told.get("missed")))
