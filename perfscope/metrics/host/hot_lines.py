"""The instructions that numeric work is done in, by what they work on: how long that takes."""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np

from perfscope.arrays import Bools, Floats
from perfscope.attribution.library_calls import innermost
from perfscope.attribution.stack_rules import NATIVE_FILES, is_user_file
from perfscope.judging import FEWEST_SAMPLES, MAIN, MOST_LOST
from perfscope.metrics.host.interpreter_lock import RESTING
from perfscope.metrics.host.looks import FEWEST_LOOKS
from perfscope.metrics.host.run_queue import CpuWait
from perfscope.metrics.host.transforms import Transform, transform_of
from perfscope.metrics.results import Results
from perfscope.schema.enums import Activity
from perfscope.structures import dataclass
from perfscope.trace.model import Frame, Function, Rank, RowFlag
from perfscope.trace.operands import MANY_CONTENTS, Operand, WorkedOn
from perfscope.units import NS

NOT_COMPUTING = RESTING.union((Activity.IMPORTING, Activity.COMPILING, Activity.COMMUNICATION))

ARRAY_LIBRARIES = "numpy", "torch"
"""Packages whose arrays the agent looks at."""


@dataclass(frozen=True)
class HotLine:
    """One instruction on one rank, and what its part of that rank's time is."""

    rank: Rank
    site: WorkedOn
    seconds: float  # computing there; where the program's own code is called, with that
    part: float  # of how often its line was met, at whichever instruction
    part_s: float  # that part of the line's time: no more than `seconds`

    @property
    def function(self) -> Function:
        """The function that it is in."""
        return self.site.frame.key


class LineSamples:
    """How often main threads were seen in lines of the program, or in what these called."""

    def __init__(self, results: Results) -> None:
        self._results = results
        self._known: dict[frozenset[Frame], Bools] = {}
        self._lengths_s: dict[int, Floats] = {}

    def seconds(self, rank: Rank, frames: Collection[Frame]) -> float:
        """How long the main thread of a rank was in any of some lines.

        Samples of deep stacks come more rarely than others: each one speaks for the time from the
        middle between it and the one before to that between it and the next.
        """
        if rank.number not in self._lengths_s:
            self._lengths_s[rank.number] = self._lengths(rank)
        return float(self._lengths_s[rank.number][self._inside(rank, frames)].sum())

    def _lengths(self, rank: Rank) -> Floats:
        """Seconds that each sample of a main thread in the focus speaks for."""
        focus = self._results.focus
        times = focus.within(rank.main_stacks)["t"].astype(np.int64)
        order = np.argsort(times, kind="stable")
        middles = (times[order][1:] + times[order][:-1]) // 2
        result = np.empty(len(times))
        if len(times):
            result[order] = NS * np.diff(middles, prepend=focus.start_ns, append=focus.end_ns)
        return result

    def counts(self, rank: Rank, frames: Collection[Frame]) -> tuple[int, int]:
        """In how many samples the main thread of a rank was in any of some lines, and of all."""
        inside = self._inside(rank, frames)
        return int(np.count_nonzero(inside)), len(inside)

    def in_handed_calls(self, rank: Rank, frame: Frame) -> int:
        """In how many samples of a line another thread made a call for the rank's main one."""
        handed = np.flatnonzero(rank.operations["flags"] & RowFlag.HANDED)
        if not len(handed):  # the usual case, in which no other column is looked at
            return 0
        seen = self._results.focus.within(rank.main_stacks)
        moments = seen["t"][self._inside(rank, {frame})]
        begins, ends = (rank.operations[name][handed] for name in ("t0", "t1"))
        order = np.argsort(begins, kind="stable")
        begun = np.searchsorted(begins[order], moments, side="right") - 1
        return int(np.count_nonzero((begun >= 0) & (moments < ends[order][begun])))

    def direct_share(self, rank: Rank, frame: Frame) -> float:
        """Of the samples in a line of the program, those in which it works on arrays by itself.

        Between the line and what the thread does last there is no code but that of the libraries
        whose arrays are looked at: what else is called takes its time with something of its own.
        """
        return self.share_by(rank, frame, lambda called: all(map(_is_of_arrays, called)))

    def share_by(
        self, rank: Rank, frame: Frame, is_meant: Callable[[Sequence[Frame]], bool]
    ) -> float:
        """Of the samples in a line, those whose calls behind it, outermost first, are meant."""
        meant = whole = 0
        for called, count in self._called(rank, frame):
            whole += count
            meant += count * is_meant(called)
        return meant / whole if whole else 0.0

    def transforms(self, rank: Rank, frame: Frame) -> tuple[float, Transform | None]:
        """The share of the samples in a line that are in Fourier transforms, and of which kind."""
        seen, whole = Counter[Transform](), 0
        for called, count in self._called(rank, frame):
            whole += count
            found = transform_of(called)
            if found is not None:
                seen[found] += count
        if len(seen) != 1:  # of several kinds in one line, each may have a length of its own
            return 0.0, None
        ((kind, count),) = seen.items()
        return count / whole, kind

    def mostly_in(self, ranks: Iterable[Rank], frame: Frame) -> tuple[str | None, int]:
        """The innermost public function of a library that most samples of a line are in.

        With the number of these, of all `ranks` together; None and 0 where there is no such one. A
        line that calls the program's own code spends its time there.
        """
        seen, whole = Counter[str](), 0
        for rank in ranks:
            for behind, count in self._called(rank, frame):
                whole += count
                if not any(is_user_file(one.file) for one in behind):
                    seen[innermost(behind)] += count
        name, most = max(seen.items(), key=lambda one: one[1], default=("", 0))
        return (name, most) if name and most > MAIN * whole else (None, 0)

    def _called(self, rank: Rank, frame: Frame) -> Iterator[tuple[list[Frame], int]]:
        """What a line calls in each stack that shows it, outermost first, and its samples."""
        trace, numbers = self._results.trace, self._numbers([frame])
        rows = self._results.focus.within(rank.main_stacks)["stack"][self._inside(rank, [frame])]
        for stack, count in Counter(rows.tolist()).items():
            own = trace.stacks[stack]
            place = max(at for at, number in enumerate(own) if number in numbers)
            yield [trace.frames[number] for number in own[place + 1 :]], count

    def calls(self, rank: Rank, frames: Collection[Frame]) -> int:
        """How often, at least, the main thread of a rank came back to any of some lines."""
        inside = self._inside(rank, frames).astype(np.int8)
        return int(np.count_nonzero(np.diff(inside, prepend=np.int8(0)) > 0))

    def _inside(self, rank: Rank, frames: Collection[Frame]) -> Bools:
        rows = self._results.focus.within(rank.main_stacks)
        found: Bools = self._stacks_with(frozenset(frames))[rows["stack"]]
        return found

    def _numbers(self, frames: Collection[Frame]) -> set[int]:
        """The numbers of some lines among all frames."""
        return {number for frame in frames for number in self._places.get(frame, ())}

    @cached_property
    def _places(self) -> Mapping[Frame, Sequence[int]]:
        """The numbers of each line, which is asked for of many ranks."""
        found: defaultdict[Frame, list[int]] = defaultdict(list)
        for number, frame in enumerate(self._results.trace.frames):
            found[frame].append(number)
        return found

    def _stacks_with(self, frames: frozenset[Frame]) -> Bools:
        known = self._known.get(frames)
        if known is None:
            trace = self._results.trace
            wanted = self._numbers(frames)
            known = np.array([not wanted.isdisjoint(one) for one in trace.stacks], np.bool_)
            self._known[frames] = known
        return known


def _is_of_arrays(frame: Frame) -> bool:
    """Whether it is a function of C, or of a library whose arrays are looked at."""
    return frame.file in NATIVE_FILES or any(
        f"/{library}/" in frame.file for library in ARRAY_LIBRARIES
    )


def hot_lines(
    results: Results, told: Iterable[Iterable[WorkedOn]], samples: LineSamples
) -> tuple[HotLine, ...]:
    """The instructions that were looked at, of all ranks, most seconds first.

    `told` is what each rank's lines were seen to work on. Samples tell lines: of several
    instructions in one that were looked at often enough, each has a part by how often it was met.
    What a rank waited for CPUs that the job's own threads had meanwhile is none of its operands'.
    """
    spent: defaultdict[tuple[int, Frame], int] = defaultdict(int)
    ran = {one.rank: 1.0 - queued_by_job(one) for one in results.resources.cpu_waits}
    for row in results.activities.rows:
        if row.where is not None and row.activity not in NOT_COMPUTING:
            spent[row.rank, row.where] += row.ns
    found = []
    for rank, own in zip(results.trace.ranks, told, strict=True):
        sites = [one for one in own if is_known(one)]
        visits, all_visits = Counter[Frame](), Counter[Frame]()
        for site in sites:
            visits[site.frame] += site.visits
        for site in own:
            all_visits[site.frame] += site.visits
        for site in sites:
            if site.is_innermost:
                whole_s = spent[rank.number, site.frame] * NS
            else:
                whole_s = samples.seconds(rank, [site.frame])
            whole_s *= ran.get(rank.number, 1.0)
            seconds = whole_s * site.visits / visits[site.frame]
            part = site.visits / max(all_visits[site.frame], site.line_visits)
            found.append(HotLine(rank, site, seconds, part, whole_s * part))
    return tuple(sorted(found, key=lambda one: -one.seconds))


def queued_by_job(waits: CpuWait) -> float:
    """Of a rank's work, the part in which other threads of the job had its CPU."""
    return min(waits.part(is_of_others=False).in_work_share, MOST_LOST)


def is_known(site: WorkedOn) -> bool:
    """Whether looks tell what an instruction takes, of which kinds at least."""
    kinds = max((one.kind_looks for one in site.operands), default=0)
    return max(site.looks, kinds) >= FEWEST_LOOKS


def repeated(
    results: Results,
    told: Iterable[Iterable[WorkedOn]],
    lines: Sequence[HotLine],
    samples: LineSamples,
) -> dict[Function, list[HotLine]]:
    """By function the lines that compute the same in each of several calls; seconds are their part.

    Names that were seen to change at any line of a function, looked at seldom or not, are not the
    same at another one. Of contents that come in turn, those have to be computed that come once.
    """
    seen: defaultdict[tuple[int, Function, str], list[Operand]] = defaultdict(list)
    for rank, sites in zip(results.trace.ranks, told, strict=True):
        for site in sites:
            for one in site.operands:
                seen[rank.number, site.frame.key, one.name].append(one)
    found: defaultdict[Function, list[HotLine]] = defaultdict(list)
    for line in lines:
        elsewhere = (
            other
            for one in line.site.operands
            for other in seen[line.rank.number, line.function, one.name]
            if other.contents > one.contents
        )
        by_turns = is_by_turns(line)
        if comes_again(line) and all(
            by_turns and _is_in_turn(one.contents, one.returns) for one in elsewhere
        ):
            again = 1.0 - line.site.contents_once / line.site.looks if by_turns else 1.0
            found[line.function].append(replace(line, seconds=line.part_s * again))
    return {
        function: own
        for function, own in found.items()
        if most_calls(own, samples) >= FEWEST_SAMPLES
    }


def looked_at_share(results: Results, lines: Iterable[HotLine]) -> float:
    """Of the ranks' computing, the part that lines take of which operands were seen."""
    rows = results.activities.rows
    whole_ns = sum(row.ns for row in rows if row.activity not in NOT_COMPUTING)
    seen_s = sum(line.part_s for line in lines if line.site.is_innermost)
    return min(1.0, seen_s / NS / whole_ns) if whole_ns else 0.0


def differing_share(results: Results, lines: Iterable[HotLine]) -> float:
    """The same of lines of which an operand was seen to differ."""
    differ = [line for line in lines if any(one.contents > 1 for one in line.site.operands)]
    return looked_at_share(results, differ)


def comes_again(line: HotLine) -> bool:
    """Whether all that a line takes was known in all looks, and is one of few, as its results.

    What has changed once is not back: earlier contents must have been back after others, several
    times.
    """
    site = line.site
    if not site.is_innermost or not FEWEST_LOOKS <= site.whole_looks == site.looks:
        return False
    if site.contents == 1:
        return site.result_looks < FEWEST_SAMPLES or site.results == 1
    is_few = site.contents <= MAIN * site.looks and _is_in_turn(site.contents, site.returns)
    is_seldom_seen = site.result_looks < FEWEST_SAMPLES
    return is_few and (is_seldom_seen or _is_in_turn(site.results, site.result_returns))


def is_by_turns(line: HotLine) -> bool:
    """Whether what a line takes are several contents, not always the same one."""
    return line.site.contents > 1


def _is_in_turn(contents: int, returns: int) -> bool:
    """Whether contents are always the same, or several that were back too often for chance.

    Where as many were seen as are counted, there may be any number of them.
    """
    return contents == 1 or (contents < MANY_CONTENTS and returns >= FEWEST_SAMPLES)


def most_calls(lines: Sequence[HotLine], samples: LineSamples) -> int:
    """Separate calls that samples show at least, on the rank with most of them."""
    frames = [line.site.frame for line in lines]
    return max(samples.calls(line.rank, frames) for line in lines)
