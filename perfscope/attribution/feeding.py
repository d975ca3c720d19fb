"""Work whose result training takes: acting that feeds each update is no evaluation.

A policy acts, and what came of it updates the policy. The result of an evaluation is a figure: what
it is passed to writes it down, compares it, or adds it up over the ranks. The agent has read in the
bytecode what the program's lines pass on, from call to call and from function to function.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable
from enum import Enum
from functools import cached_property
from itertools import pairwise

import numpy as np

from perfscope.arrays import Bools, Ints
from perfscope.attribution.stack_rules import is_user_file
from perfscope.judging import ALONE, FEWEST_SAMPLES, MAIN
from perfscope.places import MODULE, named_function
from perfscope.structures import dataclass
from perfscope.trace.loops import RETURNED, Handed, handed_on, updating
from perfscope.trace.model import Frame, Function, Rank, Trace

_Node = tuple[Function, int | str] | str
"""A line of a function, what it returns, or the key of what functions hand to each other."""


class Fate(Enum):
    """What becomes of what some work yields."""

    FEEDS = "training takes it"
    KEPT = "it is put where other functions look: whether training takes it is not known"
    TOLD = "it is a figure that nobody but a reader takes"
    UNKNOWN = "it was not read what the program passes on there"


@dataclass(frozen=True)
class Own:
    """Lines and functions of some work that is done nowhere else."""

    places: set[Frame]
    functions: set[Function]


class Feeding:
    """The lines of a program, and who takes what they yield."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace

    @cached_property
    def looks(self) -> Ints:
        """How often each stack was met, of all ranks."""
        return looks(self._trace)

    @cached_property
    def _told(self) -> dict[Function, frozenset[Handed]]:
        return handed_on(self._trace.ranks)

    @cached_property
    def _updating(self) -> frozenset[Frame]:
        return updating(self._trace.ranks)

    @cached_property
    def _users(self) -> list[list[Frame]]:
        """By stack the frames of the program's own functions."""
        frames = self._trace.frames
        is_users = [_is_users(one) for one in frames]
        return [[frames[one] for one in stack if is_users[one]] for stack in self._trace.stacks]

    def fate(self, inside: Ints, fewest: int = FEWEST_SAMPLES) -> Fate:
        """What becomes of what is done in some of the looks; by stack how many.

        Most of the looks must be at what training takes: a first call before the loop is another.
        Of fewer than `fewest` nothing is said, as it may be chance that they were there alone.
        """
        if not self._told:
            return Fate.UNKNOWN
        own = self._own(inside, self.looks - inside)
        known = [one for one in own.places if one.key in self._told]
        if not known:
            return Fate.UNKNOWN
        feeding = self._before(self._takers(inside, own))
        total = fed = 0
        for number in np.flatnonzero(inside).tolist():
            here = own.places.intersection(self._users[number])
            total += int(inside[number]) * bool(here)
            fed += int(inside[number]) * any((one.key, one.line) in feeding for one in here)
        if total < fewest:
            return Fate.UNKNOWN
        if fed > MAIN * total:
            return Fate.FEEDS
        return Fate.KEPT if self._is_kept(known, own.functions) else Fate.TOLD

    def _own(self, inside: Ints, outside: Ints) -> Own:
        """The places and functions that are met nearly there alone.

        Below the first such place of a stack, what a function does that others call as well, as
        the model, is no place of its own.
        """
        places: defaultdict[Frame, list[int]] = defaultdict(lambda: [0, 0])
        functions: defaultdict[Function, list[int]] = defaultdict(lambda: [0, 0])
        for number in np.flatnonzero(inside + outside).tolist():
            users = dict.fromkeys(self._users[number])
            keys = {one.key for one in users}
            for where, looks_at in enumerate((int(inside[number]), int(outside[number]))):
                for one in users:
                    places[one][where] += looks_at
                for key in keys:
                    functions[key][where] += looks_at
        alone = {key for key, (mine, others) in functions.items() if _is_alone(mine, others)}
        found: set[Frame] = set()
        for number in np.flatnonzero(inside).tolist():
            is_below = False
            for one in self._users[number]:
                if _is_alone(*places[one]) and (one.key in alone or not is_below):
                    found.add(one)
                    is_below = True
        return Own(found, alone)

    def _takers(self, inside: Ints, own: Own) -> set[_Node]:
        """The lines from which a model is updated; where these are not known, is applied.

        It is one that is applied inside as well.
        """
        if self._updating:
            return {(one.key, one.line) for one in self._updating - own.places}
        applied: set[Function] = set()
        for number in np.flatnonzero(inside).tolist():
            users = self._users[number]
            first = next((at for at, one in enumerate(users) if one in own.places), len(users))
            applied.update(one.key for one in users[first + 1 :] if one.key not in own.functions)
        found: set[_Node] = set()
        for users in self._users:
            if any(one.key in own.functions for one in users):
                continue
            below = False
            for one in reversed(users):
                if below and one not in own.places:
                    found.add((one.key, one.line))
                below = below or one.key in applied
        return found

    def _before(self, takers: Iterable[_Node]) -> set[_Node]:
        """All whose result comes to some lines before these update a model.

        What a function returns in which one of them stands comes after that update: it is no part
        of it where the line that calls this function is one of them, as a history of losses. Nor is
        what that line hands to itself, which is another call in it, as of the optimizer.
        """
        ends = set(takers)
        after = {(one[0], RETURNED) for one in ends if isinstance(one, tuple)}
        left = [
            one
            for end in ends
            for one in self._backward.get(end, ())
            if one not in after and one != end
        ]
        found = set(left)
        while left:
            for one in self._backward.get(left.pop(), ()):
                if one not in found:
                    found.add(one)
                    left.append(one)
        return found - ends

    def _is_kept(self, places: Iterable[Frame], own: set[Function]) -> bool:
        """Whether what is done there reaches what a function elsewhere looks at."""
        left: list[_Node] = [(one.key, one.line) for one in places]
        found = set(left)
        while left:
            node = left.pop()
            for one in self._forward.get(node, ()):
                key = one.lstrip("?") if isinstance(one, str) else ""
                if key and not key.endswith("()") and self._is_read(key, node, own):
                    return True
                if one not in found:
                    found.add(one)
                    left.append(one)
        return False

    def _is_read(self, key: str, writer: _Node, own: set[Function]) -> bool:
        """Whether a function elsewhere looks at what is put there.

        Where a module's code puts it, other code of modules does not: that has variables of its
        own, and what the module passes on from line to line is known.
        """
        readers = {one[0] for one in self._forward.get(key, ()) if isinstance(one, tuple)} - own
        is_module = isinstance(writer, tuple) and writer[0][0] == MODULE
        return any(not is_module or one[0] != MODULE for one in readers)

    @cached_property
    def _forward(self) -> dict[_Node, set[_Node]]:
        """By what hands something on who takes it."""
        found: defaultdict[_Node, set[_Node]] = defaultdict(set)
        for function, edges in self._told.items():
            for source, target in edges:
                found[_node(function, source)].add(_node(function, target))
        for users in self._users:
            for caller, one in pairwise(users):
                given = f"{one.function.rpartition('.')[2]}()"
                if (caller.line, given) not in self._told.get(caller.key, ()):  # else it is dropped
                    found[one.key, RETURNED].add((caller.key, caller.line))
        return dict(found)

    @cached_property
    def _backward(self) -> dict[_Node, set[_Node]]:
        found: defaultdict[_Node, set[_Node]] = defaultdict(set)
        for one, takers in self._forward.items():
            for taker in takers:
                found[taker].add(one)
        return dict(found)


def looks(trace: Trace, which: Callable[[Rank], Bools] | None = None) -> Ints:
    """How often each stack was met, of all ranks; `which` chooses among a rank's looks."""
    found = np.zeros(len(trace.stacks), np.int64)
    for rank in trace.ranks:
        met = rank.main_stacks["stack"]
        met = met if which is None else met[which(rank)]
        found += np.bincount(met, minlength=len(found))[: len(found)]
    return found


def _is_alone(mine: int, others: int) -> bool:
    return mine >= ALONE * (mine + others) > 0


def _node(function: Function, one: int | str) -> _Node:
    return one if isinstance(one, str) and one != RETURNED else (function, one)


def _is_users(frame: Frame) -> bool:
    """Whether it is of the program, and no comprehension: these belong to their function."""
    return is_user_file(frame.file) and named_function(frame.function) == frame.function
