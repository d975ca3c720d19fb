"""Which compiled functions of JAX train, and on how many samples.

A training function computes gradients, or is given again what it returned: parameters, the state
of an optimizer, the field of a solver. Functions that only look at such values train nothing, nor
does one beside a function that computes gradients which is not called once a step, as what counts
right answers over an evaluation, unless what it returns gets to that function, as from an update
after several gradients, from what clips them before, or from one that draws samples.
"""

from __future__ import annotations

import sys

from . import wrap
from .jax_waits import weak

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .. import steps

_LOOKED_AT = 4  # calls after which a function is known
_MOST_LEAVES = 2000
MOST_UNDECIDED = 16
_MOST_REMEMBERED = 16


class Uses:
    """What the calls of one compiled function have shown."""

    has_gradients = False
    """Whether some function of the program computes gradients."""
    remembered: list[Uses] = []
    """Those of which it is known what they returned last, and not whether they feed others."""

    def __init__(self, name: str, devices_first: bool) -> None:
        self.name = name
        self.calls = 0
        self.trains: bool | None = None  # None: not known yet
        self.computed_gradients = False
        self._is_fed_back = False  # it is given again what it returned
        self._feeds = False  # what it returned gets to what computes gradients
        self._sources: list[Uses] = []  # those whose results it was given
        self._is_apart = False  # not called once a step
        self._rounds_before = 0
        self._devices_first = devices_first
        self._returned: list[Any] = []  # weak references
        self._given: list[Any] = []  # weak references to what the call before was given
        self._batch: Any = None  # position or name of the argument that is the batch, or holds it
        self._within: int | None = None  # the place of its first array among those of the argument

    def computes_gradients(self) -> None:
        """A gradient was computed in it."""
        Uses.has_gradients = self.computed_gradients = self.trains = True
        self._hand_on()

    @property
    def evaluates(self) -> bool:
        """Whether it is beside the steps, as far as is known: what looks at parameters, say."""
        return self._is_apart and not self._feeds and not self.trains

    def look_around(self, rounds: int) -> None:
        """A call begins after so many rounds of the functions that train."""
        since = rounds - self._rounds_before
        self._rounds_before = rounds
        if since:
            self._is_apart = since > 1

    def before(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> int:
        """A call begins; the samples that it works on, 0 unknown.

        Where some functions compute gradients, others are given these, and no samples.
        """
        self.calls += 1
        if self.calls <= _LOOKED_AT + 1:
            self._look(args, kwargs)
        if Uses.remembered and (self.calls <= _LOOKED_AT + 1 or self._is_on_the_way):
            self._look_for_sources(args, kwargs)
        if self._batch is None or (Uses.has_gradients and not self.computed_gradients):
            return 0
        try:
            batch = kwargs[self._batch] if isinstance(self._batch, str) else args[self._batch]
            return self._samples(batch)
        except LookupError:
            return 0

    def after(self, result: Any) -> None:
        """A call is over."""
        if self.calls > 1:
            is_beside = self._is_apart and Uses.has_gradients and not self._feeds
            self.trains = self.computed_gradients or (self._is_fed_back and not is_beside)
        is_known = self.calls > _LOOKED_AT
        leaves = [] if is_known else leaves_of(result)
        self._returned = [reference for leaf in leaves for reference in weak(leaf)]
        if self in Uses.remembered:
            Uses.remembered.remove(self)
        if self._returned and not self._is_on_the_way:
            Uses.remembered.append(self)
            del Uses.remembered[:-_MOST_REMEMBERED]

    @property
    def _is_on_the_way(self) -> bool:
        return self.computed_gradients or self._feeds

    def _look_for_sources(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Looks for arrays that other functions returned among what it is given.

        A single number may be the result of an evaluation that sets a rate.
        """
        leaves = [leaf for value in (*args, *kwargs.values()) for leaf in leaves_of(value)]
        given = {id(leaf) for leaf in leaves if getattr(leaf, "shape", ())}
        for one in Uses.remembered[:]:
            returned = _alive(one._returned)
            if not returned:
                Uses.remembered.remove(one)
            elif one is not self and one not in self._sources and not given.isdisjoint(returned):
                self._sources.append(one)
        del self._sources[:-_MOST_REMEMBERED]
        if self._is_on_the_way:
            self._hand_on()

    def _hand_on(self) -> None:
        """Those whose results it was given feed as well, and so on."""
        reached = [self]
        while reached:
            sources = reached.pop()._sources
            for one in sources:
                if not one._feeds:
                    one._feeds = True
                    reached.append(one)
                if one in Uses.remembered:
                    Uses.remembered.remove(one)
            del sources[:]

    def _look(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        returned, given = _alive(self._returned), _alive(self._given)
        self._batch, self._within, self._given = None, None, []
        is_new = False
        for place, value in [*enumerate(args), *kwargs.items()]:
            leaves = leaves_of(value)
            self._given += [reference for leaf in leaves for reference in weak(leaf)]
            if not returned.isdisjoint(map(id, leaves)):
                self._is_fed_back = True
                if self._batch is None or self._within is not None:
                    self._look_within(place, leaves, returned | given)
            elif _is_batch(leaves) and (not is_new or given.isdisjoint(map(id, leaves))):
                self._batch, self._within = place, None
                is_new = given.isdisjoint(map(id, leaves))

    def _look_within(self, place: Any, leaves: list[Any], known: set[int]) -> None:
        """Looks for a batch in one argument for all, as libraries that take modules apart have."""
        new = [at for at, leaf in enumerate(leaves) if id(leaf) not in known]
        if _is_batch([leaves[at] for at in new]):
            self._batch, self._within = place, new[0]

    def _samples(self, batch: Any) -> int:
        leaves = leaves_of(batch)
        if self._within is not None:
            leaves = leaves[self._within : self._within + 1]
        leaf: Any = next((one for one in leaves if getattr(one, "shape", ())), None)
        if leaf is None:
            return 0
        if self._devices_first:
            return int(leaf.shape[0]) * int(leaf.shape[1]) if len(leaf.shape) > 1 else 0
        if getattr(leaf, "is_fully_addressable", True):
            return wrap.batch_length(leaf)
        # an array over all processes: this one's part of the rows
        rows = {shard.index[0].indices(leaf.shape[0]) for shard in leaf.addressable_shards}
        return sum(stop - start for start, stop, _ in rows)


class Order:
    """Gives calls to a cycle of steps in their order, once it is known whether they train."""

    def __init__(self, cycle: steps.Cycle) -> None:
        self._cycle = cycle
        self._waiting: list[tuple[Uses, steps.Unit]] = []
        self.rounds = 0
        """How often the functions that train have come round: one of them is called once more.

        A step may call several: one computes gradients, and another one updates with them. Where
        some compute gradients, these alone count: others may draw samples, several times a step.
        """
        self._in_round: set[int] = set()

    def add(self, uses: Uses, unit: steps.Unit) -> None:
        """Takes a call that is over."""
        if uses.computed_gradients or (uses.trains and not Uses.has_gradients):
            self._count(id(uses))
        self._waiting.append((uses, unit))
        while self._waiting:
            first = self._waiting[0][0]
            if first.trains is None and len(self._waiting) <= MOST_UNDECIDED:
                break
            self._give(*self._waiting.pop(0))

    def _count(self, function: int) -> None:
        if function in self._in_round:
            self.rounds += 1
            self._in_round.clear()
        self._in_round.add(function)

    def goes_on_until(self, now_ns: int) -> bool:
        """The program waited for what it has called; whether the last call trained.

        A call returns before its computation is over: what it has begun is part of its step.
        """
        if self._waiting:
            uses, unit = self._waiting[-1]
            unit.end_ns = now_ns
            return bool(uses.trains)
        return self._cycle.goes_on_until(now_ns)

    def finish(self) -> None:
        """What is not known by now trains nothing."""
        for uses, unit in self._waiting:
            self._give(uses, unit)
        del self._waiting[:]
        self._cycle.cut()

    def _give(self, uses: Uses, unit: steps.Unit) -> None:
        if uses.trains:
            self._cycle.add(unit)
        elif uses.evaluates:
            self._cycle.cut()  # it is no part of the step before


def leaves_of(tree: Any) -> list[Any]:
    """The values in containers that JAX knows."""
    util = sys.modules.get("jax.tree_util")
    return util.tree_leaves(tree)[:_MOST_LEAVES] if util is not None else []


def _alive(references: list[Any]) -> set[int]:
    """What weak references lead to, by identity."""
    return {id(leaf) for leaf in (one() for one in references) if leaf is not None}


def _is_batch(leaves: list[Any]) -> bool:
    """Whether arrays are samples: they have their first dimension in common, and are no keys."""
    arrays = [leaf for leaf in leaves if hasattr(leaf, "shape") and hasattr(leaf, "dtype")]
    shapes = [tuple(leaf.shape) for leaf in arrays]
    if not shapes or len(shapes) != len(leaves) or not all(shapes):
        return False
    types = {str(leaf.dtype) for leaf in leaves}
    is_key = any(name.startswith("key<") for name in types) or (
        types == {"uint32"} and all(shape[-1] in (2, 4) for shape in shapes)
    )
    return not is_key and len({shape[0] for shape in shapes}) == 1
