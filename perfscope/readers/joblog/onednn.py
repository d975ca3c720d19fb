"""oneDNN's verbose lines (`ONEDNN_VERBOSE=1`): primitives, implementations, layouts, reorders.

A line is the marker, since 3.1 a version, with ONEDNN_VERBOSE_TIMESTAMP=1 a time, since 3.0 the
word `primitive`, and then: exec or create, engine, primitive, implementation, kind of propagation,
memory descriptors, attributes, auxiliary, problem, milliseconds. Source: oneDNN's developer guide,
"Verbose Mode".
"""

import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from perfscope.foreign import mentions
from perfscope.readers.common.tool_reports import report, table
from perfscope.schema.enums import Quantity
from perfscope.schema.other_tools import ToolReport
from perfscope.units import counted, format_seconds, format_share

SIGN = re.compile(rb"(?:onednn|dnnl|mkldnn)_verbose,")
_MARKER = re.compile(r"(?:onednn|dnnl|mkldnn)_verbose,(?:v\d+,)?(?:\d+\.\d+,)?(?:primitive,)?(.*)")
_SLOW = ("ref", "simple")
"""How implementations are called that are there for any shape and type, and not for speed."""
LONGEST_MS = 1e9
FIELDS = 10
MOST_KINDS = 100_000


class Onednn:
    """Primitives by kind and implementation, with how often and how long they ran."""

    def __init__(self) -> None:
        self._spent: dict[tuple[str, str], list[float]] = defaultdict(lambda: [0, 0.0])
        self._shapes: dict[tuple[str, str, str], list[float]] = defaultdict(lambda: [0, 0.0])
        self._created_s = 0.0
        self._facts: dict[str, str] = {}

    def take(self, line: str) -> bool:
        """Whether the line is oneDNN's."""
        found = _MARKER.search(line)
        if found is None:
            return False
        words = found[1].split(",")
        if words[0] == "info":
            self._facts |= dict(_facts(words))
            if len(words) > 1 and mentions(words[1], "NN v"):
                self._facts["release"] = words[1].partition(" (")[0]
        elif len(words) >= FIELDS and words[0].startswith(("exec", "create")):
            self._timed(words)
        return True

    def _timed(self, words: list[str]) -> None:
        try:
            milliseconds = float(words[-1])
        except ValueError:
            return
        if not 0 <= milliseconds < LONGEST_MS:
            return
        if words[0].startswith("create"):
            self._created_s += milliseconds / 1e3
            return
        kind, implementation = words[2], words[3]
        _add(self._spent[kind, implementation], milliseconds)
        shape = (kind, words[-2], _layouts(words[5]))
        if len(self._shapes) < MOST_KINDS or shape in self._shapes:
            _add(self._shapes[shape], milliseconds)

    def report(self, path: Path) -> ToolReport | None:
        """Primitives and shapes with most time."""
        if not self._spent:
            return None
        release = self._facts.get("release", "oneDNN")
        columns = {
            "Primitive": Quantity.CODE,
            "Implementation": Quantity.CODE,
            "Calls": Quantity.COUNT,
            "Time": Quantity.SECONDS,
            "Share": Quantity.SHARE,
        }
        whole = self._whole_s
        rows = [
            (*key, int(calls), spent, spent / whole if whole else None)
            for key, (calls, spent) in sorted(self._spent.items(), key=lambda one: -one[1][1])
        ]
        shapes = {
            "Primitive": Quantity.CODE,
            "Problem": Quantity.CODE,
            "Types and layouts": Quantity.CODE,
            "Calls": Quantity.COUNT,
            "Time": Quantity.SECONDS,
        }
        by_shape = sorted(self._shapes.items(), key=lambda one: -one[1][1])
        tables = [
            table("Primitives by implementation", columns, rows),
            table("Problems with most time", shapes, [(*k, int(n), s) for k, (n, s) in by_shape]),
        ]
        return report(release, path, self._sentences(), tables)

    @property
    def _whole_s(self) -> float:
        return sum(spent for _, spent in self._spent.values())

    def _sentences(self) -> Iterator[str]:
        whole = self._whole_s
        calls = int(sum(calls for calls, _ in self._spent.values()))
        isa = self._facts.get("isa")
        on = f" with {isa}" if isa else ""
        threads = self._facts.get("nthr")
        by = (
            f" on {counted(int(threads), 'thread')}"
            if threads and re.fullmatch(r"\d{1,6}", threads)
            else ""
        )
        yield f"{counted(calls, 'primitive')} ran for {format_seconds(whole)}{on}{by}."
        reorders = sum(spent for (kind, _), (_, spent) in self._spent.items() if kind == "reorder")
        if reorders and whole:
            share = format_share(reorders / whole)
            yield f"Reorders, which change the layout in memory, are {share} of it."
        slow = sum(
            spent
            for (_, implementation), (_, spent) in self._spent.items()
            if implementation.split(":")[0] in _SLOW
        )
        if slow and whole:
            share = format_share(slow / whole)
            yield f"{share} of it ran in reference implementations, which are slow."
        if self._created_s:
            yield f"Making primitives took {format_seconds(self._created_s)} besides."


def _facts(words: list[str]) -> Iterator[tuple[str, str]]:
    """What a line of the library itself tells; names of instruction sets hold commas."""
    whole: list[str] = []
    for word in words:
        if ":" in word or not whole:
            whole.append(word)
        elif word.startswith(" "):
            whole[-1] += f",{word}"
    for fact in whole:
        key, _, value = fact.partition(":")
        if value:
            yield key, value


def _add(sums: list[float], milliseconds: float) -> None:
    sums[0] += 1
    sums[1] += milliseconds / 1e3


def _layouts(memory: str) -> str:
    """Types and layouts of the tensors, without what follows them."""
    return re.sub(r"::f\d+|:blocked", "", memory)
