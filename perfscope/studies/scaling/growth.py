"""How the work grew with the size: not at all (strong scaling), in proportion (weak), or else."""

import math
from collections.abc import Callable, Sequence
from typing import TypeVar

from perfscope.metrics.efficiency.scalability import WEAK_SHARE, RunTotals
from perfscope.structures import dataclass
from perfscope.studies.common.run import StudyRun
from perfscope.studies.scaling.series import Point
from perfscope.units import listed

SAME_WORK = 1.1
"""Work that differs by less is the same work: steps are whole, and some are cut at the ends."""

STRONG, WEAK, UNEVEN = "strong", "weak", "uneven"
MEASURED = ("samples", "batch_size", "steps")  # bases that count work, by which times are divided
WHAT = {
    "samples": "the samples trained (batch size × ranks × steps)",
    "batch_size": "batch size × ranks × steps",
    "instructions": "the instructions executed",
    "useful_time": "the useful time of all ranks",
    "steps × ranks": "steps × ranks, with as many samples of a rank in every step",
    "steps": "the steps, with as many samples of all ranks together in every step",
}
Shares = tuple[float, ...]
One = TypeVar("One")


@dataclass(frozen=True)
class Growth:
    """How a series scales."""

    word: str  # `strong`, `weak`, or `uneven`: neither the same work nor as much more as the size
    basis: str  # `option`, `samples`, `batch_size`, `instructions`, `steps`, `useful_time`, `none`
    work: Shares | None  # of each size over that of the smallest, None where not told
    factors: Shares  # of each size: its speed-up is that of the time, times this
    sentence: str  # the same in words

    @property
    def is_weak(self) -> bool:
        """Whether the work grew with the size."""
        return self.word == WEAK

    @property
    def is_strong(self) -> bool:
        """Whether all sizes did the same work, or were to do it."""
        return self.word == STRONG

    @property
    def work_ratio(self) -> float | None:
        """Work of the largest over that of the smallest size."""
        return self.work[-1] if self.work else None


@dataclass(frozen=True)
class _Told:
    """What the runs tell of their work: its shares by size, from what, and that in words."""

    basis: str
    work: Shares
    quantity: str = ""

    @property
    def what(self) -> str:
        """The quantity that tells, in words."""
        return WHAT[self.quantity or self.basis]


def trained_samples(run: StudyRun) -> int | None:
    """Samples that all ranks trained on in the focus of analysis; None when not recorded."""
    return run.throughput.samples


def whole_rate(run: StudyRun) -> float | None:
    """Samples a second over the whole focus of analysis, evaluation and set-up included."""
    samples = trained_samples(run)
    return samples / run.focus_s if samples is not None and run.focus_s else None


def growth(
    points: Sequence[Point], totals: Sequence[RunTotals], *, wanted: bool | None = None
) -> Growth:
    """How the work of every size compares with that of the smallest.

    `wanted` is True for weak, False for strong, None to tell it from the runs.
    """
    sizes = tuple(point.size / points[0].size for point in points)
    same = (1.0,) * len(points)
    told = _told([point.representative for point in points], totals)
    if wanted is not None:
        return _asked_for(sizes, told, is_weak=wanted)
    if told is None or sizes[-1] <= 1:
        sentence = "A single size shows neither strong nor weak scaling."
        return Growth(STRONG, "none", told.work if told else None, same, sentence)
    word = _word(told, sizes)
    head = f"{word.capitalize()} scaling, detected from {told.what}: "
    if word == UNEVEN:
        sentence = (
            f"Uneven work, detected from {told.what}: {_listed(told.work)} times the work at "
            f"{_listed(sizes)} times the size. Speed-ups are of the same work: each time is "
            "divided by the work done in it."
        )
    elif told.basis == "useful_time":
        sentence = f"{head}{told.work[-1]:.3g} times as long at {sizes[-1]:g} times the size."
    else:
        sentence = f"{head}{_times(told.work[-1])} at {sizes[-1]:g} times the size."
    factors = same if word == STRONG else told.work if told.basis in MEASURED else sizes
    return Growth(word, told.basis, told.work, factors, sentence)


def _asked_for(sizes: Shares, told: _Told | None, *, is_weak: bool) -> Growth:
    """What the user says of the series; counted work still counts."""
    counted = told.work if told is not None and told.basis in MEASURED else None
    work = told.work if told is not None else None
    if is_weak:
        grew = counted is not None and counted[-1] > SAME_WORK
        sentence = "Weak scaling, as requested."
        if counted is not None and grew and not _are_near(counted, sizes):
            sentence += f" The sizes did {_listed(counted)} times the work, which is what counts."
        return Growth(WEAK, "option", work, counted if counted and grew else sizes, sentence)
    sentence = "Strong scaling, as requested."
    if counted is not None and max(counted) > SAME_WORK:
        sentence += (
            f" The sizes did {_listed(counted)} times the work: the added work counts as lost."
        )
    if counted is not None and min(counted) < 1 / SAME_WORK:
        sentence += " Where a size did less work, its speed-up is overstated."
    return Growth(STRONG, "option", work, (1.0,) * len(sizes), sentence)


def _word(told: _Told, sizes: Shares) -> str:
    """What the work of all sizes is called; time and instructions tell only where they end."""
    if told.basis not in MEASURED:
        return WEAK if told.work[-1] > WEAK_SHARE * sizes[-1] else STRONG
    to_one = _distance(told.work, (1.0,) * len(sizes))
    to_size = _distance(told.work, sizes)
    if min(to_one, to_size) > math.log(SAME_WORK):
        return UNEVEN
    return STRONG if to_one <= to_size else WEAK


def _told(runs: Sequence[StudyRun], totals: Sequence[RunTotals]) -> _Told | None:
    """The work of the runs by the first quantity that all of them have."""
    if work := _shares(runs, trained_samples):
        return _Told("samples", work)
    if work := _shares(
        runs, lambda run: (run.result.run.batch_size or 0) * run.ranks * run.throughput.steps
    ):
        return _Told("batch_size", work)
    if work := _shares(totals, lambda total: total.instructions):
        return _Told("instructions", work)
    useful = _shares(totals, lambda one: None if one.useful_unknown else sum(one.useful_s))
    return _told_by_steps(runs, useful) or (_Told("useful_time", useful) if useful else None)


def _told_by_steps(runs: Sequence[StudyRun], useful: Shares | None) -> _Told | None:
    """The work from the steps alone; None where they do not tell it.

    As many steps at every size are of the same batch, divided (strong), or of one for each rank
    (weak): the useful time knows. Fewer steps on more ranks are as many for all ranks together.
    """
    steps = _shares(runs, lambda run: run.throughput.steps)
    if steps is None or _are_near(steps, (1.0,) * len(steps)):
        return None
    shared = tuple(s * run.ranks / runs[0].ranks for s, run in zip(steps, runs, strict=True))
    found = {"steps × ranks": shared, "steps": steps}
    nearest = "steps × ranks"
    if useful is not None and not _are_near(shared, (1.0,) * len(shared)):
        nearest = min(found, key=lambda name: _distance(found[name][-1:], useful[-1:]))
    return _Told("steps", found[nearest], nearest)


def _shares(of: Sequence[One], quantity: Callable[[One], float | None]) -> Shares | None:
    """A quantity of all over that of the first; None where one does not have it."""
    values = [quantity(one) for one in of]
    known = [float(value) for value in values if value]
    return tuple(value / known[0] for value in known) if len(known) == len(values) else None


def _distance(one: Shares, other: Shares) -> float:
    """The largest ratio between two series, as a logarithm."""
    return max((abs(math.log(a / b)) for a, b in zip(one, other, strict=True)), default=0.0)


def _are_near(one: Shares, other: Shares) -> bool:
    return _distance(one, other) <= math.log(SAME_WORK)


def _times(ratio: float) -> str:
    return "the same work" if abs(ratio - 1) < 0.01 else f"{ratio:.3g} times the work"


def _listed(values: Shares) -> str:
    """`1, 1.5 and 4`; of many, the first and last ones."""
    words = [f"{value:.3g}" for value in values]
    if len(words) > 6:
        words = [*words[:3], "...", *words[-2:]]
    return listed(words)
