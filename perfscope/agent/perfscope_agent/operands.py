"""What the program's lines work on: kinds of arrays, and whether they are always the same.

A few times a second, while the main thread is in code of the program, the recorder tells what the
values are that its current instructions take. No code of the program runs for that, nothing is
imported, and none of these values is referred to when the interpreter's lock is given away again.
Of contents a digest is compared with earlier ones: it tells that they are the same, nothing else.
"""

from __future__ import annotations

import sys
import time
from itertools import islice, zip_longest

from . import (
    accesses,
    bytecode,
    callees,
    files,
    held,
    notes,
    operand_arrays,
    own_threads,
    small_calls,
)
from .called import Called, Calls
from .carried import Carried
from .kinds import Any, CodeType
from .operand_arrays import Array
from .pace import Budget, meetings
from .places import Places, line_of
from .searched import Searched
from .worked_on import MOST_CALLERS, Site

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Tuple

    from .recorder import Recorder

    _Place = Tuple[CodeType, int]
    """Identity of a code, and the line in it."""

_MOST_FRAMES = 64  # of a stack, to find the program's own
_MOST_OWN = MOST_CALLERS  # of these, innermost first
_MOST_CALLED = 8  # of these, at a meeting, what they were given
_MOST_SITES, _MOST_TOLD = 400, 64
_ENOUGH, _SELDOM = 20, 8
"""Looks at one place; then its values are only read each so many times that the thread is there.

So they are at each so many meetings, for all ranks at the same ones.
"""

_LATELY = 0.25  # of what one look costs, by the last one

_HOLDERS = ("_parameters", "_buffers", "_modules")


class _Asked:
    """A frame of the program, and what is asked of it."""

    def __init__(self, place: _Place, site: Site | None, called: Called | None) -> None:
        self.site, self.called = site, called
        self.later: list[Site] = []
        """Those whose results are looked at here."""

        self.calls: list[Site] = []
        """Those that take variables of this frame in the same turn, or did."""

        self._place = place

    def question(self) -> tuple[Any, ...]:
        """Where the frame is, and the paths that are asked."""
        paths = () if self.site is None else self.site.paths
        paths += tuple([one.result[0] for one in self.later])
        paths += () if self.site is None else self.site.asks_also()
        paths += () if self.called is None else self.called.paths
        return (*self._place, paths + tuple([path for one in self.calls for path in one.paths]))


class Looker:
    """Looks at operands from the sampler's thread, within what that may cost."""

    def __init__(self, rec: Recorder, places: Places) -> None:
        self._library, self._places = rec, places
        self._sites: dict[tuple[int, int], Site] = {}
        self._by_code: dict[int, list[Site]] = {}
        self._kinds: tuple[tuple[Any, ...], ...] = ()
        self._made: dict[type, Any] = {}
        self._loaded = (False, False)
        self._variables = callees.variables_at(rec) if is_known() else None
        self._budget = Budget(times=4)
        self._meeting, self._cost_ns = 0, 0.0
        self._subnormal_times: dict[str, float] = {}
        self._carried, self._calls = Carried(rec), Calls()
        self._searched = Searched(rec)
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
        visits: dict[tuple[int, int], int] = {}
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
            "carried": self._carried.seen.told(self._places),
            "searched": self._searched.seen.told(self._places),
            "called": self._calls.told(self._places),
            "small_calls": small_calls.seen.told(self._places, self._looked()),
            "sites": kept,
        }

    def _looked(self) -> dict[int, int]:
        """By the identity of its code how often it was looked at what a function works on."""
        found: dict[int, int] = {}
        for (code, _), site in list(self._sites.items()):
            found[code] = found.get(code, 0) + site.looks
        return found

    def sees(self, code: CodeType, last: int, name: str, array: Array) -> None:
        """Takes note of what a call works on though its arguments do not lead there."""
        site = self._site(code, last)
        if site is not None:
            site.see([(name, array, *self._content(array))], 0)

    def _look(self, variables: tuple[int, int]) -> None:
        rec = self._library
        met = rec.operand_places(_MOST_FRAMES)
        program = [one for one in met if files.is_program(one[0].co_filename)]
        own = program[:_MOST_OWN]
        self._carried.look(own, variables)
        self._searched.look(own, variables)
        if not self._made:
            return
        sites = [self._site(*place) for place in own]
        for number, site in enumerate(sites):
            if site is not None:
                site.visits += 1
                site.is_innermost = site.is_innermost and number == 0
        is_seldom = not self._meeting or self._meeting % _SELDOM != 0
        known = [one for one in sites if one is not None]
        if all(one.looks >= _ENOUGH and one.visits % _SELDOM and is_seldom for one in known):
            return
        asked = self._asked(program, sites)
        places = tuple([one.question() for one in asked])
        question = (places, self._kinds, _HOLDERS, 1, *variables)
        told = rec.operands(*question)
        seen = [(place, answers, self._read_all(answers)) for place, answers in told]
        # What was read belongs to what was told only if that is still there.
        if not seen or told != rec.operands(*question):
            return
        self.looks += 1
        for place, answers, read in seen:
            self._see(asked[place], answers, read)
            caller = asked[place + 1].site if place + 1 < len(asked) else None
            for one in (asked[place].site, asked[place].called) if caller is not None else ():
                if one is not None:
                    one.callers[caller] = one.callers.get(caller, 0) + 1
            if caller is not None:
                caller.callees += 1

    def _asked(self, program: list[_Place], sites: list[Site | None]) -> list[_Asked]:
        """What to ask of each frame, innermost first; more of them where all ranks look."""
        is_meeting = bool(self._meeting) and operand_arrays.are_common()
        frames = program[: _MOST_CALLED if is_meeting else len(sites)]
        found = []
        for place, site in zip_longest(frames, sites):
            one = _Asked(place, site, self._calls.of(place[0]) if is_meeting else None)
            one.later = [] if site is None else self._with_results(place[0])
            one.calls = self._with_calls(place[0], site) if is_meeting else []
            found.append(one)
        return found

    def _site(self, code: CodeType, last: int) -> Site | None:
        found = self._sites.get((id(code), last))
        if found is None and len(self._sites) < _MOST_SITES:
            found = self._sites[id(code), last] = Site(code, last)
            self._by_code.setdefault(id(code), []).append(found)
        return found

    def _with_results(self, code: CodeType) -> list[Site]:
        found = [site for site in self._by_code[id(code)] if site.result and site.whole_looks]
        return sorted(found, key=lambda site: -site.looks)[:_MOST_OWN]

    def _with_calls(self, code: CodeType, here: Site | None) -> list[Site]:
        known = self._by_code.get(id(code), [])
        found = [one for one in known if one is not here and one.whole_looks and one.callees]
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

    def _see(self, asked: _Asked, answers: list[Any], read: dict[int, Any]) -> None:
        """Takes note of what was told of one frame."""
        left = iter(answers)
        if asked.site is not None:
            self._note(asked.site, list(islice(left, len(asked.site.paths))), read)
        for other in asked.later:
            answer = next(left, None)
            if answer and answer[1] in read:
                other.see_result(read[answer[1]][1])
        if asked.site is not None and asked.site.asks_also():
            answer = next(left, None)
            if answer and answer[1] in read:
                asked.site.applied = read[answer[1]][0]
        if asked.called is not None:
            called = asked.called
            told = list(islice(left, len(called.paths)))
            seen, _, everywhere, _ = _what(called.names, called.paths, told, read)
            called.see(self._meeting, seen, everywhere)
        for site in asked.calls:
            told = list(islice(left, len(site.paths)))
            _, _, everywhere, _ = _what(site.names, site.paths, told, read)
            if site.is_whole and 0 not in everywhere:
                site.at_meetings.see(self._meeting, operand_arrays.of_parts(tuple(everywhere)))

    def _note(self, site: Site, answers: list[Any], read: dict[int, Any]) -> None:
        seen, parts, everywhere, integers = _what(site.names, site.paths, answers, read)
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


def _what(names: Any, paths: Any, answers: list[Any], read: dict[int, Any]) -> tuple[Any, ...]:
    """The arrays that were told of, all values in this process and in any, and the integers."""
    seen: list[tuple[str, Array, int, dict[str, float]]] = []
    parts: list[int] = []
    everywhere: list[object] = []
    integers: dict[str, int] = {}
    for name, path, answer in zip(names, paths, answers):
        arrays = [one for one in held.flat([answer]) if one[1] in read]
        if arrays:
            array, digest, facts = read[arrays[0][1]]
            is_item = arrays[0] is not answer
            told = ".".join(name.split(".")[: answer[0]]) + ("[0]" if is_item else "")
            seen.append((told, array, digest, facts))
            parts.append(0 if is_item else digest)
            everywhere.append((array.value or digest) if array.is_common else 0)
        else:
            parts.append(held.constant_at(path, answer))
            everywhere.append(held.everywhere(path, answer))
            integers[name] = held.integer(answer)
    return seen, parts, everywhere, integers


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
