"""What the program's lines work on: kinds of arrays, and whether they are always the same.

A few times a second, while the main thread is in code of the program, the recorder tells what the
values are that its current instructions take. No code of the program runs for that, nothing is
imported, and none of these values is referred to when the interpreter's lock is given away again.
Of contents a digest is compared with earlier ones: it tells that they are the same, nothing else.
"""

from __future__ import annotations

import sys
import time

from . import accesses, bytecode, callees, files, held, notes, operand_arrays, own_threads, recorder
from .carried import Carried
from .contents import AtMeetings, Contents
from .kinds import Any, CodeType
from .operand_arrays import Array
from .pace import Budget, meetings
from .places import Places, line_of, line_ranges
from .secrets.redact import redact_value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Optional, Tuple

    from .recorder import Recorder

    _Paths = Tuple[Tuple[object, ...], ...]
    _Place = Tuple[CodeType, int]
    _Line = Tuple[int, int]
    """Identity of a code, and the line in it."""
    _Read = Tuple[str, Optional[Array], int]
    """Name, what kind of array it is, and a digest of the contents; 0 where there is none."""

_MOST_FRAMES = 64  # of a stack, to find the program's own
_MOST_OWN = 3  # of these, innermost first
_MOST_PATHS, _MOST_SITES, _MOST_TOLD = 12, 400, 64
_ENOUGH, _SELDOM = 20, 8
"""Looks at one place; then its values are only read each so many times that the thread is there.

So they are at each so many meetings, for all ranks at the same ones.
"""

_LATELY = 0.25  # of what one look costs, by the last one

_HOLDERS = ("_parameters", "_buffers", "_modules")


class _Operand:
    """What was seen of one name at one place."""

    def __init__(self) -> None:
        self.looks = 0
        self.array: Array | None = None
        self.elements = [0, 0]
        self.contents = Contents()
        self.sums: dict[str, list[float]] = {}

    def see(self, array: Array, digest: int, facts: dict[str, float]) -> None:
        """Takes note of a look."""
        count = array.elements
        self.elements = [min(self.elements[0], count) if self.looks else count, count]
        self.elements[1] = max(self.elements[1], count)
        self.looks += 1
        self.array = array
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
            "inner_stride": array.inner_stride,
            "requires_grad": array.has_gradient,
            **self.contents.told("contents"),
            "shares": means,
        }


class _Site:
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
        self.picked, self.written = accesses.indexed(code, last), accesses.written(code, last)
        self.met, self.adds = accesses.met(code, last), accesses.adds(code, last)
        self.computed = accesses.computed(code)
        stored = bytecode.stored_local(code, last)
        self.result: _Paths = () if stored is None else ((stored,),)
        self.visits = self.looks = self.whole_looks = self.result_looks = 0
        self.first_ns, self.last_ns, self.is_innermost = 0, 0, True
        self.contents, self.results = Contents(), Contents()
        self.at_meetings = AtMeetings()
        self.operands: dict[str, _Operand] = {}
        self.callers: dict[_Site, int] = {}
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
            self.operands.setdefault(name, _Operand()).see(array, digest, told)

    def see_result(self, digest: int) -> None:
        """Takes note of what its result was when it was looked at later."""
        self.result_looks += bool(digest)
        self.results.see(digest)

    def place(self, places: Places) -> str:
        """Its function, file and line."""
        return recorder.place_text(*places.where(self.code, self.last))

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
            "callers": [[one.place(places), looks] for one, looks in callers[:_MOST_OWN]],
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
            "picked": redact_value(self.picked),
            "adds": self.adds,
            "met": [redact_value(name) for name in self.met],
            "updated": [redact_value(n) for n, _ in operands if n.partition("[")[0] in updated],
            "computed": [redact_value(name) for name in self.computed if name in self.operands],
            "operands": [one.told(name) for name, one in operands if one.looks],
        }


class Looker:
    """Looks at operands from the sampler's thread, within what that may cost."""

    def __init__(self, rec: Recorder, places: Places) -> None:
        self._library, self._places = rec, places
        self._sites: dict[tuple[int, int], _Site] = {}
        self._by_code: dict[int, list[_Site]] = {}
        self._kinds: tuple[tuple[Any, ...], ...] = ()
        self._made: dict[type, Any] = {}
        self._loaded = (False, False)
        self._variables = callees.variables_at(rec) if is_known() else None
        self._budget = Budget(times=2)
        self._meeting, self._cost_ns = 0, 0.0
        self._subnormal_times: dict[str, float] = {}
        self._carried = Carried(rec)
        self.looks = 0

    def look(self) -> None:
        """Looks once, if that is due and a library of arrays is loaded."""
        self._meeting = meetings.number
        if self._variables is None or not self._budget.is_left_for(self._meeting, self._cost_ns):
            return
        begin_ns = time.thread_time_ns()
        try:
            self._learn_kinds()
            if self._library.can_look_at_operands():
                self._look(self._variables)
        except Exception as error:
            self._variables = None
            notes.failure("operands are not looked at", error)
        cost_ns = time.thread_time_ns() - begin_ns
        self._budget.spent_ns += cost_ns
        self._cost_ns += _LATELY * (cost_ns - self._cost_ns)

    def told(self) -> dict[str, Any]:
        """What was seen, for the metadata: of the places that were seen most."""
        sites = sorted(self._sites.values(), key=lambda site: -site.looks)
        visits: dict[_Line, int] = {}
        for site in sites:
            line = id(site.code), line_of(site.code, site.last)
            visits[line] = visits.get(line, 0) + site.visits
        told = [site for site in sites[:_MOST_TOLD] if site.operands]
        # all of a function is looked at for this, once and not while it is at work
        codes = {id(site.code): site.code for site in told if site.at_meetings.told()}
        changed = {number: accesses.updated(code) for number, code in codes.items()}
        kept = [site.told(self._places, visits, changed.get(id(site.code), [])) for site in told]
        return {
            "looks": self.looks,
            "cpu_ns": self._budget.spent_ns,
            "subnormal_times": self._subnormal_times,
            "carried": self._carried.told(self._places),
            "sites": kept,
        }

    def sees(self, code: CodeType, last: int, name: str, array: Array) -> None:
        """Takes note of what a call works on though its arguments do not lead there."""
        site = self._site(code, last)
        if site is not None:
            site.see([(name, array, *self._content(array))], 0)

    def _look(self, variables: tuple[int, int]) -> None:
        rec = self._library
        met = rec.operand_places(_MOST_FRAMES)
        own = [one for one in met if files.is_program(one[0].co_filename)][:_MOST_OWN]
        self._carried.look(own, variables)
        found = [self._site(*place) for place in (own if self._made else ())]
        sites = [site for site in found if site is not None]
        for number, site in enumerate(sites):
            site.visits += 1
            site.is_innermost = site.is_innermost and number == 0
        is_seldom = not self._meeting or self._meeting % _SELDOM != 0
        if all(site.looks >= _ENOUGH and site.visits % _SELDOM and is_seldom for site in sites):
            return
        later = [self._with_results(site.code) for site in sites]
        asked = tuple(
            [
                (site.code, site.last, site.paths + tuple([one.result[0] for one in others]))
                for site, others in zip(sites, later)
            ]
        )
        question = (asked, self._kinds, _HOLDERS, 1, *variables)
        told = rec.operands(*question)
        seen = [(place, answers, self._read_all(answers)) for place, answers in told]
        # What was read belongs to what was told only if that is still there.
        if not seen or told != rec.operands(*question):
            return
        self.looks += 1
        for place, answers, read in seen:
            site = sites[place]
            self._note(site, answers, read)
            for caller in sites[place + 1 : place + 2]:
                site.callers[caller] = site.callers.get(caller, 0) + 1
            count = len(site.paths)
            for other, answer in zip(later[place], answers[count:]):
                if answer and answer[1] in read:
                    other.see_result(read[answer[1]][1])

    def _site(self, code: CodeType, last: int) -> _Site | None:
        found = self._sites.get((id(code), last))
        if found is None and len(self._sites) < _MOST_SITES:
            found = self._sites[id(code), last] = _Site(code, last)
            self._by_code.setdefault(id(code), []).append(found)
        return found

    def _with_results(self, code: CodeType) -> list[_Site]:
        found = [site for site in self._by_code[id(code)] if site.result and site.whole_looks]
        return sorted(found, key=lambda site: -site.looks)[:_MOST_OWN]

    def _read_all(self, answers: list[Any]) -> dict[int, tuple[Array, int, dict[str, float]]]:
        """By its identity each array that was told of, with a digest and facts of its contents."""
        found: dict[int, tuple[Array, int, dict[str, float]]] = {}
        for answer in held.flat(answers):
            if answer[1] in found:
                continue
            array, whole = self._array(*answer[2:4]), None
            if answer[4:]:
                whole = held.seen(answer[4], self._array, self._digest)
            if whole is not None:
                found[answer[1]] = (*whole, {})
            elif array is not None:
                found[answer[1]] = (array, *self._content(array))
        return found

    def _array(self, kind: type, told: Any) -> Array | None:
        make = self._made.get(kind) if told else None
        return None if make is None else make(told)

    def _digest(self, array: Array) -> int:
        return self._content(array)[0]

    def _content(self, array: Array) -> tuple[int, dict[str, float]]:
        """A digest of what an array holds, 0 where that is not known, and facts of it."""
        if array.value:
            return array.value, {}
        content = operand_arrays.read(self._library, array)
        if content is None:
            return 0, {}
        is_known = operand_arrays.tells_of_rest(array, content)
        told = operand_arrays.digest(array, content) if is_known else 0
        facts = operand_arrays.facts(array, content)
        if facts.get("subnormal") and array.dtype not in self._subnormal_times:
            times = self._library.subnormal_times(array.item_bytes) / 100.0
            self._subnormal_times[array.dtype] = times
        return told, facts

    def _note(self, site: _Site, answers: list[Any], read: dict[int, Any]) -> None:
        seen, parts, everywhere, integers = [], [], [], {}
        for name, path, answer in zip(site.names, site.paths, answers):
            arrays = [one for one in held.flat([answer]) if one[1] in read]
            if arrays:
                array, digest, facts = read[arrays[0][1]]
                is_item = arrays[0] is not answer
                told = ".".join(name.split(".")[: answer[0]]) + ("[0]" if is_item else "")
                seen.append((told, array, digest, facts))
                parts.append(0 if is_item else digest)
                everywhere.append(array.value or digest)
            else:
                parts.append(held.constant_at(path, answer))
                everywhere.append(held.number(path, answer))
                integers[name] = held.integer(answer)
        if all(array.kind == operand_arrays.NUMBER for _, array, _, _ in seen):
            seen = []  # numbers count where they meet an array
        held.note_lengths(site.lengths, integers, [array for _, array, _, _ in seen])
        is_whole = site.is_whole and bool(seen) and all(parts)
        site.see(seen, hash(tuple(parts)) or 1 if is_whole else 0)
        if site.is_whole and seen and 0 not in everywhere and operand_arrays.are_common():
            site.at_meetings.see(self._meeting, operand_arrays.of_parts(tuple(everywhere)))

    def _learn_kinds(self) -> None:
        has_tensors = _has("torch", "Tensor") and _has("torch.nn.parameter", "Parameter")
        loaded = (_has("numpy", "ndarray", "dtype"), has_tensors)
        if loaded == self._loaded:
            return
        self._loaded = loaded
        self._kinds, self._made = held.kinds_of_arrays(*loaded)


def is_known() -> bool:
    """Whether this is a Python whose recorder can look at variables: 3.9 has no such functions."""
    return bytecode.is_known() and sys.version_info >= (3, 10)


def _has(module: str, *names: str) -> bool:
    """Whether a module is loaded; a lazy one that is loading now has some of its names already."""
    return own_threads.is_there(module) and all(map(own_threads.contents(module).get, names))


def _of_line(code: CodeType, last: int) -> list[tuple[str, int]]:
    """The instructions of the line of one of them."""
    line, found = line_of(code, last), []
    for start, end, one in line_ranges(code):
        if one == line:
            found += bytecode.between(code, start, end)
    return found


looker: Looker | None = None


def start(rec: Recorder) -> None:
    """Looks from now on."""
    global looker
    looker = Looker(rec, Places())


def look() -> None:
    """Looks once, if that is due."""
    if looker is not None:
        looker.look()


def told() -> dict[str, Any]:
    """What was seen so far, for the metadata."""
    return looker.told() if looker is not None else {}


def forget() -> None:
    """Drops what belongs to the parent, in a forked child."""
    global looker
    looker = None
