"""Who works more than the others, in what, and whether it is always the same ranks."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from statistics import mean, median
from typing import TYPE_CHECKING

from perfscope.findings import thresholds
from perfscope.findings.solo_work import find_solo_work, own_seconds
from perfscope.metrics.ledger import Account
from perfscope.metrics.samples import samples_by_rank
from perfscope.replay.model import Edit
from perfscope.trace.model import Frame, PhaseKind

if TYPE_CHECKING:
    from perfscope.metrics.phases import PhaseResult
    from perfscope.metrics.results import Results
    from perfscope.replay.model import Prediction, Replay

SOLO_KINDS = {PhaseKind.EVALUATE, PhaseKind.PREDICT, PhaseKind.CHECKPOINT, PhaseKind.IO}


class Pattern(Enum):
    """What kind of imbalance it is."""

    CONSTANT = "constant"  # the same ranks work longer in one phase
    STRAGGLER = "straggler"  # one rank is slower in everything it does
    ALTERNATING = "alternating"  # another rank is late each time


@dataclass(frozen=True)
class Excess:
    """Where the heavy ranks work longer than the others, most seconds first.

    `seconds` is the mean over the heavy ranks of their work there beyond the median of the other
    ranks; `ratio` their work there over that median, None where the others have none.
    """

    name: str
    seconds: float
    ratio: float | None
    where: tuple[Frame, ...]
    phase: str


@dataclass(frozen=True)
class ImbalanceFacts:
    """The work of the ranks once what one rank does alone is set aside; seconds by rank."""

    ranks: tuple[int, ...]
    work_s: tuple[float, ...]
    heavy: tuple[int, ...]  # numbers of the ranks that work more than the others
    pattern: Pattern
    excess: tuple[Excess, ...]
    equal_samples: bool | None  # whether all ranks processed as many samples; None unknown
    edits: tuple[Edit, ...]  # the change that the gain is about
    prediction: Prediction | None
    evenly: Prediction | None  # when the same total work is spread evenly
    explained: tuple[Edit, ...]  # what other findings explain
    is_single: bool  # whether most of the waiting for the heavy ranks was one single wait

    @property
    def load_balance(self) -> float:
        """Mean work over most work."""
        return mean(self.work_s) / max(self.work_s) if max(self.work_s) > 0 else 1.0

    @property
    def constant_s(self) -> float:
        """Most work minus mean work: lost to ranks that always work longer."""
        return max(self.work_s) - mean(self.work_s)


def imbalance_facts(results: Results, replay: Replay) -> ImbalanceFacts:
    """The facts about a run of two ranks or more."""
    ranks = results.efficiency.ranks
    work_s = _work_without_solo(results)
    heavy = _heavy(ranks, work_s)
    solo = tuple(dict.fromkeys(work.edit for work in find_solo_work(results)))
    evenly = replay.predict([Edit(balance=True)], after=solo)
    constant_s = max(work_s) - mean(work_s)
    constant = evenly is None or constant_s >= thresholds.CONSTANT_SHARE * evenly.gain_s
    excess = _excess(results, heavy) if constant else ()
    pattern = Pattern.ALTERNATING
    if constant:
        pattern = Pattern.STRAGGLER if _everywhere(excess, work_s) else Pattern.CONSTANT
    equal = _equal_samples(results)
    edits = _edits(len(ranks), heavy if constant else None, equal)
    return ImbalanceFacts(
        ranks=ranks,
        work_s=work_s,
        heavy=heavy if constant else (),
        pattern=pattern,
        excess=excess,
        equal_samples=equal,
        edits=edits,
        prediction=replay.predict(edits, after=solo),
        evenly=evenly,
        explained=solo,
        is_single=constant and _is_single(results, heavy),
    )


def _work_without_solo(results: Results) -> tuple[float, ...]:
    work = dict(zip(results.efficiency.ranks, results.efficiency.outside_s, strict=True))
    for solo in find_solo_work(results):
        work[solo.rank] = max(0.0, work[solo.rank] - solo.seconds)
    return tuple(work.values())


def _heavy(ranks: tuple[int, ...], work_s: tuple[float, ...]) -> tuple[int, ...]:
    """Ranks that work more than the usual rank; of two, the one that works more."""
    usual = min(work_s) if len(work_s) == 2 else median(work_s)
    bound = usual * (1 + thresholds.HEAVY_SHARE)
    found = tuple(rank for rank, work in zip(ranks, work_s, strict=True) if work > bound)
    return found or (ranks[work_s.index(max(work_s))],)


def _equal_samples(results: Results) -> bool | None:
    counts = samples_by_rank(results.trace, results.focus)
    if counts is None:
        return None
    return max(counts) - min(counts) <= thresholds.EQUAL_SAMPLES_SHARE * max(counts)


def _edits(
    rank_count: int, heavy: tuple[int, ...] | None, equal_samples: bool | None
) -> tuple[Edit, ...]:
    """The change that takes the imbalance away.

    Ranks that take longer for as many samples should work as fast as the others; where they have
    more to do, or of two ranks it is not known, the same work is spread evenly.
    """
    spread = equal_samples is False or (equal_samples is None and rank_count == 2)
    if spread:
        return (Edit(balance=True),)
    return (Edit(ranks=heavy, to_median=True),)


def _excess(results: Results, heavy: tuple[int, ...]) -> tuple[Excess, ...]:
    rows = [
        (_name(p), p.id, p.where, dict(zip(p.ranks, own_seconds(p), strict=True)))
        for p in results.phases
        if p.kind not in SOLO_KINDS
    ]
    for share in results.ledger.functions:
        if share.account is Account.COMPUTATION:
            frame = Frame(share.function, share.file, share.line)
            rows.append((f"{share.function}()", "", (frame,), dict(share.seconds_by_rank)))
    found = []
    for label, phase, where, seconds in rows:
        others = [seconds.get(r, 0.0) for r in results.efficiency.ranks if r not in heavy]
        usual = median(others) if others else 0.0
        own = mean(seconds.get(rank, 0.0) for rank in heavy)
        ratio = own / usual if usual > 0 else None
        frames = _late_frames(results, heavy, phase) or where
        found.append(Excess(label, own - usual, ratio, frames, phase))
    return tuple(sorted(found, key=lambda excess: -excess.seconds))


def _name(phase: PhaseResult) -> str:
    """The phase inside a sentence; names that the program gave keep their letters."""
    return phase.label if phase.kind is PhaseKind.USER else phase.label.lower()


def _late_frames(results: Results, heavy: tuple[int, ...], phase: str) -> tuple[Frame, ...]:
    """What the heavy ranks were doing in the phase when the others already waited."""
    late = results.communication.late_arrivals
    frames = (a.frame for a in late if a.rank in heavy and a.phase == phase and phase)
    return tuple(dict.fromkeys(frame for frame in frames if frame is not None))


def _is_single(results: Results, heavy: tuple[int, ...]) -> bool:
    """Whether most of the waiting for these ranks, solo work left out, was one single wait."""
    solo = {p.id for p in results.phases if p.kind in SOLO_KINDS}
    late = [
        arrival
        for arrival in results.communication.late_arrivals
        if arrival.rank in heavy and arrival.phase not in solo
    ]
    single = sum(arrival.stall_s for arrival in late if arrival.instances == 1)
    return single > thresholds.SINGLE_SHARE * sum(arrival.stall_s for arrival in late)


def _everywhere(excess: tuple[Excess, ...], work_s: tuple[float, ...]) -> bool:
    """Whether two phases or more are slowed alike, and none of weight is spared."""
    least = thresholds.PHASE_LEAST_SHARE * max(work_s)
    weighty = [
        e.ratio - 1.0
        for e in excess
        if e.ratio is not None and e.phase and e.seconds / max(e.ratio - 1.0, 1e-9) >= least
    ]
    if len(weighty) < 2 or min(weighty) <= thresholds.HEAVY_SHARE:
        return False
    usual = mean(weighty)
    return max(abs(ratio - usual) for ratio in weighty) <= thresholds.SAME_RATIO_SPREAD * usual
