"""Where single precision first meets double, of work whose operands were made double before."""

from collections.abc import Sequence
from itertools import pairwise

from perfscope.findings.facts.facts import Facts
from perfscope.structures import dataclass
from perfscope.trace.model import Frame, Function
from perfscope.trace.operands import Operand, WorkedOn

SINGLE, DOUBLE = "float32", "float64"


@dataclass(frozen=True)
class Meeting:
    """A place at which both precisions are taken, by an operator or a function of the program."""

    frame: Frame
    single: Operand
    double: Operand


def decides(one: Operand) -> bool:
    """Whether it makes what it meets as wide: arrays do, and numbers since NumPy 2."""
    return one.elements > 1 or one.is_number


def first_meeting(run: Facts, seen: Meeting) -> Meeting | None:
    """The outermost call that passes both to the function where a variable of it is double.

    What a function itself computes is double as a consequence: of what it got, where that is the
    only thing in double precision beside arrays in single. So is what a loop passes again that
    the function has returned to it. None where the double operand is neither, or no such call was
    seen.
    """
    way = [seen]
    while not way[-1].double.is_number:
        is_computed = way[-1].double.is_computed
        callers = _callers(run, way[-1].frame.key) - {one.frame for one in way}
        sites = [one for sites in run.worked_on for one in sites if one.frame in callers]
        told = (_passed(one) for one in sites if is_computed or one.fed_back)
        passed = next((one for one in told if one is not None), None)
        if passed is None:
            break
        way.append(passed)
    return way[-1] if len(way) > 1 else None


def _passed(site: WorkedOn) -> Meeting | None:
    """What a call takes of both precisions; None where it is not plain which makes which wide."""
    made = [one for one in site.operands if one.name not in site.fed_back]
    single = [one for one in made if one.dtype == SINGLE and one.elements > 1]
    double = [one for one in made if one.dtype == DOUBLE and decides(one)]
    if not single or len(double) != 1 or site.is_innermost:
        return None
    return Meeting(site.frame, single[0], double[0])


def _callers(run: Facts, callee: Function) -> set[Frame]:
    """The lines that samples show to call a function: of the next one outwards that was seen."""
    trace = run.results.trace
    seen = {one.frame.key for sites in run.worked_on for one in sites}
    shown: set[int] = set()
    for rank in trace.ranks:
        shown.update(run.results.focus.within(rank.main_stacks)["stack"].tolist())
    stacks = ([trace.frames[at] for at in trace.stacks[one]] for one in shown)
    found = (_caller([one for one in stack if one.key in seen], callee) for stack in stacks)
    return {one for one in found if one is not None}


def _caller(stack: Sequence[Frame], callee: Function) -> Frame | None:
    """The frame next to a function, outwards."""
    for before, frame in pairwise(stack):
        if frame.key == callee != before.key:
            return before
    return None
