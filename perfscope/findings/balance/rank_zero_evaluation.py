"""Evaluation, prediction or checkpointing on one rank while the others wait for it."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from perfscope.attribution.stack_rules import EVALUATION_LIKE
from perfscope.findings.core import thresholds, wording
from perfscope.findings.core.diagnosis import Diagnosis, Outcome
from perfscope.findings.core.finding import (
    Evidence,
    Finding,
    Gain,
    Spent,
    not_measured,
    passed,
)
from perfscope.findings.core.gain import as_bare_bound, replayed, saved
from perfscope.findings.core.one_rank import alone
from perfscope.findings.facts import lock_holder
from perfscope.findings.facts.facts import Facts
from perfscope.findings.facts.serial_work import SerialWork
from perfscope.metrics.results import Results
from perfscope.replay.model import Edit, Level, Prediction
from perfscope.replay.replay import Replay
from perfscope.schema.enums import Account, Activity, Basis, Confidence, PhaseKind, Status
from perfscope.structures import dataclass
from perfscope.units import format_seconds, format_share

LITTLE = "What one rank does alone costs little"
OVERLAPS = ("load_imbalance",)
RARER = 2
WAYS = {
    Account.EVALUATION: ("evaluation", "Evaluate"),
    Account.USER_PHASES: ("what is computed for it", "Print progress"),
}


@dataclass(frozen=True)
class _Milder:
    """Seconds that each way to fix the most costly work saves."""

    whole_s: float  # nobody waits for it any more
    shared_s: float  # every rank does an equal part
    rarer_s: float  # every RARER-th time only
    is_bound: bool  # not replayed
    first: Gain  # of them: what the action named first saves

    def evidence(self, work: SerialWork) -> tuple[Evidence, ...]:
        """The two milder ones, as rows, where they are possible.

        What happens once cannot happen more rarely, and of what is read or written nothing can be
        left out.
        """
        most = ", at most" if self.is_bound else ""
        rarer = Evidence(f"Gain if done half as often{most}", self.rarer_s, "s")
        shared = Evidence(f"Gain if distributed over all ranks{most}", self.shared_s, "s")
        is_rarer = work.count != 1 and work.activity is not Activity.FILES
        can_be = (is_rarer, rarer), (not work.rests, shared)
        return tuple(row for is_possible, row in can_be if is_possible)


def judge(run: Facts) -> Outcome:
    """Whether one rank keeps the others waiting with work of its own, and what that costs."""
    results, replay = run.results, run.replay
    works = run.serial_work
    if not works:
        return _nothing_alone(results)
    edits, prediction = _replayed(replay, works)
    length_s = results.focus.length_ns * 1e-9
    bound_s = min(sum(w.stall_s for w in works), sum(w.seconds for w in works))
    main = works[0]
    is_planned = main.account is not Account.COMPUTATION
    gain = (
        replayed(results, prediction, edits, is_planned=is_planned)
        if prediction
        else saved(results, bound_s, edits=edits)
    )
    if main.account is Account.COMPUTATION:
        gain = _no_more(gain, sum(work.seconds for work in works))
    if all(work.count == 1 for work in works):
        gain = replace(gain, interval_s=None)  # no step tells what it would have cost by chance
    milder = _milder(main, results, replay, bound_s)
    status = thresholds.deserved(gain)
    if main.count == 1:
        status = thresholds.unless_once(status, gain.seconds, gain.share)
    return Finding(
        status=status,
        title=_title(main, results) if status.is_fault else LITTLE,
        summary=_summary(main, results, gain.seconds, status),
        gain=gain,
        confidence=_confidence(main, prediction),
        ranks=tuple(dict.fromkeys(work.rank for work in works)),
        window_s=main.window_s,
        where=main.where,
        evidence=(*_evidence(works, length_s), *milder.evidence(main)),
        actions=_actions(results, main, milder) if status.is_fault else (),
        overlaps=OVERLAPS,
        first=milder.first if status.is_fault else None,
    )


def _replayed(
    replay: Replay, works: Sequence[SerialWork]
) -> tuple[tuple[Edit, ...], Prediction | None]:
    """What takes the work away, and what a replay of that tells.

    Of unlabeled work all goes that the rank does beyond the others, also elsewhere. Where that is
    more than the work itself takes, it is only what samples saw in its function: what is claimed
    and what is replayed are the same, and other causes keep what is theirs.
    """
    edits = tuple(dict.fromkeys(work.edit for work in works))
    prediction = replay.predict(edits)
    is_more = prediction and prediction.gain_s > sum(work.seconds for work in works)
    if not is_more or works[0].account is not Account.COMPUTATION:
        return edits, prediction
    narrow = tuple(dict.fromkeys(work.narrow_edit for work in works))
    return narrow, replay.predict(narrow)


def _no_more(gain: Gain, most_s: float) -> Gain:
    """The gain, with no more than the work itself takes."""
    if gain.seconds <= most_s:
        return gain
    return replace(gain.of(most_s), interval_s=_part(gain.interval_s, most_s / gain.seconds))


def _part(interval: tuple[float, float] | None, part: float) -> tuple[float, float] | None:
    return None if interval is None else (part * interval[0], part * interval[1])


def _nothing_alone(results: Results) -> Outcome:
    evaluations = [phase for phase in results.phases if phase.kind is PhaseKind.EVALUATE]
    if evaluations:
        ranks = len(evaluations[0].entering_ranks)
        return passed(
            f"{ranks} of {len(results.trace.ranks)} ranks share the evaluation: "
            "no rank does it alone."
        )
    if not results.phases and not results.trace.has_stacks:
        return not_measured(wording.no_phases(results.trace, "evaluate", "*evaluate*"))
    least = format_share(thresholds.SERIAL_LEAST_SHARE)
    return passed(
        f"No rank spends more than {least} of the analyzed window in work that only it does."
    )


def _title(work: SerialWork, results: Results) -> str:
    where = wording.place(work.where[0]) if work.where else ""
    rest = [rank.number for rank in results.trace.ranks if rank.number != work.rank]
    waiting = wording.others(rest)
    return f"Rank {work.rank} {work.verb}{f' in {where}' if where else ''} while {waiting}"


def _summary(work: SerialWork, results: Results, gain_s: float, status: Status) -> str:
    often = frequency(work)
    only = "only " if status is Status.PASS else ""
    shares = wording.wholes(results).shares(gain_s)
    cost = f"Without that, the run would be {only}{format_seconds(gain_s)} shorter ({shares})."
    if format_seconds(gain_s) == format_seconds(0.0):
        cost = "Without that, the run would be no shorter."
    total = "" if work.count == 1 else f" ({format_seconds(work.seconds)} in total)"
    return f"Rank {work.rank} {work.verb} {often}{total}. {cost}"


def frequency(work: SerialWork) -> str:
    """How often and how long: `17 times, once every 50 steps, 1.2 s each`.

    Where one of the times is most of all of them, it is told beside the median.
    """
    parts = []
    if work.count:
        parts.append("once" if work.count == 1 else f"{work.count:,} times")
    if work.every_steps and work.count and work.count > 1:
        parts.append(
            "every step" if work.every_steps == 1 else f"once every {work.every_steps} steps"
        )
    if work.longest_s is not None and work.each_s is not None:
        parts.append(
            f"{format_seconds(work.longest_s)} the longest time and "
            f"{format_seconds(work.each_s)} the median one"
        )
    elif work.each_s:
        parts.append(f"{format_seconds(work.each_s)}{' each' if work.count != 1 else ''}")
    return ", ".join(parts) or "during the run"


def _confidence(work: SerialWork, prediction: Prediction | None) -> Confidence:
    if prediction is None:
        return Confidence.MEDIUM if work.where else Confidence.LOW
    by_samples = work.account is Account.COMPUTATION or work.source == EVALUATION_LIKE
    return Confidence.MEDIUM if by_samples else Confidence.HIGH


def _evidence(works: tuple[SerialWork, ...], length_s: float) -> tuple[Evidence, ...]:
    found = [
        Evidence("How often", frequency(works[0])),
        Evidence(
            "Waiting of the other ranks right after it, added up", works[0].waiting_s, "s", "0"
        ),
    ]
    for work in works:
        what = f"Rank {work.rank}, {work.label}"
        found.append(
            Evidence(f"{what}: work of this rank alone", work.seconds, "s", "shared by all ranks")
        )
    found.append(Evidence("Length of the analyzed window", length_s, "s"))
    return tuple(found)


def _milder(work: SerialWork, results: Results, replay: Replay, bound_s: float) -> _Milder:
    """Replays the milder changes; where that cannot be done, scales what the whole saves."""
    own, alone = _replayed(replay, [work])
    basis = Basis.REPLAY if alone else Basis.UPPER_BOUND
    whole_s = alone.gain_s if alone else min(bound_s, work.stall_s, work.seconds)
    if work.account is Account.COMPUTATION:
        whole_s = min(whole_s, work.seconds)
    kept = (work.count // RARER) / work.count if work.count else 1 / RARER
    shared_s, rarer_s = whole_s * (1 - 1 / len(results.trace.ranks)), whole_s * (1 - kept)
    interval_s = _interval_of(alone, work, shared_s)
    first = saved(results, shared_s, interval_s=interval_s, basis=basis, edits=own)
    off_s = work.seconds * (1 - 1 / len(results.trace.ranks))
    # unlabeled computation is mostly the rank's ordinary work: it is not to be dealt out
    if work.account is not Account.COMPUTATION:
        edit = replace(work.edit, ranks=None, level=Level.SHARED)
        shared = replay.predict([edit])
        rarer = replay.predict([replace(work.edit, keep_every=RARER)])
        shared_s = shared.gain_s if shared else shared_s
        rarer_s = rarer.gain_s if rarer else rarer_s
        interval_s = _interval_of(shared, work, shared_s)
        first = saved(results, shared_s, interval_s=interval_s, basis=basis, edits=(edit,))
    if work.rests:
        interval_s, off_s = _interval_of(alone, work, whole_s), work.seconds
        first = saved(results, whole_s, interval_s=interval_s, basis=basis, edits=own)
        first = as_bare_bound(first) if work.activity is Activity.FILES else first
    if work.account is Account.CHECKPOINT:
        interval_s, off_s = _interval_of(alone, work, whole_s), work.seconds
        first = saved(results, whole_s, interval_s=interval_s, basis=basis, edits=(work.edit,))
        if work.every_steps == 1:
            edit, off_s = replace(work.edit, keep_every=RARER), work.seconds * (1 - kept)
            first = saved(results, rarer_s, basis=basis, edits=(edit,))
    lead = f"of work that it takes off rank {work.rank}"
    first = replace(first, spent=Spent(off_s, lead=lead, is_gone=True))
    return _Milder(whole_s, shared_s, rarer_s, is_bound=alone is None, first=first)


def _interval_of(
    found: Prediction | None, work: SerialWork, seconds: float
) -> tuple[float, float] | None:
    """The interval of so much of what is predicted; None of what happened once, without spread."""
    if found is None or work.count == 1 or found.gain_s <= 0:
        return None
    return _part(found.interval_s, seconds / found.gain_s)


def _instead_of_waiting(results: Results, work: SerialWork, milder: _Milder) -> tuple[str, ...]:
    """What helps where a rank does nothing itself, and what each of it saves."""
    place = wording.called(work.where[0]) if work.where else f"{work.label}()"
    saving = partial(wording.saves, results, is_bound=milder.is_bound)
    saves = saving(milder.whole_s)
    if work.activity is Activity.LOCK:
        holder = lock_holder.holder_for(results, [work.rank])
        frame = work.where[0] if work.where else None
        return (
            lock_holder.action(holder, frame)
            if holder
            else f"Hold what {place} waits for only while it is needed{saves}.",
        )
    rarer = f"Run {place} half as often{saving(milder.rarer_s)}."
    if work.activity is Activity.FILES:
        return (
            (
                f"Let {place} collect what it writes or reads in several calls, and do that with "
                "one request: one write, one flush, or one commit for many rows."
            ),
            f"Have a background thread do what {place} does with files, and train on.",
            (
                f"Where each rank needs only a part of what {place} reads, have each read its own "
                f"part{saving(milder.shared_s)}."
            ),
        )
    return (
        f"Have a background thread wait in {place}, or begin it earlier, and train on{saves}.",
        *(() if work.count == 1 else (rarer,)),
    )


def _actions(results: Results, work: SerialWork, milder: _Milder) -> tuple[str, ...]:
    saves = partial(wording.saves, results, is_bound=milder.is_bound)
    is_once = work.count == 1
    if work.account is Account.CHECKPOINT:
        behind = (
            "Hand a copy to a background thread and train on, so that no rank waits for the file."
        )
        rarer = f"Save half as often{saves(milder.rarer_s)}."
        if work.every_steps == 1:
            rarer = f"Save less often than every step, for example once an epoch. {rarer}"
        both = (rarer, behind) if work.every_steps == 1 else (behind, rarer)
        return (
            *((behind,) if is_once else both),
            (
                "Let every rank write its own part of the model (sharded checkpoint)"
                f"{saves(milder.shared_s)}."
            ),
        )
    if work.rests:
        return _instead_of_waiting(results, work, milder)
    place = wording.called(work.where[0]) if work.where else f"{work.label}()"
    ways = WAYS if work.source != EVALUATION_LIKE else {}
    what, doing = ways.get(work.account, (f"the work in {place}", f"Run {place}"))
    reads = " that reads the checkpoints" if work.account is Account.EVALUATION else ""
    left_s = work.seconds / len(results.trace.ranks)
    return (
        (
            f"Split {what} across all ranks, give each rank part of the data, and combine the "
            f"results with one allreduce: each rank then spends {format_seconds(left_s)} on it, "
            f"where rank {work.rank} spends {format_seconds(work.seconds)}."
        ),
        *(() if is_once else (f"{doing} half as often{saves(milder.rarer_s)}.",)),
        (
            f"Move {what} to a separate process with CPUs of its own{reads}, so that no rank "
            f"waits{saves(milder.whole_s)}."
        ),
    )


DIAGNOSIS = Diagnosis(
    id="rank_zero_evaluation",
    title="One rank evaluates alone while the others wait",
    description=(
        "Looks for evaluation, prediction, checkpointing or an unlabeled function that one rank "
        "runs now and then by itself before a collective at which the others already wait, and "
        "replays the run without it."
    ),
    judge=judge,
    needs=(partial(alone, text="The run has a single rank: nobody waits for it."),),
    passed="No rank keeps the others waiting with work of its own",
    subject="Work that one rank does alone",
    evidence="times, seconds each, who waited",
    gain_from="replay without it, of work in no phase at most what it takes; shared; half as often",
    rank=20,
    of_waiting=True,
    references=(
        "POP Centre of Excellence, load balance efficiency: https://co-design.pop-coe.eu/metrics/",
    ),
)
