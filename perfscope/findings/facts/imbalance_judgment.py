"""How load imbalance, stragglers and transient imbalance are judged: one of them fires."""

from dataclasses import replace
from enum import Enum
from statistics import mean, median

import numpy as np

from perfscope.findings.core import thresholds, wording
from perfscope.findings.core.finding import (
    Evidence,
    Finding,
    Gain,
    Quiet,
    Spent,
    not_applicable,
    not_measured,
)
from perfscope.findings.core.gain import as_bare_bound, at_most_waited, replayed, saved
from perfscope.findings.core.one_rank import alone
from perfscope.findings.facts.cpu_contention import least_waited_s, share_cpus, waited_by_turns
from perfscope.findings.facts.imbalance_facts import ImbalanceFacts, Pattern, persists
from perfscope.judging import MAIN, SURE
from perfscope.metrics.host.cpu_work import cpu_work_s
from perfscope.metrics.results import Results
from perfscope.replay.model import Prediction
from perfscope.savings import Wholes
from perfscope.schema.enums import Confidence, Status
from perfscope.structures import dataclass
from perfscope.units import NS

STEADY_REACH = 0.8  # of the time, better without it: no chance (runs without a fault: 0.73)
CHANCE_PART = 1 / 3  # of what every rank waits for CPUs: always the same one may lose so much
SPREAD_WARN_SHARE = 0.25  # from when on it is warned of although nobody can take it away
REFERENCES = (
    (
        "POP Centre of Excellence, load balance and serialization efficiency: "
        "https://co-design.pop-coe.eu/metrics/"
    ),
)
CONTENTION_ACTIONS = (
    (
        "Give the ranks CPUs of their own first: fewer threads in each rank, and no other "
        "processes on the same CPUs."
    ),
)
OVERLAPS = ("rank_zero_evaluation", "threads_over_cores", "shared_cores", "data_stall")


class Doubt(Enum):
    """Why it may be chance and no fault, in a sentence."""

    LITTLE = "A difference this small may be system noise."
    WAITED = (
        "Every rank waited longer for CPUs than this costs: which of them was late may be chance."
    )
    QUEUED = "Most of the difference would be gone if all ranks waited for CPUs alike."
    LASTING = (
        "The ranks are late in stretches of several steps, as on CPUs that are slow for a while: "
        "which of them was late more often may be chance."
    )
    HOST = (
        "The ranks that are late waited longer for CPUs that processes outside the job had, which "
        "is most of the difference. Their CPU time shows no more work: what it differs by is not "
        "clear of zero, and half of the difference at most."
    )
    DISTURBED = (
        "Processes outside the job ran on the same CPUs: through shared caches and lower clock "
        "rates they may make one rank slower in everything it does."
    )


@dataclass(frozen=True)
class Judgment:
    """The facts about a run of two ranks or more, their cost, and the status that it deserves."""

    facts: ImbalanceFacts
    gain: Gain
    is_explained: bool  # by waiting for CPUs
    status: Status
    wholes: Wholes
    doubt: Doubt | None
    # how many times the CPU time of the others the overloaded ranks need, where that is certain
    cpu_times: float | None = None

    @property
    def cost(self) -> str:
        """The gain in words, with its shares; `about` stands before it without a replay."""
        return self.wholes.saving(self.gain.seconds, is_bound=self.gain.is_bound)

    def finding(
        self,
        results: Results,
        *,
        title: str,
        summary: str,
        evidence: tuple[Evidence, ...],
        actions: tuple[str, ...],
    ) -> Finding:
        """The finding with what the three have in common."""
        facts = self.facts
        # what no change can take away is told, and claims nothing
        by_turns = self.is_explained and facts.pattern is Pattern.ALTERNATING
        by_chance = facts.is_bound or by_turns or self.doubt is not None
        is_claim = not (by_chance and self.status is Status.INFO)
        return Finding(
            status=self.status,
            title=self._title(results) or title,
            summary=f"{summary} {self.doubt.value}" if self.doubt else summary,
            gain=replace(self.gain, spent=spent(self.facts)) if is_claim else None,
            confidence=self._confidence(),
            ranks=facts.overloaded,
            window_s=_window(results, facts),
            where=facts.excess[0].where if facts.excess else (),
            evidence=evidence,
            actions=self._actions(actions),
            overlaps=OVERLAPS,
        )

    def _title(self, results: Results) -> str:
        """What is said instead of what the ranks do, where the host did it."""
        if self.doubt is not Doubt.HOST:
            return ""
        who = wording.ranks(self.facts.overloaded)
        rest = len(self.facts.ranks) - len(self.facts.overloaded)
        waits = "the other rank waits" if rest == 1 else "the others wait"
        return f"Processes outside the job hold up {who} most, and {waits}"

    def _actions(self, of_work: tuple[str, ...]) -> tuple[str, ...]:
        """What to do, of the CPUs first where they are the cause; `of_work`: about the work."""
        if self.doubt is Doubt.HOST:
            return CONTENTION_ACTIONS
        return (*CONTENTION_ACTIONS, *of_work) if self._is_of_cpus else of_work

    @property
    def _is_of_cpus(self) -> bool:
        """Whether ranks are to get CPUs of their own before anything else is done."""
        return self.is_explained or self.doubt not in {None, Doubt.LITTLE}

    def _confidence(self) -> Confidence:
        prediction = self.facts.prediction
        if prediction is None or self.facts.is_bound:
            return Confidence.LOW
        return Confidence.MEDIUM if self.is_explained else Confidence.HIGH


def unable(results: Results) -> Quiet | None:
    """What is said where nothing can be compared; None where it can."""
    single = "The run has one rank: there is nothing to balance."
    if quiet := alone(results, single):
        return quiet
    if "communication" in results.trace.not_recorded:
        return not_measured(wording.not_recorded(results.trace, "communication", ""))
    if _never_meet(results):
        return not_applicable(wording.INDEPENDENT)
    if not any(results.efficiency.outside_s):
        return not_measured(
            "No work was recorded in the analyzed window: choose another one with --foa."
        )
    return None


def _never_meet(results: Results) -> bool:
    """Whether the ranks are tasks of their own: started together, without MPI and the like."""
    joined = any(rank.init_exit_ns is not None for rank in results.trace.ranks)
    return not joined and not results.communication.operations and results.devices is None


def judged(
    results: Results,
    facts: ImbalanceFacts,
    *,
    is_contended: bool,
    queued: float | None,
    on_equal_cpus: Prediction | None,
) -> Judgment:
    """The judgment about a run of two ranks or more.

    Args:
        results: the run.
        facts: who works more.
        is_contended: whether ranks wait for CPUs.
        queued: the share of all waiting for ranks that may be for want of CPUs; None unknown.
        on_equal_cpus: what even work saves had all ranks waited for CPUs alike; None where that
            is not known, or another rank is late each time.
    """
    whole = _gain(results, facts)
    gain = _less(results, facts, whole, on_equal_cpus)
    is_queued = gain.seconds < MAIN * whole.seconds
    gain_s, share = gain.seconds, gain.share
    by_turns = facts.pattern is Pattern.ALTERNATING and waited_by_turns(results, gain_s)
    more = _more_work(results, facts)
    cpu_times = _cpu_times(more)
    may_be_turns = (is_contended or by_turns) and facts.pattern is Pattern.ALTERNATING
    is_explained = is_queued or (may_be_turns and (queued is None or queued >= MAIN))
    deserved = _status(facts, gain, is_explained=is_explained)
    status = thresholds.unless_chance(deserved, gain)
    doubt = None if status is deserved else Doubt.LITTLE
    is_sure = status.is_fault and cpu_times is not None
    if is_contended and not is_sure and status is Status.WARN and share < thresholds.FAIL_SHARE:
        status = Status.INFO  # so little is chance where threads wait for CPUs
    if status.is_fault:
        doubt = _doubt(results, facts, gain, more, is_sure=is_sure)
        status = Status.INFO if doubt or (by_turns and not is_sure) else status
    if is_queued and not is_sure and thresholds.by_gain(whole).is_fault:
        is_of_host = doubt is Doubt.HOST or _is_of_host(results, facts, more)
        status, doubt = Status.INFO, Doubt.HOST if is_of_host else Doubt.QUEUED
    wholes = wording.wholes(results)
    return Judgment(facts, gain, is_explained, status, wholes, doubt, cpu_times)


@dataclass(frozen=True)
class _MoreWork:
    """How much more CPU time overloaded ranks need than others: means over stretches of the run."""

    mean_s: float
    error_s: float
    own_s: float  # what they need in a stretch
    times: float  # that of the others
    elapsed: float  # how much longer they work, as a share of their work

    @property
    def least(self) -> float:
        """The lower end of the 95 % interval, as a share of what they need."""
        return (self.mean_s - SURE * self.error_s) / max(self.own_s, 1e-9)

    @property
    def most(self) -> float:
        """The upper end of it."""
        return (self.mean_s + SURE * self.error_s) / max(self.own_s, 1e-9)


def _cpu_times(more: _MoreWork | None) -> float | None:
    """How many times the CPU time of the others the overloaded ranks need; None if not surely more.

    Who waits for a CPU is late by chance, and does no more work for that. The least of the 95 %
    interval of the mean over the stretches counts, as a share of what these ranks do.
    """
    if more is None or not more.least >= MAIN * more.elapsed > 0:
        return None
    return more.times


def _more_work(results: Results, facts: ImbalanceFacts) -> _MoreWork | None:
    """That of a run; None where it is not known of all ranks, or none are overloaded."""
    rest = [place for place, rank in enumerate(facts.ranks) if rank not in facts.overloaded]
    cpu_s = cpu_work_s(results) if rest and facts.overloaded else None
    if cpu_s is None or cpu_s.shape[1] != len(facts.ranks):
        return None
    overloaded = [place for place in range(len(facts.ranks)) if place not in rest]
    more_s = cpu_s[:, overloaded].mean(axis=1) - np.median(cpu_s[:, rest], axis=1)
    works_s = mean(facts.work_s[place] for place in overloaded)
    usual_s = median(facts.work_s[place] for place in rest)
    own_s = float(cpu_s[:, overloaded].mean())
    return _MoreWork(
        mean_s=float(more_s.mean()),
        error_s=float(more_s.std(ddof=1)) / len(more_s) ** 0.5,
        own_s=own_s,
        times=own_s / max(float(np.median(cpu_s[:, rest].mean(axis=0))), NS),
        elapsed=(works_s - usual_s) / max(works_s, 1e-9),
    )


def _is_of_host(results: Results, facts: ImbalanceFacts, more: _MoreWork | None) -> bool:
    """Whether ranks are late by what other processes took from them, and by no work of their own.

    Who has more work waits longer for the same share, and has more CPU time; who waits longer for
    the same work has met more of what else runs. CPU times that differ by too little to be told
    from none have to be too few for half of the difference as well.
    """
    if more is None or more.least > 0 or more.most >= MAIN * more.elapsed:
        return False
    waited = {one.rank: one.others_share * one.in_work_s for one in results.resources.cpu_waits}
    if any(rank not in waited for rank in facts.ranks):
        return False
    pairs = list(zip(facts.ranks, facts.work_s, strict=True))
    late = [(waited[rank], work) for rank, work in pairs if rank in facts.overloaded]
    rest = [(waited[rank], work) for rank, work in pairs if rank not in facts.overloaded]
    waited_s, worked_s = (
        mean(one[part] for one in late) - median(one[part] for one in rest) for part in (0, 1)
    )
    return waited_s >= MAIN * worked_s > 0


def _doubt(
    results: Results,
    facts: ImbalanceFacts,
    gain: Gain,
    more: _MoreWork | None,
    *,
    is_sure: bool,
) -> Doubt | None:
    """Why always the same ranks may be late by chance; None where they are not, or by turns.

    `is_sure`: they use more CPU time, so that no waiting explains it. A slow CPU still may.
    """
    gain_s, share = gain.seconds, gain.share
    if facts.pattern is Pattern.ALTERNATING or facts.equal_samples is False:
        return None
    if not is_sure and _is_of_host(results, facts, more):
        return Doubt.HOST
    waited_s = least_waited_s(results)
    if _is_slowed(results, facts, more) and gain_s <= waited_s and not is_sure:
        return Doubt.WAITED
    if facts.prediction and facts.prediction.reach >= STEADY_REACH:
        return None  # chance meets others, too
    is_little = share < thresholds.FAIL_SHARE or gain_s <= CHANCE_PART * waited_s
    if gain_s <= waited_s and is_little and not is_sure:
        return Doubt.WAITED
    if share >= thresholds.CHANCE_SHARE:
        return None
    is_slow = facts.everywhere or _is_spread(facts)
    if is_slow and share <= _used_by_others(results, facts):
        return Doubt.DISTURBED
    return Doubt.LASTING if persists(facts.persistence) else None


def _is_slowed(results: Results, facts: ImbalanceFacts, more: _MoreWork | None) -> bool:
    """Whether as many samples, on the same CPUs, take some ranks more CPU time, but not so much.

    So it is where a CPU is slow while they have it, for as long as the run lasts. Who sleeps needs
    no more CPU time, and who has more to do needs as much more as it takes longer.
    """
    is_some = more is not None and more.least > 0
    return is_some and facts.equal_samples is True and share_cpus(results, facts.ranks)


def _is_spread(facts: ImbalanceFacts) -> bool:
    """Whether ranks work longer in several functions, and in none for most of it."""
    more_s = [one.seconds for one in facts.excess if one.seconds > 0]
    return 0 < max(more_s, default=0.0) <= MAIN * sum(more_s)


def _used_by_others(results: Results, facts: ImbalanceFacts) -> float:
    """The share of the CPUs of ranks that work longer that others used; 0 unknown."""
    return max(
        (
            (one.others_cpus or 0.0) / max(one.cpus, 1)
            for one in results.resources.cpu_waits
            if one.rank in facts.overloaded
        ),
        default=0.0,
    )


def _gain(results: Results, facts: ImbalanceFacts) -> Gain:
    """What even work saves; a bound where the replay takes ordinary spread away, too."""
    prediction = facts.prediction
    found = saved(results, facts.bound_s, edits=facts.edits)
    if prediction is not None:
        found = replayed(results, prediction, facts.edits)
        found = as_bare_bound(found) if facts.is_bound else found
    return replace(at_most_waited(results, found), is_once=facts.is_single)


def _less(
    results: Results, facts: ImbalanceFacts, whole: Gain, on_equal_cpus: Prediction | None
) -> Gain:
    """The part of a gain that is not due to one rank waiting for CPUs longer than the others."""
    if on_equal_cpus is None or on_equal_cpus.gain_s >= whole.seconds:
        return whole
    less = replayed(results, on_equal_cpus, facts.edits)
    return replace(less, is_once=facts.is_single, is_on_equal_cpus=True)


def _status(facts: ImbalanceFacts, gain: Gain, *, is_explained: bool) -> Status:
    status, gain_s, share = thresholds.by_gain(gain), gain.seconds, gain.share
    if facts.is_single:
        return thresholds.unless_once(status, gain_s, share)
    if facts.pattern is Pattern.ALTERNATING and facts.is_bound:
        # chance: no change takes it away, and step times of a busy machine vary by themselves
        if share >= SPREAD_WARN_SHARE:
            return Status.WARN
        return Status.INFO if share >= thresholds.FAIL_SHARE_UPPER_BOUND else Status.PASS
    # ranks that wait for CPUs are late by chance: the cause is another finding's
    return Status.WARN if is_explained and status is Status.FAIL else status


def spent(facts: ImbalanceFacts) -> Spent | None:
    """How much less the late rank has to do, as the action tells it; None of several ranks."""
    more_s = facts.excess[0].seconds if facts.excess and not facts.everywhere else 0.0
    if more_s <= 0 or len(facts.overloaded) > 1:
        return None
    if not facts.is_split:
        return Spent(more_s, lead="of difference", is_gone=True)
    lead = f"of work that an even split takes off rank {facts.overloaded[0]}"
    return Spent(more_s * (1 - 1 / len(facts.ranks)), lead=lead, is_gone=True)


def _window(results: Results, facts: ImbalanceFacts) -> tuple[float, float] | None:
    """From the first to the last time that others waited for the overloaded ranks."""
    late = [a for a in results.communication.late_arrivals if a.rank in facts.overloaded]
    if not late:
        return None
    return (min(a.first_s for a in late), max(a.last_s for a in late))
