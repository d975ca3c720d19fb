"""What was seen of the values that instructions and functions of the program take."""

from __future__ import annotations

import time

from . import accesses, bytecode, flows, loops, powers, products, recorder
from .contents import AtMeetings, Contents
from .kinds import Any, CodeType
from .operand_arrays import Array
from .places import Places, line_of, line_ranges
from .secrets.redact import redact_value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Tuple

    _Paths = Tuple[Tuple[object, ...], ...]
    _Line = Tuple[int, int]
    """Identity of a code, and the line in it."""

_MOST_PATHS = 12
MOST_CALLERS = 3


class Operand:
    """What was seen of one name at one place."""

    def __init__(self) -> None:
        self.looks = 0
        self.array: Array | None = None
        self.elements = [0, 0]
        self.contents = Contents()
        self.sums: dict[str, list[float]] = {}
        self.least_zero = 1.0

    def see(self, array: Array, digest: int, facts: dict[str, float]) -> None:
        """Takes note of a look."""
        count = array.elements
        self.elements = [min(self.elements[0], count) if self.looks else count, count]
        self.elements[1] = max(self.elements[1], count)
        self.looks += 1
        self.array = array
        self.least_zero = min(self.least_zero, facts.get("zero", 1.0))
        self.contents.see(digest)
        for name, share in facts.items():
            known = self.sums.setdefault(name, [0.0, 0])
            known[0] += share
            known[1] += 1

    def told(self, name: str) -> dict[str, Any]:
        """All of it, for the metadata."""
        array = self.array
        if array is None:
            return {}
        means = {fact: round(total / count, 4) for fact, (total, count) in list(self.sums.items())}
        return {
            "name": redact_value(name),
            "looks": self.looks,
            "kind": array.kind,
            "dtype": array.dtype,
            "byte_order": array.order,
            "shape": list(array.shape),
            "elements": self.elements,
            "layout": array.layout,
            "stride": array.stride,
            "requires_grad": array.has_gradient,
            **self.contents.told("contents"),
            "shares": means,
            **({"least_zero": round(self.least_zero, 4)} if "zero" in means else {}),
        }


class Site:
    """One instruction of the program, and what it was seen to work on."""

    def __init__(self, code: CodeType, place: int) -> None:
        self.code, self.last, last = code, place, bytecode.without_caches(code, place)
        taken = bytecode.taken(code, last)
        instructions = _of_line(code, last) if taken is None else taken
        paths = bytecode.paths(code, instructions)
        self.paths: _Paths = tuple(paths[:_MOST_PATHS])
        self.names = [bytecode.name(code, path) for path in self.paths]
        is_told = taken is not None and len(paths) <= _MOST_PATHS
        makes = any(name == "MAKE_FUNCTION" for name, _ in instructions)
        # What draws random numbers takes them from where no look sees them.
        self.is_whole = is_told and not makes and not any("rand" in name for name in self.names)
        self.picked, self.axis = accesses.picked(code, last)
        self.written = accesses.written(code, last)
        self.met, self.adds = accesses.met(code, last), accesses.adds(code, last)
        self.computed = accesses.computed(code)
        stored = bytecode.stored_local(code, last)
        self.result: _Paths = () if stored is None else ((stored,),)
        self.product = products.product(code, last)
        self.power = powers.power(code, last)
        self.applied: Array | None = None  # what its product was seen to be multiplied by
        self.visits = self.looks = self.whole_looks = self.result_looks = self.callees = 0
        self.first_ns, self.last_ns, self.is_innermost = 0, 0, True
        self.contents, self.results = Contents(), Contents()
        self.at_meetings = AtMeetings()
        self.operands: dict[str, Operand] = {}
        self.callers: dict[Site, int] = {}
        self.lengths: dict[str, int] = {}

    def see(self, seen: list[tuple[str, Array, int, dict[str, float]]], whole: int) -> None:
        """Takes note of what it works on; `whole`: a digest of all, 0 where not known."""
        now_ns = time.monotonic_ns()
        self.first_ns, self.last_ns = self.first_ns or now_ns, now_ns
        self.looks += 1
        self.contents.see(whole)
        self.whole_looks += bool(whole)
        for name, array, digest, facts in seen:
            # what is only written into may still hold what was in that memory before
            told = {} if name == self.written else facts
            self.operands.setdefault(name, Operand()).see(array, digest, told)

    def see_result(self, digest: int) -> None:
        """Takes note of what its result was when it was looked at later."""
        self.result_looks += bool(digest)
        self.results.see(digest)

    def asks_also(self) -> _Paths:
        """What its result is multiplied by: no operand of its own."""
        return () if self.product is None else (self.product.applied,)

    def _multiplied(self) -> dict[str, Any] | None:
        """What its product is made of and multiplied by; None where nobody saw that."""
        product, array = self.product, self.applied
        if product is None or array is None:
            return None
        return {
            "left": [redact_value(name) for name in product.left],
            "right": [redact_value(name) for name in product.right],
            "by": redact_value(bytecode.name(self.code, product.applied)),
            "by_shape": list(array.shape),
            "is_first": product.is_first,
        }

    def _raised(self) -> dict[str, Any]:
        """What it raises to which power, if it does."""
        power = self.power
        if power is None:
            return {}
        told = {"of": redact_value(power.name), "exponent": power.exponent}
        return {"power": {**told, "in_place": power.is_in_place}}

    def place(self, places: Places) -> str:
        """Its function, file and line."""
        return recorder.place_text(*places.where(self.code, self.last))

    def _fed_back(self) -> list[str]:
        """The operands that derive from what the same instruction has returned before."""
        if self.is_innermost or not self.operands:
            return []
        flow = flows.Flows(self.code, loops.ranges(self.code))
        fed = flow.fed_back(bytecode.without_caches(self.code, self.last))
        return [redact_value(name) for name in fed if name in self.operands]

    def _apart(self) -> int:
        """Bytes from one value that is picked by one index to the next; 0 where it picks none."""
        container = self.operands.get(self.picked)
        array = None if container is None else container.array
        return 0 if array is None else array.apart(self.axis)

    def _made(self, places: Places) -> dict[str, str]:
        """By its name the line of the same function that alone makes an operand."""
        found = {}
        known = accesses.made(self.code) if self.operands else {}
        for name in list(self.operands):
            place = known.get(name.partition("[")[0])
            if place is not None:
                where = places.where(self.code, place)
                found[redact_value(name)] = recorder.place_text(*where)
        return found

    def told(
        self, places: Places, line_visits: dict[_Line, int], updated: list[str]
    ) -> dict[str, Any]:
        """All of it, for the metadata.

        `line_visits`: of each line, how often it was met. `updated`: what its function changes.
        """
        operands = list(self.operands.items())  # of now: a look may go on
        callers = sorted(self.callers.items(), key=lambda one: -one[1])
        return {
            "place": self.place(places),
            "instruction": self.last,
            "lengths": [one for one in list(self.lengths.values()) if one],
            "callers": [[one.place(places), looks] for one, looks in callers[:MOST_CALLERS]],
            "is_innermost": self.is_innermost,
            "visits": self.visits,
            "line_visits": line_visits[id(self.code), line_of(self.code, self.last)],
            "looks": self.looks,
            "first_ns": self.first_ns,
            "last_ns": self.last_ns,
            "whole_looks": self.whole_looks,
            **self.contents.told("contents"),
            "result_looks": self.result_looks,
            **self.results.told("results"),
            "at_meetings": self.at_meetings.told(),
            "fed_back": self._fed_back(),
            "picked": redact_value(self.picked),
            "picked_axis": self.axis,
            "picked_apart": self._apart(),
            "adds": self.adds,
            **({} if self.applied is None else {"multiplied": self._multiplied()}),
            **self._raised(),
            "met": [redact_value(name) for name in self.met],
            "made": self._made(places),
            "updated": [redact_value(n) for n, _ in operands if n.partition("[")[0] in updated],
            "computed": [redact_value(name) for name in self.computed if name in self.operands],
            "operands": [one.told(name) for name, one in operands if one.looks],
        }


def _of_line(code: CodeType, last: int) -> list[tuple[str, int]]:
    """The instructions of the line of one of them."""
    line, found = line_of(code, last), []
    for start, end, one in line_ranges(code):
        if one == line:
            found += bytecode.between(code, start, end)
    return found
