"""The lines that numeric work is done in, with what they work on and how long that takes."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence

import numpy as np

from perfscope.arrays import Bools
from perfscope.findings.core.finding import Gain
from perfscope.findings.core.gain import bound_s, saved
from perfscope.judging import FEWEST_SAMPLES, MAIN
from perfscope.metrics.host.interpreter_lock import RESTING
from perfscope.metrics.results import Results
from perfscope.schema.enums import Activity
from perfscope.structures import dataclass
from perfscope.trace.model import Frame, Function, Rank
from perfscope.trace.operands import Operand, WorkedOn, worked_on
from perfscope.units import NS

NOT_COMPUTING = RESTING.union((Activity.IMPORTING, Activity.COMPILING, Activity.COMMUNICATION))

FEWEST_LOOKS = FEWEST_SAMPLES


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


def has_operands(results: Results) -> bool:
    """Whether any rank looked at what its lines work on."""
    return any(worked_on(rank.metadata) for rank in results.trace.ranks)


class LineSamples:
    """How often main threads were seen in lines of the program, or in what these called."""

    def __init__(self, results: Results) -> None:
        self._results = results
        self._known: dict[frozenset[Frame], Bools] = {}

    def seconds(self, rank: Rank, frames: Collection[Frame]) -> float:
        """How long the main thread of a rank was in any of some lines."""
        inside = self._inside(rank, frames)
        whole_s = self._results.focus.length_ns * NS
        return float(inside.mean()) * whole_s if len(inside) else 0.0

    def calls(self, rank: Rank, frames: Collection[Frame]) -> int:
        """How often, at least, the main thread of a rank came back to any of some lines."""
        inside = self._inside(rank, frames).astype(np.int8)
        return int(np.count_nonzero(np.diff(inside, prepend=np.int8(0)) > 0))

    def _inside(self, rank: Rank, frames: Collection[Frame]) -> Bools:
        rows = self._results.focus.within(rank.main_stacks)
        found: Bools = self._stacks_with(frozenset(frames))[rows["stack"]]
        return found

    def _stacks_with(self, frames: frozenset[Frame]) -> Bools:
        known = self._known.get(frames)
        if known is None:
            trace = self._results.trace
            wanted = {number for number, frame in enumerate(trace.frames) if frame in frames}
            known = np.array([not wanted.isdisjoint(one) for one in trace.stacks], np.bool_)
            self._known[frames] = known
        return known


def hot_lines(
    results: Results, told: Iterable[Iterable[WorkedOn]], samples: LineSamples
) -> tuple[HotLine, ...]:
    """The instructions that were looked at, of all ranks, most seconds first.

    `told` is what each rank's lines were seen to work on. Samples tell lines: of several
    instructions in one that were looked at often enough, each has a part by how often it was met.
    """
    spent: defaultdict[tuple[int, Frame], int] = defaultdict(int)
    for row in results.activities.rows:
        if row.where is not None and row.activity not in NOT_COMPUTING:
            spent[row.rank, row.where] += row.ns
    found = []
    for rank, own in zip(results.trace.ranks, told, strict=True):
        sites = [one for one in own if one.looks >= FEWEST_LOOKS]
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
            seconds = whole_s * site.visits / visits[site.frame]
            part = site.visits / max(all_visits[site.frame], site.line_visits)
            found.append(HotLine(rank, site, seconds, part, whole_s * part))
    return tuple(sorted(found, key=lambda one: -one.seconds))


def grown_operand(told: Iterable[Iterable[WorkedOn]], frame: Frame | None) -> Operand | None:
    """What a function works on that has grown most while it was looked at; None: nothing has."""
    seen = [
        one
        for own in told
        for site in own
        if frame is not None and site.frame.key == frame.key and site.looks >= FEWEST_LOOKS
        for one in site.operands
    ]
    grown = [one for one in seen if 0 < one.fewest <= MAIN * one.elements]
    return max(grown, key=lambda one: one.elements / one.fewest, default=None)


def ranks_of(lines: Iterable[HotLine]) -> tuple[int, ...]:
    """The numbers of the ranks that some lines are of."""
    return tuple(sorted({line.rank.number for line in lines}))


def frames_of(lines: Iterable[HotLine]) -> tuple[Frame, ...]:
    """The places of some lines, each once."""
    return tuple(dict.fromkeys(line.site.frame for line in lines))


def saved_at_most(results: Results, lines: Sequence[HotLine]) -> Gain:
    """What the job saves at most without these lines: no rank has to wait longer for the others."""
    spent: defaultdict[int, float] = defaultdict(float)
    for line in lines:
        spent[line.rank.number] += line.seconds
    seconds = [spent[rank.number] for rank in results.trace.ranks]
    return saved(results, min(max(seconds, default=0.0), bound_s(results, seconds)))


def shape_of(operand: Operand) -> str:
    """Shape and type in words: `360 × 360 float64`."""
    sizes = " × ".join(f"{size:,}" for size in operand.shape)
    return f"{sizes} {operand.dtype}".strip()
