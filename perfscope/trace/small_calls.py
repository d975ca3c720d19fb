"""Loops whose numeric calls are over as soon as calls on one value, read from metadata.

The agent tells of each loop how long a turn took and which part of its samples met which
instruction. The product of both is how long one execution of that instruction takes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from perfscope.judging import ALONE, FEWEST_SAMPLES, MAIN
from perfscope.structures import dataclass
from perfscope.trace.counts import whole
from perfscope.trace.loops import Lines, innermost, loops_of
from perfscope.trace.model import Frame, Function, Rank, Trace
from perfscope.trace.operands import WorkedOn, frame_of, worked_on
from perfscope.trace.power_times import number
from perfscope.units import NS

_MOST = 32
_KEPT = "small_calls"
"""Where a trace has its own, as `attribution.activities` keeps what stacks do."""


@dataclass(frozen=True)
class EmptyCall:
    """What a library's calls take on the machine of the run, timed when it was over."""

    call_s: float  # on one value
    value_s: float  # each further value

    @property
    def values(self) -> int:
        """How many values of a large array take as long as a call on one."""
        return round(self.call_s / self.value_s)


@dataclass(frozen=True)
class SmallCalls:
    """A loop of the program, or what of a function is in none, as the samples of a rank saw it."""

    function: Function
    lines: Lines | None  # None: what of the function is in no loop
    looks: int
    turn_s: float  # a turn, by the time that turns take
    counts: tuple[int, ...]  # of the looks, those at each instruction, most first

    def share(self, longest_s: float) -> float:
        """Of the loop's time, that of instructions which take no longer than so long each."""
        if not self.looks:
            return 0.0
        short = [one for one in self.counts if one / self.looks * self.turn_s <= longest_s]
        return sum(short) / self.looks

    @property
    def execution_s(self) -> float:
        """What an instruction takes each time, by the time that instructions take."""
        return self.turn_s * sum(one * one for one in self.counts) / max(self.looks, 1) ** 2


def empty_calls(ranks: Iterable[Rank]) -> Mapping[str, EmptyCall]:
    """By library what its calls take, the longest of all ranks."""
    found: dict[str, EmptyCall] = {}
    for rank in ranks:
        told = rank.metadata.get("empty_calls")
        for name, one in told.items() if isinstance(told, Mapping) else ():
            known = one if isinstance(one, Mapping) else {}
            call_ns, value_ns = number(known.get("empty_ns")), number(known.get("value_ns"))
            if call_ns is None or value_ns is None or not 0 < value_ns < call_ns < 1 / NS:
                continue
            if name not in found or found[name].call_s < call_ns * NS:
                found[name] = EmptyCall(call_ns * NS, value_ns * NS)
    return found


def loops_seen(rank: Rank) -> tuple[SmallCalls, ...]:
    """The loops of which a rank told; none where it did not, or what it wrote is odd."""
    told = rank.metadata.get("operands")
    rows = told.get(_KEPT) if isinstance(told, Mapping) else None
    return tuple(_loops(rows[:_MOST])) if isinstance(rows, list) else ()


def _loops(rows: Sequence[Any]) -> Iterator[SmallCalls]:
    for row in rows:
        frame = frame_of(row.get("place")) if isinstance(row, Mapping) else None
        if frame is None:
            continue
        lines, counts = row.get("lines"), row.get("counts")
        pair = tuple(map(whole, lines)) if isinstance(lines, list) and len(lines) == 2 else None
        own = tuple(map(whole, counts)) if isinstance(counts, list) else ()
        looks, turn_ns = whole(row.get("looks")), whole(row.get("turn_ns"))
        if looks > FEWEST_SAMPLES and turn_ns and (pair is None) == (lines is None):
            known = None if pair is None else (pair[0], pair[1])
            yield SmallCalls(frame.key, known, looks, turn_ns * NS, own)


def small_calls(trace: Trace) -> Mapping[Frame, tuple[SmallCalls, EmptyCall]]:
    """The frames of the program in loops of such calls, with the loop and what an empty call takes.

    They are found once: what all ranks told is long.
    """
    kept: dict[str, Any] = vars(trace)
    if _KEPT not in kept:
        kept[_KEPT] = _small_calls(trace)
    found: Mapping[Frame, tuple[SmallCalls, EmptyCall]] = kept[_KEPT]
    return found


def _small_calls(trace: Trace) -> Mapping[Frame, tuple[SmallCalls, EmptyCall]]:
    known = empty_calls(trace.ranks)
    if not known:
        return {}
    around = loops_of(trace.ranks)
    sites: defaultdict[Function, list[WorkedOn]] = defaultdict(list)
    by_loop: dict[tuple[Function, Lines | None], SmallCalls] = {}
    for rank in trace.ranks:
        for site in worked_on(rank.metadata):
            sites[site.frame.key].append(site)
        for one in loops_seen(rank):
            at = one.function, one.lines
            if at not in by_loop or by_loop[at].looks < one.looks:
                by_loop[at] = one
    found = {}
    for frame in dict.fromkeys(trace.frames):
        loop = by_loop.get((frame.key, innermost(around.get(frame.key, ()), frame.line)))
        if loop is None:
            continue
        here = [one for one in sites[frame.key] if _is_in(one.frame, loop, around)]
        empty = known["torch" if _has_tensors(here) and "torch" in known else next(iter(known))]
        if loop.share(empty.call_s / MAIN) > MAIN and not any(_is_large(o, empty) for o in here):
            found[frame] = loop, empty
    return found


def _is_in(frame: Frame, loop: SmallCalls, around: Mapping[Function, frozenset[Lines]]) -> bool:
    return innermost(around.get(frame.key, ()), frame.line) == loop.lines


def _has_tensors(sites: Iterable[WorkedOn]) -> bool:
    return any(one.is_tensor for site in sites for one in site.operands)


def _is_large(site: WorkedOn, empty: EmptyCall) -> bool:
    """Whether an instruction works on so many values that these take a part of a call's time.

    A tensor that a model learns, or learns through, is not worked on value by value.
    """
    most = max((one.elements for one in site.operands if not one.is_number), default=0)
    is_work = most * empty.value_s > (1.0 - ALONE) * empty.call_s
    learns = any(one.is_parameter or one.has_gradient for one in site.operands)
    return learns or (site.is_plain and site.is_innermost and is_work)
