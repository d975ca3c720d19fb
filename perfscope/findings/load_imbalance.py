"""Ranks that work longer than others between the same two collectives."""

from __future__ import annotations

from typing import TYPE_CHECKING

from perfscope.findings import thresholds, wording
from perfscope.findings.finding import Confidence, Diagnosis, Evidence, Finding, Status
from perfscope.findings.imbalance_facts import (
    Excess,
    ImbalanceFacts,
    Pattern,
    imbalance_facts,
)
from perfscope.findings.threads_over_cores import is_crowded
from perfscope.units import format_seconds, format_share

if TYPE_CHECKING:
    from perfscope.metrics.results import Results
    from perfscope.replay.model import Replay

ID = "load_imbalance"
SUBJECT = "Load balance between ranks"
TITLE = "Some ranks work longer than others"
DESCRIPTION = (
    "Compares the work of the ranks between collectives, what one rank does alone set aside: the "
    "same ranks slower in one phase, one rank slower in everything, or another rank each time. "
    "Replays the run with the late ranks as fast as the others, or with the work spread evenly."
)
REFERENCES = (
    (
        "POP Centre of Excellence, load balance and serialisation efficiency: "
        "https://co-design.pop-coe.eu/metrics/"
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
    status = _status(facts, gain_s / length_s, crowded=is_crowded(results))
    if status is Status.PASS:
        return _passed(facts, gain_s, length_s)
    top = facts.excess[0] if facts.excess else None
    return Finding(
        id=ID,
        status=status,
        title=_title(facts),
        summary=_summary(facts, gain_s, length_s),
        gain_s=gain_s,
        gain_interval_s=facts.prediction.interval_s if facts.prediction else None,
        gain_share=gain_s / length_s,
        gain_basis="replay" if facts.prediction else "upper_bound",
        confidence=_confidence(facts),
        ranks=facts.heavy,
        window_s=_window(results, facts),
        where=top.where if top else (),
        evidence=_evidence(facts),
        actions=_actions(facts),
        references=REFERENCES,
        overlaps=OVERLAPS,
        edits=facts.edits,
    )


def _status(facts: ImbalanceFacts, share: float, *, crowded: bool) -> Status:
    status = thresholds.judge(facts.prediction, share)
    if facts.pattern is not Pattern.ALTERNATING:
        return status
    if share < thresholds.JITTER_SHARE:
        return Status.PASS
    # ranks that wait for CPUs are late by chance: the cause is another finding's
    return Status.WARN if crowded and status is Status.FAIL else status


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
        gain_interval_s=facts.prediction.interval_s if facts.prediction else None,
        gain_share=gain_s / length_s,
        gain_basis="replay" if facts.prediction else "upper_bound",
        confidence=Confidence.HIGH if facts.prediction else Confidence.MEDIUM,
        evidence=_evidence(facts),
        overlaps=OVERLAPS,
        edits=facts.edits,
    )


def _confidence(facts: ImbalanceFacts) -> Confidence:
    if facts.prediction is None:
        return Confidence.LOW
    low, high = facts.prediction.interval_s
    is_narrow = high - low <= thresholds.NARROW_INTERVAL * facts.prediction.gain_s
    return Confidence.HIGH if is_narrow else Confidence.MEDIUM


def _title(facts: ImbalanceFacts) -> str:
    if facts.pattern is Pattern.ALTERNATING:
        return "In each step another rank is late: the work alternates between ranks"
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


def _summary(facts: ImbalanceFacts, gain_s: float, length_s: float) -> str:
    cost = f"{format_seconds(gain_s)} ({format_share(gain_s / length_s)})"
    if facts.pattern is Pattern.ALTERNATING:
        return (
            f"Added up, the ranks work equally long (load balance {facts.load_balance:.3f}), but "
            f"at each collective all wait for a different rank. {_change(facts)} would give back "
            f"{cost}."
        )
    extra = max(facts.work_s) - min(facts.work_s)
    samples = {
        True: "All ranks process equally many samples. ",
        False: "The ranks do not process equally many samples. ",
        None: "",
    }[facts.equal_samples]
    return (
        f"Between the rank that works longest and the one that works shortest lie "
        f"{format_seconds(extra)}; the load balance is {facts.load_balance:.3f}. {samples}"
        f"{_change(facts)} would give back {cost}."
    )


def _change(facts: ImbalanceFacts) -> str:
    if facts.edits[0].balance:
        return "Spreading the same work evenly"
    if facts.pattern is Pattern.ALTERNATING:
        return "Keeping every rank to the usual time of each step"
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
        found.append(Evidence("Gain if the same work were spread evenly", facts.evenly.gain_s, "s"))
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
    what = facts.excess[0].name if facts.excess else "this part"
    if facts.equal_samples is False:
        return ("Deal the samples out evenly: not every rank gets as many.",)
    return (
        (
            f"Find out what {who} does longer in {what}: its share of the data, or a branch that "
            "only it takes."
        ),
        "Deal out the work by cost and not by count if samples differ.",
    )


DIAGNOSIS = Diagnosis(id=ID, title=TITLE, description=DESCRIPTION, judge=judge)
