"""What helps where a list is searched from its begin."""

from perfscope.judging import MAIN
from perfscope.metrics.results import Results
from perfscope.trace.model import Frame
from perfscope.trace.searched import How, Searched, searched
from perfscope.units import format_count

_ACTIONS = {
    How.IN: (
        "Make `{0}` a set where it is filled (`set()` and `.add(x)`), or keep a set of the same "
        "beside it: `x in {0}` then takes as long however many it holds. What is no key, as an "
        "array or a list, has to be made one first (a tuple, an id)."
    ),
    How.FIND: (
        "Keep a dictionary from each value to its place beside `{0}` (`place = {{value: number for "
        "number, value in enumerate({0})}}`), and look it up there instead of searching `{0}` from "
        "its begin."
    ),
    How.SHIFT: (
        "Make `{0}` a `collections.deque`, with `popleft()` and `appendleft(x)`: nothing is moved "
        "then. Or go through it by a number or an iterator, and leave it as it is."
    ),
}
_DOES = {
    How.IN: "searches",
    How.FIND: "searches",
    How.SHIFT: "moves all that is behind the begin of",
}


def action(seen: Searched) -> str:
    """What to do instead."""
    return _ACTIONS[seen.how].format(seen.name)


def does(seen: Searched) -> str:
    """What it does, for a title: ``searches `played`, a list of 340,``."""
    return f"{_DOES[seen.how]} `{seen.name}`, a {seen.kind} of {format_count(round(seen.length))}"


def searched_at(results: Results, frame: Frame | None) -> Searched | None:
    """What most of a line's time goes through, on any rank; None where nothing was seen to."""
    told = [one for rank in results.trace.ranks for one in searched(rank.metadata)]
    here = [one for one in told if one.frame == frame and one.part > MAIN]
    return max(here, key=lambda one: one.part, default=None)
