"""Where stack samples were taken most: one function of the user, at one line."""

from collections import Counter
from collections.abc import Iterable, Sequence

from perfscope.attribution.stack_rules import is_user_file
from perfscope.trace.model import Frame


def usual_place(stacks: Iterable[Sequence[int]], frames: Sequence[Frame]) -> Frame | None:
    """The innermost of the user's functions seen most often, at the line seen most often."""
    places = Counter(
        next((place for place in reversed(stack) if is_user_file(frames[place].file)), -1)
        for stack in stacks
    )
    places.pop(-1, None)
    functions: Counter[tuple[str, str]] = Counter()
    for place, times in places.items():
        functions[frames[place].function, frames[place].file] += times
    if not functions:
        return None
    function = max(functions, key=lambda one: (functions[one], one))
    lines = [place for place in places if (frames[place].function, frames[place].file) == function]
    return frames[max(lines, key=lambda place: (places[place], -frames[place].line))]
