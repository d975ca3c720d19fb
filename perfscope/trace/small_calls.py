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
LEAST_OF_EMPTY = 0.25
"""Part of an empty call that a turn with it takes at least: the CPU may have been faster then."""

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
    whole: tuple[str, ...] = ()  # variables that operators and calls there take, and no items of
    operand_looks: int = 0  # in its function, at what that works on

    @property
    def top_share(self) -> float:
        """The part of the loop's time that one instruction has most of."""
        return max(self.counts, default=0) / max(self.looks, 1)

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
        is_timed = turn_ns and whole(row.get("turns")) > FEWEST_SAMPLES
        if looks > FEWEST_SAMPLES and is_timed and (pair is None) == (lines is None):
            known = None if pair is None else (pair[0], pair[1])
            whole_ones = row.get("whole")
            names = whole_ones[:_MOST] if isinstance(whole_ones, list) else []
            yield SmallCalls(
                frame.key,
                known,
                looks,
                turn_ns * NS,
                own,
                tuple(map(str, names)),
                whole(row.get("operand_looks")),
            )


@dataclass(frozen=True)
class OnFewValues:
    """A loop of such calls."""

    loop: SmallCalls
    empty: EmptyCall  # of the library that it calls
    values: int  # of the largest array that an operator or a call there takes; 0 unknown


def small_calls(trace: Trace) -> Mapping[Frame, OnFewValues]:
    """The frames of the program in loops of such calls, with the loop.

    They are found once: what all ranks told is long.
    """
    kept: dict[str, Any] = vars(trace)
    if _KEPT not in kept:
        kept[_KEPT] = _small_calls(trace)
    found: Mapping[Frame, OnFewValues] = kept[_KEPT]
    return found


def _small_calls(trace: Trace) -> Mapping[Frame, OnFewValues]:
    known = empty_calls(trace.ranks)
    if not known:
        return {}
    around: defaultdict[Function, set[Lines]] = defaultdict(set)
    for function, loops in loops_of(trace.ranks).items():
        around[function].update(loops)
    sites: defaultdict[tuple[Function, Lines | None], list[WorkedOn]] = defaultdict(list)
    by_loop: dict[tuple[Function, Lines | None], SmallCalls] = {}
    for one in (one for rank in trace.ranks for one in loops_seen(rank)):
        at = one.function, one.lines
        around[one.function].update([one.lines] if one.lines else [])
        if at not in by_loop or by_loop[at].looks < one.looks:
            by_loop[at] = one
    for site in (site for rank in trace.ranks for site in worked_on(rank.metadata)):
        function = site.frame.key
        sites[function, innermost(around[function], site.frame.line)].append(site)
    found = {}
    for frame in dict.fromkeys(trace.frames):
        at = frame.key, innermost(around.get(frame.key, ()), frame.line)
        if at in by_loop and (told := _on_few_values(by_loop[at], sites[at], known)) is not None:
            found[frame] = told
    return found


def _on_few_values(
    loop: SmallCalls, sites: Sequence[WorkedOn], known: Mapping[str, EmptyCall]
) -> OnFewValues | None:
    """A loop of which most time is in such calls; None of others, and where that is not known."""
    empty = known["torch" if _has_tensors(sites) and "torch" in known else next(iter(known))]
    is_unknown = bool(loop.whole) and not loop.operand_looks
    if is_unknown or loop.share(empty.call_s / MAIN) <= MAIN or any(map(_learns, sites)):
        return None
    if loop.top_share > MAIN and loop.top_share * loop.turn_s < LEAST_OF_EMPTY * empty.call_s:
        return None  # a call takes longer: few of the turns make it, and those that were timed not
    operands = [one for site in sites for one in site.operands]
    of_arrays = [one for one in operands if not one.is_number and one.name in loop.whole]
    values = max((one.elements for one in of_arrays), default=0)
    if values * empty.value_s > (1.0 - ALONE) * empty.call_s:
        return None
    is_known = {one.name for one in operands}.issuperset(loop.whole)
    return OnFewValues(loop, empty, values if is_known else 0)


def _has_tensors(sites: Iterable[WorkedOn]) -> bool:
    return any(one.is_tensor for site in sites for one in site.operands)


def _learns(site: WorkedOn) -> bool:
    """Whether a model learns a tensor there, or PyTorch computes gradients through it."""
    return any(one.is_parameter or one.has_gradient for one in site.operands)
