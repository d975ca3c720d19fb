"""Ranks that work longer than others between the same two collectives."""

from __future__ import annotations

from statistics import mean, median
from typing import TYPE_CHECKING

from perfscope.findings import thresholds, wording
from perfscope.findings.finding import Confidence, Diagnosis, Evidence, Finding, Status
from perfscope.findings.imbalance_facts import (
    Excess,
    ImbalanceFacts,
    Pattern,
    imbalance_facts,
    input_wait_s,
)
from perfscope.findings.threads_over_cores import waits_for_cpus
from perfscope.metrics.ledger import Account
from perfscope.replay.model import Edit, Level
from perfscope.units import format_seconds, format_share

if TYPE_CHECKING:
    from collections.abc import Mapping

    from perfscope.metrics.results import Results
    from perfscope.replay.model import Replay

ID = "load_imbalance"
SUBJECT = "Load balance between ranks"
TITLE = "Some ranks work longer than others"
DESCRIPTION = (
    "Compares the work of the ranks between collectives, what one rank does alone set aside: the "
    "same ranks slower in one phase, one rank slower in everything, or another rank each time. "
    "Replays the run with the late ranks as fast as the others, or with equally much work for all; "
    "step times keep the spread that they have. Waiting for input is not counted as work."
)
REFERENCES = (
    (
        "POP Centre of Excellence, load balance and serialisation efficiency: "
        "https://co-design.pop-coe.eu/metrics/"
    ),
)
CROWDED_ACTIONS = (
    (
        "Give the ranks CPUs of their own first: fewer threads in each rank, and no other "
        "processes on the same CPUs."
    ),
)
OVERLAPS = ("rank_zero_evaluation", "threads_over_cores")


def judge(results: Results, replay: Replay) -> Finding:
    """Whether the ranks' work is uneven, in which way, and what that costs."""
    if len(results.trace.ranks) < 2:
        return _quiet(Status.NOT_APPLICABLE, "The run has one rank: there is nothing to balance.")
    if not any(results.efficiency.outside_s):
        return _quiet(Status.NOT_MEASURED, "No work was recorded inside the focus of analysis.")
    facts = imbalance_facts(results, replay)
    length_s = results.focus.length_ns * 1e-9
    gain_s = facts.prediction.gain_s if facts.prediction else facts.constant_s
    crowded = waits_for_cpus(results) and _waits_explain(results, facts)
    status = _status(facts, gain_s, gain_s / length_s, crowded=crowded)
    if status is Status.PASS:
        return _uneven_input(results, replay) or _passed(facts, gain_s, length_s)
    top = facts.excess[0] if facts.excess else None
    return Finding(
        id=ID,
        status=status,
        title=_title(facts, crowded=crowded),
        summary=_summary(facts, gain_s, length_s, crowded=crowded),
        gain_s=gain_s,
        gain_interval_s=_interval(facts),
        gain_share=gain_s / length_s,
        gain_basis="replay" if _is_replayed(facts) else "upper_bound",
        confidence=_confidence(facts),
        ranks=facts.heavy,
        window_s=_window(results, facts),
        where=top.where if top else (),
        evidence=_evidence(facts),
        actions=(*CROWDED_ACTIONS, *_actions(facts)) if crowded else _actions(facts),
        references=REFERENCES,
        overlaps=OVERLAPS,
        edits=facts.edits,
    )


def _status(facts: ImbalanceFacts, gain_s: float, share: float, *, crowded: bool) -> Status:
    status = thresholds.judge(facts.prediction, share)
    if facts.is_single and status is Status.WARN and gain_s < thresholds.SINGLE_LEAST_S:
        return Status.INFO
    if facts.pattern is not Pattern.ALTERNATING:
        return Status.WARN if crowded and status is Status.FAIL else status
    spread = thresholds.JITTER_SHARE if crowded else thresholds.SPREAD_SHARE
    if facts.is_bound and share < spread:
        return Status.PASS
    # ranks that wait for CPUs are late by chance: the cause is another finding's
    return Status.WARN if crowded or facts.is_bound else status


def _interval(facts: ImbalanceFacts) -> tuple[float, float] | None:
    """Of the gain, where it is one that a fix can reach."""
    return facts.prediction.interval_s if facts.prediction and not facts.is_bound else None


def _is_replayed(facts: ImbalanceFacts) -> bool:
    """Whether the gain is one that a fix can reach, and not only a bound."""
    return facts.prediction is not None and not facts.is_bound


def _uneven_input(results: Results, replay: Replay) -> Finding | None:
    """The others wait for a rank that waits for its input: named, but not to be balanced."""
    waited = input_wait_s(results)
    rank = max(waited, key=lambda number: waited[number])
    length_s = results.focus.length_ns * 1e-9
    level = Edit(Account.INPUT_WAIT, (rank,), level=Level.AS_OTHERS)
    prediction = replay.predict([level])
    more_s = waited[rank] - min(waited.values())
    share = prediction.gain_share if prediction else more_s / length_s
    if share < thresholds.FAIL_SHARE:
        return None
    return Finding(
        id=ID,
        status=Status.INFO,
        title=f"The other ranks wait for rank {rank}, which waits for its input",
        summary=(
            f"Rank {rank} waits {format_seconds(waited[rank])} for its next batch, "
            f"{format_seconds(more_s)} more than the rank that waits least. Waiting for input is "
            "no work that could be dealt out, and how much faster input would give back depends "
            "on the input queues of all ranks: no seconds are claimed."
        ),
        confidence=Confidence.MEDIUM,
        ranks=(rank,),
        evidence=tuple(
            Evidence(f"Input wait of rank {number}", seconds, "s", "0")
            for number, seconds in sorted(waited.items(), key=lambda item: -item[1])[:4]
        ),
        references=REFERENCES,
    )


def _waits_explain(results: Results, facts: ImbalanceFacts) -> bool:
    """Whether waiting for CPUs makes ranks late: another each time, or those that wait more."""
    if facts.pattern is Pattern.ALTERNATING:
        return True
    queued = {rank.rank: rank.queue_delay_s for rank in results.resources.threads}
    work = dict(zip(facts.ranks, facts.work_s, strict=True))
    rest = [rank for rank in facts.ranks if rank not in facts.heavy]

    def more(seconds: Mapping[int, float]) -> float:
        usual = median(seconds.get(rank, 0.0) for rank in rest)
        return mean(seconds.get(rank, 0.0) for rank in facts.heavy) - usual

    return bool(rest) and more(queued) >= thresholds.QUEUED_SHARE * more(work)


def _quiet(status: Status, summary: str) -> Finding:
    return Finding(id=ID, status=status, title=SUBJECT, summary=summary, confidence=Confidence.HIGH)


def _passed(facts: ImbalanceFacts, gain_s: float, length_s: float) -> Finding:
    share = format_share(gain_s / length_s)
    aside = " apart from what one rank does alone" if facts.explained else ""
    return Finding(
        id=ID,
        status=Status.PASS,
        title="The ranks work about equally long",
        summary=f"The load balance{aside} is {facts.load_balance:.3f}; "
        f"a perfect one would give back {format_seconds(gain_s)} ({share}).",
        gain_s=gain_s,
        gain_interval_s=_interval(facts),
        gain_share=gain_s / length_s,
        gain_basis="replay" if _is_replayed(facts) else "upper_bound",
        confidence=Confidence.HIGH if facts.prediction else Confidence.MEDIUM,
        evidence=_evidence(facts),
        overlaps=OVERLAPS,
        edits=facts.edits,
    )


def _confidence(facts: ImbalanceFacts) -> Confidence:
    if facts.prediction is None or facts.is_bound:
        return Confidence.LOW
    low, high = facts.prediction.interval_s
    is_narrow = high - low <= thresholds.NARROW_INTERVAL * facts.prediction.gain_s
    return Confidence.HIGH if is_narrow else Confidence.MEDIUM


def _title(facts: ImbalanceFacts, *, crowded: bool) -> str:
    if facts.pattern is Pattern.ALTERNATING:
        if crowded:
            return "In each step another rank is late, because the ranks wait for CPUs"
        how = "varies from step to step" if facts.is_bound else "alternates between ranks"
        return f"In each step another rank is late: the work {how}"
    who = wording.ranks(facts.heavy)
    verb = "works" if len(facts.heavy) == 1 else "work"
    waiting = wording.others(len(facts.ranks) - len(facts.heavy))
    if facts.pattern is Pattern.STRAGGLER:
        be = "is" if len(facts.heavy) == 1 else "are"
        title = f"{who} {be} slower than {_others(facts)} in everything while {waiting}"
    else:
        once = " once" if facts.is_single else ""
        title = f"{who} {verb}{once} longer than {_others(facts)}{_place(facts)} while {waiting}"
    return wording.capitalised(title)


def _others(facts: ImbalanceFacts) -> str:
    """The ranks that work less, inside a sentence."""
    rest = [rank for rank in facts.ranks if rank not in facts.heavy]
    return wording.ranks(rest) if len(rest) == 1 else "the others"


def _place(facts: ImbalanceFacts) -> str:
    """In which phase or function the excess lies: ` in forward, compute() (train.py:12),`."""
    if not facts.excess or facts.excess[0].seconds <= 0:
        return ""
    top = facts.excess[0]
    where = wording.place(top.where[0]) if top.where else ""
    if not top.phase or not where:
        return f" in {where or top.name}"
    return f" in {top.name}, {where},"


def _summary(facts: ImbalanceFacts, gain_s: float, length_s: float, *, crowded: bool) -> str:
    cost = f"{format_seconds(gain_s)} ({format_share(gain_s / length_s)})"
    if facts.pattern is Pattern.ALTERNATING:
        cause = (
            " Their threads wait for CPUs, and which rank gets one late is chance."
            if crowded
            else ""
        )
        most = "at most " if facts.is_bound else ""
        return (
            f"Added up, the ranks work equally long (load balance {facts.load_balance:.3f}), but "
            f"at each collective all wait for a different rank.{cause} {_change(facts)} would "
            f"give back {most}{cost}."
        )
    extra = max(facts.work_s) - min(facts.work_s)
    cause = " Most of that is waiting for CPUs, not work." if crowded else ""
    samples = {
        True: "All ranks process equally many samples. ",
        False: "The ranks do not process equally many samples. ",
        None: "",
    }[facts.equal_samples]
    return (
        f"Between the rank that works longest and the one that works shortest lie "
        f"{format_seconds(extra)}; the load balance is {facts.load_balance:.3f}.{cause} {samples}"
        f"{_change(facts)} would give back {cost}."
    )


def _change(facts: ImbalanceFacts) -> str:
    if facts.is_bound:
        return "Equally much work for every rank in every single step"
    if facts.pattern is Pattern.ALTERNATING:
        return "Work that takes the usual time instead of far longer"
    if facts.edits[0].level is Level.EVEN:
        return "Spreading the same work evenly"
    return f"Working as fast as {_others(facts)}"


def _evidence(facts: ImbalanceFacts) -> tuple[Evidence, ...]:
    found = [
        Evidence("Load balance", facts.load_balance, "ratio", "above 0.95"),
        Evidence("Most work minus mean work", facts.constant_s, "s", "0"),
    ]
    for excess in facts.excess[:3]:
        if excess.seconds > 0:
            ratio = f" ({excess.ratio:.2f} x the others)" if excess.ratio else ""
            label = f"{_label(excess)}: more than the other ranks{ratio}"
            found.append(Evidence(label, excess.seconds, "s", "0"))
    if facts.evenly:
        label = "Gain if the ranks worked equally long, added up"
        found.append(Evidence(label, facts.evenly.gain_s, "s"))
    return tuple(found)


def _label(excess: Excess) -> str:
    return wording.capitalised(excess.name) if excess.phase else excess.name


def _window(results: Results, facts: ImbalanceFacts) -> tuple[float, float] | None:
    """From the first to the last time that others waited for the heavy ranks."""
    late = [a for a in results.communication.late_arrivals if a.rank in facts.heavy]
    if not late:
        return None
    return (min(a.first_s for a in late), max(a.last_s for a in late))


def _actions(facts: ImbalanceFacts) -> tuple[str, ...]:
    if facts.pattern is Pattern.ALTERNATING:
        return (
            (
                "Give all ranks batches of similar cost in the same step: group samples by length "
                "or size before they are dealt out."
            ),
            "Synchronise less often: accumulate gradients over several batches.",
        )
    who = wording.ranks(facts.heavy)
    if facts.pattern is Pattern.STRAGGLER:
        return (
            (
                f"Look at where {who} runs: CPU binding, clock, other processes on the same cores "
                "or node; run once more with it elsewhere."
            ),
            "If it stays with the rank and not with the node, compare what it is given to do.",
        )
    do = "does" if len(facts.heavy) == 1 else "do"
    what = facts.excess[0].name if facts.excess else "this part"
    if facts.equal_samples is False:
        return ("Deal the samples out evenly: not every rank gets as many.",)
    return (
        (
            f"Find out what {who} {do} longer in {what}: its share of the data, or a branch that "
            "only it takes."
        ),
        "Deal out the work by cost and not by count if samples differ.",
    )


DIAGNOSIS = Diagnosis(id=ID, title=TITLE, description=DESCRIPTION, judge=judge)
