"""What helps where a list is searched from the start."""

from perfscope.judging import MAIN
from perfscope.metrics.results import Results
from perfscope.trace.model import Frame
from perfscope.trace.searched import How, Searched
from perfscope.units import format_count

_ACTIONS = {
    How.IN: (
        "Make `{0}` a set where it is filled (`set()` and `.add(x)`), or keep a set of the same "
        "beside it: how long `x in {0}` takes then does not depend on how many it holds. Items "
        "that cannot be keys, such as arrays or lists, have to become tuples first."
    ),
    How.FIND: (
        "Keep a dictionary from each value to its place beside `{0}` (`place = {{value: number for "
        "number, value in enumerate({0})}}`), as long as no place changes, and look it up there "
        "instead of searching `{0}` from the start."
    ),
    How.COUNT: (
        "Keep a `collections.Counter` beside `{0}`, counted up where `{0}` is filled, and look the "
        "number up there."
    ),
    How.REMOVE: (
        "Make `{0}` a dictionary with its items as keys (`dict.fromkeys({0})` keeps their order), "
        "and delete them from it (`del {0}[x]`), or a set where their order does not matter."
    ),
    How.SHIFT: (
        "Make `{0}` a `collections.deque`, with `popleft()` and `appendleft(x)`: nothing is moved "
        "then. Or go through it by a number or an iterator, and leave it as it is."
    ),
}
_DOES = {
    How.IN: "searches",
    How.FIND: "searches",
    How.COUNT: "goes through all of",
    How.REMOVE: "searches, and closes the gap in,",
    How.SHIFT: "shifts every other element of",
}


def action(seen: Searched) -> str:
    """What to do instead."""
    return _ACTIONS[seen.how].format(seen.name)


def does(seen: Searched) -> str:
    """What it does, for a title: ``searches `played`, a list of 340,``."""
    return f"{_DOES[seen.how]} `{seen.name}`, a {seen.kind} of {format_count(round(seen.length))}"


def searched_at(results: Results, frame: Frame | None) -> Searched | None:
    """What most of a line's time goes through, on any rank; None where nothing was seen to."""
    told = [one for own in results.searched for one in own]
    here = [one for one in told if one.frame == frame and one.part > MAIN]
    return max(here, key=lambda one: one.part, default=None)
