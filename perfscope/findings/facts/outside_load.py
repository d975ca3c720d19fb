"""What other work on the host explains of the seconds that findings claim.

While processes outside the job have the CPUs of a rank, all that it does takes longer: its code,
its transfers, the waiting for it. A change of the program gives back what the program does of that,
and a quiet host the rest. So what findings claim is priced on CPUs that nobody else uses, and
savings do not hold what the host costs as well.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import cache

from perfscope.findings.core import thresholds
from perfscope.findings.core.finding import Finding, Gain
from perfscope.findings.facts.cpu_contention import told_only
from perfscope.judging import MAIN, MOST_LOST
from perfscope.metrics.host.run_queue import others_share_in
from perfscope.metrics.results import Results
from perfscope.replay.model import Edit, Prediction, RefusedEditError
from perfscope.replay.replay import Replay
from perfscope.savings import SHARED_HOST
from perfscope.schema.enums import Account, Activity, Confidence, NoInterval, Status
from perfscope.structures import dataclass
from perfscope.units import NS

MOSTLY = "Most of these seconds are explained by processes outside the job."
PARTLY = "A part of these seconds is explained by processes outside the job."
NOTE = "Seconds in this text are as measured, with other load on the host."
WANTS_NO_CPU = (Activity.SLEEP, Activity.NETWORK)
"""What takes as long however busy the host is."""

SAME = "is the same with and without other load on the host"


@dataclass(frozen=True)
class OutsideLoad:
    """What takes the load of others away; no edits where it is not worth telling."""

    edits: tuple[Edit, ...] = ()
    shares: Mapping[int, float] = field(default_factory=dict)
    """Of each rank's work, that others held it up for."""
    left_s: float = 0.0  # of the analyzed window, on a host without them
    had: float = 1.0  # of their work, the part in which ranks have a CPU
    met: float = 1.0  # of what they wait for each other, the part in which both have one
    share_in: Callable[[int, Account], float] | None = None  # of a rank's work in an account

    def on_free_cpus(self, edits: Sequence[Edit]) -> tuple[Edit, ...]:
        """Edits of the run as those of the run on CPUs of its own.

        What is known in seconds of CPU time, as page faults are, is a larger share of less work;
        what is known by its place in the program becomes shorter with all else.
        """
        return tuple(
            own for one in edits for own in (self._freed(one) if one.is_cpu_time else (one,))
        )

    def before(self, edits: Sequence[Edit]) -> tuple[Edit, ...]:
        """What frees the CPUs for a question about these edits.

        In an account of work a rank may wait for CPUs for another share than in all that it does:
        for a smaller one where it sleeps or reads. Where each piece of work is freed of its own
        waiting, that is so already.
        """
        if any(one.waits_for_cpu for one in self.edits):
            return self.edits
        accounts = dict.fromkeys(one.account for one in edits if one.account is not None)
        exact = [self._own(rank, one) for one in accounts for rank in self.shares]
        return (*self.edits, *(one for one in exact if one.factor != 1.0))

    def _own(self, rank: int, account: Account) -> Edit:
        share = min(self.shares.get(rank, 0.0), MOST_LOST)
        own = share if self.share_in is None else min(self.share_in(rank, account), MOST_LOST)
        return Edit(account=account, ranks=(rank,), factor=(1.0 - own) / (1.0 - share))

    def _freed(self, edit: Edit) -> Iterator[Edit]:
        """What is measured in CPU time, for each rank, which waits for a share of its own."""
        for rank in edit.ranks or self.shares:
            free = 1.0 - min(self.shares.get(rank, 0.0), MOST_LOST)
            left = max(1.0 - (1.0 - edit.factor) / free, 1.0 - MOST_LOST)
            yield replace(edit, ranks=(rank,), factor=left)


@dataclass(frozen=True)
class OnFreeCpus:
    """What changes save on CPUs that nobody else uses; as in the run where nobody does.

    Whatever asks is told the same: what wants no CPU takes as long there as in the run.
    """

    load: OutsideLoad
    replay: Replay

    def predict(self, edits: Sequence[Edit], *, after: Sequence[Edit] = ()) -> Prediction | None:
        """What the edits save beyond `after`; None when the run cannot be replayed.

        Raises:
            RefusedEditError: the run does not hold what an edit needs.
        """
        if not self.load.edits or _wants_no_cpu(edits):
            return self.replay.predict(edits, after=after)
        before = (*self.load.before([*after, *edits]), *self.load.on_free_cpus(after))
        return self.replay.predict(self.load.on_free_cpus(edits), after=before)


def _wants_no_cpu(edits: Sequence[Edit]) -> bool:
    return bool(edits) and all(edit.activity in WANTS_NO_CPU for edit in edits)


def outside_load(results: Results, gain: Gain | None) -> OutsideLoad:
    """That of a run; `gain` is what the run would save without it."""
    if gain is None or not gain.edits or not thresholds.of_host(gain).is_fault:
        return OutsideLoad()
    waits = results.resources.cpu_waits
    theirs = [one.part(is_of_others=True) for one in waits]
    shares = {one.rank: one.in_work_share for one in theirs}
    whole_s = sum(one.work_s + one.transfer_s for one in waits)
    lost = sum(one.lost_s for one in theirs) / whole_s if whole_s > 0 else 0.0
    left_s = results.focus.length_ns * NS - gain.seconds
    had = 1.0 - sum(shares.values()) / max(len(shares), 1)
    met = (1.0 - lost) ** 2
    return OutsideLoad(gain.edits, shares, left_s, had, met, _by_account(results))


def _by_account(results: Results) -> Callable[[int, Account], float]:
    """Tells of a rank's work in an account the share that others held it up for."""
    waits = {one.rank: one for one in results.resources.cpu_waits}
    pairs = zip(results.trace.ranks, results.timelines, strict=True)
    known = {rank.number: (rank, timeline) for rank, timeline in pairs}

    @cache
    def share_in(number: int, account: Account) -> float:
        return others_share_in(account, waits[number], *known[number], results.focus)

    return share_in


def without_outside_load(
    asked: OnFreeCpus, findings: Sequence[Finding], of_waiting: Collection[str] = ()
) -> tuple[Finding, ...]:
    """The findings, with what their changes save on CPUs that nobody else uses.

    A finding stays as loud as its share of the run would be there, and is only told of where that
    is too little, or what its first action saves is little of the run as it was: how much of it is
    left there is known the less, the less that is. What is priced so already stays.
    """
    if not asked.load.edits:
        return tuple(findings)
    return tuple(
        _priced(asked, one, is_of_waiting=one.id in of_waiting)
        if one.status.is_fault and one.gain is not None and one.gain.under_load_s is None
        else one
        for one in findings
    )


def of_any_run(load: OutsideLoad, finding: Finding) -> Finding:
    """The finding with what can be promised of it where others use the CPUs as well.

    What steps of this run tell of each other says nothing of the load that the next one meets. So a
    saving there is told without it and with as much of it as this run had, and has no interval.
    """
    if not load.edits:
        return finding
    gain, first, is_asked = finding.gain, finding.first, finding.status.is_fault
    return replace(
        finding,
        gain=gain and _of_any_run(gain, is_asked=is_asked),
        first=first and _of_any_run(first, is_asked=is_asked),
    )


def _of_any_run(gain: Gain, *, is_asked: bool) -> Gain:
    """The gain without an interval; what no load changes is said to be the same where asked."""
    if gain.interval_s is None or gain.is_by_assumption:
        return gain
    return replace(
        gain,
        counts=gain.counts or (SAME if is_asked and _wants_no_cpu(gain.edits) else ""),
        interval_s=None,
        no_interval=NoInterval.LOAD,
        assumptions=(*gain.assumptions, SHARED_HOST),
    )


def _priced(asked: OnFreeCpus, finding: Finding, *, is_of_waiting: bool) -> Finding:
    before = finding.gain
    assert before is not None
    part = asked.load.met if is_of_waiting else asked.load.had
    gain = _on_free_cpus(asked, before, part)
    if gain is before:
        return finding
    first = None if finding.first is None else _on_free_cpus(asked, finding.first, part)
    found = replace(finding, gain=gain, first=first, summary=f"{finding.summary} {NOTE}")
    there = _there(asked.load, gain, before.seconds)
    status = thresholds.unless_chance(thresholds.deserved(there), there)
    saving, is_sure = found.recommended, finding.confidence is not Confidence.LOW
    least = thresholds.WARN_SHARE if is_sure else thresholds.FAIL_SHARE
    if not status.is_fault or (saving and saving.share < least):
        explained = MOSTLY if gain.seconds < MAIN * before.seconds else PARTLY
        said = f"{finding.summary} {explained}"
        return told_only(replace(found, status=Status.INFO, summary=said))
    return replace(found, status=max(finding.status, status, key=lambda one: one.order))


def _there(load: OutsideLoad, gain: Gain, measured_s: float) -> Gain:
    """The gain, as long as it was measured, with the share that it has of the run on such CPUs."""
    share = min(gain.seconds / load.left_s, 1.0) if load.left_s > 0 else gain.share
    return replace(gain, seconds=measured_s, share=share)


def _on_free_cpus(asked: OnFreeCpus, gain: Gain, usual: float) -> Gain:
    """The gain, less by what it is less on such CPUs; of what was not replayed a part is left.

    What is known to be the same with and without other load stays.

    Of a gain without what late ranks wait longer for CPUs, a part as large as of one with that
    would take the same waiting off twice.
    """
    if gain.seconds <= 0 or gain.is_of_run or gain.under_load_s is not None:
        return gain
    here_s, part = gain.seconds, usual
    if gain.edits:
        found = _replayed(asked, gain.edits)
        if found is None:
            return gain
        here_s = found[0] if gain.is_on_equal_cpus else here_s
        part = found[1] / (gain.seconds if gain.is_on_equal_cpus else found[0])
    if part >= 1.0:
        return gain
    interval, once_s = gain.interval_s, gain.once_s
    return replace(
        gain.of(part * gain.seconds),
        interval_s=interval and (part * interval[0], part * interval[1]),
        once_s=None if once_s is None else part * once_s,
        under_load_s=max(here_s, gain.seconds),
    )


def _replayed(asked: OnFreeCpus, edits: Sequence[Edit]) -> tuple[float, float] | None:
    """What edits save here and there; None where nobody knows."""
    try:
        here, there = asked.replay.predict(edits), asked.predict(edits)
    except RefusedEditError:
        return None
    if here is None or there is None or here.gain_s <= 0:
        return None
    return here.gain_s, max(there.gain_s, 0.0)
