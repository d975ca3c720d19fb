"""One rank whose own work in a step grows, where ranks wait for CPUs and samples are few."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from perfscope.arrays import Floats, counter_growth
from perfscope.attribution.ledger import IS_COMMUNICATION
from perfscope.attribution.timeline import Timeline
from perfscope.findings.facts.step_growth import LEAST_STEPS, PARTS, StepGrowth, growth_of
from perfscope.metrics.results import Results
from perfscope.trace.model import Rank


def rank_growth(results: Results) -> StepGrowth | None:
    """The growth of the work of one rank, without waiting for CPUs; None where none grows alone.

    What slows a host down slows all of its ranks: only what a rank does more and more of beyond the
    usual one of the others on its host counts. Of several, the one that loses most by it.
    """
    if len(results.steps.starts_ns) <= LEAST_STEPS:
        return None
    work = {
        rank.number: (rank.host, _by_step(results, rank, timeline))
        for rank, timeline in zip(results.trace.ranks, results.timelines, strict=True)
        if len(rank.main_samples)
    }
    found = []
    for number, (host, own) in work.items():
        others = [one for rank, (at, one) in work.items() if rank != number and at == host]
        growth = growth_of(results, own / _slowed(others), rank=number) if others else None
        if growth is not None:
            found.append((growth, number))
    if not found:
        return None
    most, number = max(found, key=lambda one: one[0].lost_s)
    return replace(most, shrinking=_shrinking(results, work, number))


def _shrinking(
    results: Results, work: Mapping[int, tuple[str, Floats]], number: int
) -> tuple[int, ...]:
    """The other ranks that work less and less: what grows backward."""
    rest = [(rank, own) for rank, (_, own) in work.items() if rank != number]
    return tuple(rank for rank, own in rest if growth_of(results, own[::-1], rank=rank))


def _by_step(results: Results, rank: Rank, timeline: Timeline) -> Floats:
    """Seconds by step in which a rank works and has a CPU."""
    samples = rank.main_samples
    queued_ns = counter_growth(timeline.boundaries, samples["t"], samples["queue_delay_ns"])
    is_work = ~IS_COMMUNICATION[timeline.accounts]
    own_ns = np.where(is_work, np.maximum(timeline.lengths - queued_ns, 0.0), 0.0)
    worked = np.concatenate(([0.0], np.cumsum(own_ns)))
    found: Floats = np.diff(np.interp(results.steps.starts_ns, timeline.boundaries, worked)) * 1e-9
    return found


def _slowed(others: list[Floats]) -> Floats:
    """By step, how many times as long as in the first quarter the usual other rank works."""
    quarters = [[np.median(part) for part in np.array_split(one, PARTS)] for one in others]
    levels = np.array(quarters)
    first = np.maximum(levels[:, :1], np.finfo(np.float64).tiny)
    times = np.maximum(np.median(levels / first, axis=0), 1.0)
    lengths = [len(part) for part in np.array_split(others[0], PARTS)]
    found: Floats = np.repeat(times, lengths)
    return found
