"""Whether steps that get longer hold more of the same work: longer episodes, sequences, batches."""

import numpy as np

from perfscope.arrays import Floats
from perfscope.findings.facts.step_growth import PARTS, StepGrowth
from perfscope.judging import MAIN, SURE
from perfscope.metrics.results import Results


def has_more_samples(results: Results, growth: StepGrowth) -> bool:
    """Whether steps hold more samples from quarter to quarter, by most of what they grow."""
    for rank in results.trace.ranks:
        parts = np.array_split(rank.steps["samples"], PARTS)
        first, last = (float(np.median(part)) if len(part) else 0.0 for part in parts[:: PARTS - 1])
        if first <= 0.0 or last / first - 1.0 < MAIN * (growth.times - 1.0):
            return False
    return bool(results.trace.ranks)


def grows_alike(results: Results, growth: StepGrowth) -> bool:
    """Whether all that a step does grows by much the same, as where it does more of the same.

    Were one line to grow alone, the shares that lines have of a step would differ from the first
    quarter to the last by so much: if they differ by less than half of it, all grows. Shares are of
    samples: chance alone moves them, which is taken off.
    """
    first, last = _samples(results)
    before, after = float(first.sum()), float(last.sum())
    is_seen = growth.is_first_known and after - before >= MAIN * (growth.times - 1.0) * before
    if not before or not is_seen:
        return False
    shares, later = first / before, last / after
    chance = _variance(shares, before) + _variance(later, after)
    apart = float(((later - shares) ** 2).sum()) - chance
    alone = np.zeros_like(shares)
    alone[int(np.argmax(later * growth.times - shares))] = 1.0
    if_alone = (1.0 - 1.0 / growth.times) ** 2 * float(((alone - shares) ** 2).sum())
    return if_alone > SURE**2 * chance and apart <= MAIN**2 * if_alone


def _samples(results: Results) -> tuple[Floats, Floats]:
    """How often each line was seen at work in the first quarter of the steps and in the last."""
    frames = len(results.trace.frames) + 1
    seen = np.zeros((PARTS, frames))
    starts = np.asarray(results.steps.starts_ns)
    if results.labels is None or len(starts) < PARTS:
        return seen[0], seen[-1]
    edges = np.array([part[0] for part in np.array_split(starts, PARTS)])
    for rank, timeline in zip(results.trace.ranks, results.timelines, strict=True):
        rows = rank.main_stacks
        if not len(rows) or not len(timeline.accounts):
            continue
        rows = rows[timeline.work(results.focus)[timeline.at(rows["t"])]]
        part = np.searchsorted(edges, rows["t"], side="right") - 1
        place = np.where(rows["stack"] >= 0, results.labels.user_frame[rows["stack"]], -1)
        np.add.at(seen, (part[part >= 0], place[part >= 0]), 1)
    return seen[0], seen[-1]


def _variance(shares: Floats, count: float) -> float:
    """By how much chance moves shares of so many samples, as the sum of squares."""
    return float((shares * (1.0 - shares)).sum()) / count
