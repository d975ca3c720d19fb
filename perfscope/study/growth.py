"""Strong or weak scaling: whether the problem grew with the ranks, and from what that was told."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from perfscope.metrics.scalability import WEAK_SHARE, RunTotals
from perfscope.study.run import StudyRun
from perfscope.study.series import Point

SAME_WORK = 1.1
"""Work that grew by less is the same work: strong scaling beyond doubt."""


@dataclass(frozen=True)
class Growth:
    """Whether a series scales strongly or weakly.

    Attributes:
        is_weak: the work grew with the ranks.
        basis: `option`, `samples`, `batch_size`, `instructions`, `useful_time`, or `none`.
        work_ratio: work of the largest over that of the smallest size, None where not told.
        sentence: the same in words.
    """

    is_weak: bool
    basis: str
    work_ratio: float | None
    sentence: str

    @property
    def word(self) -> str:
        """`weak` or `strong`."""
        return "weak" if self.is_weak else "strong"


def trained_samples(run: StudyRun) -> float | None:
    """Samples that all ranks trained on in the focus of analysis; None when not recorded."""
    rate = run.samples_per_s.value
    return None if rate is None else rate * run.focus_s


def growth(
    points: Sequence[Point], totals: Sequence[RunTotals], *, wanted: bool | None = None
) -> Growth:
    """How the work of the largest size compares with that of the smallest.

    Args:
        points: smallest first.
        totals: of their representatives.
        wanted: True for weak, False for strong, None to tell it from the runs.
    """
    ratio, basis, what = _work_ratio(points, totals)
    size_ratio = points[-1].size / points[0].size
    if wanted is not None:
        word = "weak" if wanted else "strong"
        return Growth(wanted, "option", ratio, f"{word.capitalize()} scaling, as asked for.")
    if ratio is None or size_ratio <= 1:
        return Growth(False, "none", ratio, "One size alone neither scales strongly nor weakly.")
    is_weak = ratio > WEAK_SHARE * size_ratio
    word = "Weak" if is_weak else "Strong"
    work = "the same work" if abs(ratio - 1) < 0.01 else f"{ratio:.3g} times the work"
    sentence = f"{word} scaling, told from {what}: {work} at {size_ratio:g} times the size."
    if not is_weak and ratio > SAME_WORK:
        sentence += " The work grew, but not with the size: what was added counts as lost."
    if ratio < 1 / SAME_WORK:
        sentence += " The largest size did less work, so its speed-up is overstated."
    return Growth(is_weak, basis, ratio, sentence)


def _work_ratio(
    points: Sequence[Point], totals: Sequence[RunTotals]
) -> tuple[float | None, str, str]:
    first, last = points[0].representative, points[-1].representative
    if ratio := _ratio(trained_samples(last), trained_samples(first)):
        return ratio, "samples", "the samples trained (batch size x ranks x steps)"
    if first.batch_size and last.batch_size:
        ratio = last.batch_size * last.ranks / (first.batch_size * first.ranks)
        return ratio, "batch_size", "batch size x ranks"
    if ratio := _ratio(totals[-1].instructions, totals[0].instructions):
        return ratio, "instructions", "the instructions executed"
    ratio = _ratio(sum(totals[-1].useful_s), sum(totals[0].useful_s))
    return ratio, "useful_time", "the useful time of all ranks"


def _ratio(over: float | None, under: float | None) -> float | None:
    return over / under if over is not None and under else None
