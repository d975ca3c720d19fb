"""What a run is shorter by without a part of some of its phases, rank by rank."""

from collections import Counter
from collections.abc import Mapping, Sequence

from perfscope.findings.core.finding import Gain
from perfscope.findings.core.gain import bound_s, predicted_gain
from perfscope.findings.facts.facts import Facts
from perfscope.metrics.efficiency.phases import PhaseResult
from perfscope.replay.model import Edit


def without_share(run: Facts, phases: Sequence[PhaseResult], shares: Mapping[int, float]) -> Gain:
    """The saving where each rank, by its number, does so much less in the phases.

    Where it cannot be replayed it is the most that the time spent there allows.
    """
    edits = [
        Edit(phase=one.id, ranks=(rank,), factor=1.0 - share)
        for one in phases
        for rank, share in shares.items()
    ]
    spent_s = Counter[int]()
    for one in phases:
        spent_s.update(dict(zip(one.ranks, one.seconds_by_rank, strict=True)))
    less_s = [spent_s[rank] * shares.get(rank, 0.0) for rank in run.results.ledger.ranks]
    most_s = bound_s(run.results, less_s)
    return predicted_gain(run.results, run.replay, edits, bound_s=most_s, is_planned=True)
