"""Ranks that always have more to do than others between the same two collectives."""

from dataclasses import replace
from statistics import mean, median

from perfscope.findings.core import thresholds, wording
from perfscope.findings.core.diagnosis import Diagnosis, Outcome
from perfscope.findings.core.finding import Evidence, Finding, passed
from perfscope.findings.core.gain import at_most_waited, replayed, saved
from perfscope.findings.facts.facts import Facts
from perfscope.findings.facts.handed_out import hands_out, pieces_handed_out
from perfscope.findings.facts.imbalance_facts import DIVIDE_ANEW, ImbalanceFacts, Pattern
from perfscope.findings.facts.imbalance_judgment import OVERLAPS, REFERENCES, Judgment, unable
from perfscope.findings.facts.imbalance_words import (
    SPLIT,
    excess_evidence,
    inflected,
    is_alone,
    less_work,
    others,
    place,
    spends,
    spends_more,
    unseen,
    waiting,
    why_differs,
)
from perfscope.findings.facts.uneven_work import input_wait_s
from perfscope.judging import ALONE
from perfscope.metrics.host.samples import samples_by_rank
from perfscope.metrics.results import Results
from perfscope.replay.model import Edit, Level
from perfscope.replay.replay import Replay
from perfscope.schema.enums import Account, Confidence, Status
from perfscope.trace.model import Frame
from perfscope.trace.splits import split_of
from perfscope.units import NS, capitalized, format_count, format_seconds, format_share

LITTLE_BY_ITSELF = "Evening out the work of the ranks saves little by itself"
"""How much they work differs, but they wait for each other's results, by turns or for another rank.
"""

REPORT_SAMPLES = (
    "Report the samples of each step with perfscope.step(samples=...): that tells extra work from "
    "slow execution."
)


def judge(run: Facts) -> Outcome:
    """Whether always the same ranks have more to do, and what that costs."""
    results, replay = run.results, run.replay
    found = run.imbalance_judgment
    if found.status is Status.PASS or found.facts.pattern is not Pattern.CONSTANT:
        uneven = _uneven_input(results, replay) if found.status is Status.PASS else None
        return uneven or _passed(results, found)
    is_dealt = hands_out(results, found.facts)
    pieces = pieces_handed_out(results, found.facts)
    own, split = _actions(results, found, is_dealt=is_dealt)
    if pieces:
        own, split = _smaller(found.facts, pieces), None
    finding = found.finding(
        results,
        title=_behind(found.facts) if pieces else _title(found.facts, is_dealt=is_dealt),
        summary=_summary(found),
        evidence=_evidence(found.facts),
        actions=own,
    )
    is_first = finding.actions[:1] == own[:1]
    return replace(finding, set_at=split if is_first else None)


def _uneven_input(results: Results, replay: Replay) -> Finding | None:
    """The others wait for a rank that waits for its input: named, but not to be balanced."""
    waited = input_wait_s(results)
    rank = max(waited, key=lambda number: waited[number])
    level = Edit(Account.INPUT_WAIT, (rank,), level=Level.AS_OTHERS)
    prediction = replay.predict([level])
    more_s = waited[rank] - min(waited.values())
    share = prediction.gain_share if prediction else more_s / (results.focus.length_ns * NS)
    if share < thresholds.FAIL_SHARE:
        return None
    return Finding(
        status=Status.INFO,
        title=f"The other ranks wait for rank {rank}, which waits for its input",
        summary=(
            f"Rank {rank} waits {format_seconds(waited[rank])} for its next batch, "
            f"{format_seconds(more_s)} more than the rank that waits least. Waiting for input is "
            "no work that could be dealt out, and how much faster input would save depends "
            "on the input queues of all ranks: no seconds are claimed."
        ),
        confidence=Confidence.MEDIUM,
        ranks=(rank,),
        evidence=tuple(
            Evidence(f"Input wait of rank {number}", seconds, "s", "0")
            for number, seconds in sorted(waited.items(), key=lambda item: -item[1])[:4]
        ),
    )


def _passed(results: Results, found: Judgment) -> Outcome:
    facts = found.facts
    even = facts.evenly
    gain = replayed(results, even, ()) if even else saved(results, facts.constant_s)
    gain = at_most_waited(results, gain)
    # as much would be a claim: it is another finding's, or may be chance
    is_claim = gain.share < thresholds.WARN_SHARE
    text = f"The load balance of shared work is {facts.load_balance:.3f}"
    if facts.pattern is Pattern.STRAGGLER and found.status is not Status.PASS:
        slow = f"{wording.ranks(facts.overloaded)} {inflected(facts, 'take')}"
        return passed(f"{text}: {slow} longer for the same work.", Confidence.MEDIUM)
    is_even = facts.load_balance > ALONE
    return Finding(
        status=Status.PASS,
        title="The ranks work about equally long" if is_even else LITTLE_BY_ITSELF,
        summary=f"{text}; work spread evenly would save {_nothing_or(results, gain.seconds)}.",
        gain=gain if is_claim else None,
        confidence=Confidence.HIGH if facts.evenly else Confidence.MEDIUM,
        evidence=_evidence(facts),
        overlaps=OVERLAPS,
    )


def _nothing_or(results: Results, seconds: float) -> str:
    """What is saved; a replay may also tell that the run would be longer."""
    return wording.saving(results, seconds) if seconds > 0 else "nothing"


def _title(facts: ImbalanceFacts, *, is_dealt: bool) -> str:
    who, once = wording.ranks(facts.overloaded), " once" if facts.is_single else ""
    if is_dealt:
        return capitalized(f"{others(facts)} hands out the work of {who}{place(facts)}, and waits")
    if facts.is_shifting:
        return f"Work{place(facts)} shifts to {who} during the run while {waiting(facts)}"
    if is_alone(facts) and len(facts.overloaded) == 1 and not facts.excess[0].phase:
        told = f"{who}{once} works alone{place(facts)} while {waiting(facts)}"
        return capitalized(told)
    return capitalized(
        f"{who}{once} {inflected(facts, 'work')} longer than {others(facts)}{place(facts)} while "
        f"{waiting(facts)}"
    )


def _behind(facts: ImbalanceFacts) -> str:
    """That the manager of a pool is busier than its workers, who wait for it."""
    who, rest = wording.ranks(facts.overloaded), wording.ranks(facts.others)
    return capitalized(
        f"{who} works{place(facts)} while {rest}, which get their work from it, wait"
    )


def _smaller(facts: ImbalanceFacts, pieces: int) -> tuple[str, ...]:
    """What has a manager keep up: less of its time for each piece of work."""
    at, workers = facts.ranks.index(facts.overloaded[0]), len(facts.ranks) - 1
    own_s = facts.work_s[at] / pieces
    piece_s = (sum(facts.work_s) - facts.work_s[at]) / pieces
    who, rest = wording.ranks(facts.overloaded), wording.ranks(facts.others)
    where = place(facts).rstrip(",")
    told = (
        f"{format_count(pieces)} messages to them were recorded; for each {who} works "
        f"{format_seconds(own_s)} and a worker {format_seconds(piece_s)}, so that {workers} "
        f"workers can take one every {format_seconds(piece_s / workers)}"
    )
    advice = (
        f"Have {who} do less for each piece of work: hand out larger pieces (chunks, several tasks "
        f"at once), or have {rest} do a part of what it does{where}"
    )
    return (f"{advice}: {told}.",)


def _summary(found: Judgment) -> str:
    facts = found.facts
    extra = max(facts.work_s) - min(facts.work_s)
    cause = " Most of that is waiting for CPUs, not work." if found.is_explained else ""
    samples = {
        True: "All ranks process the same number of samples. ",
        False: "The ranks process different numbers of samples. ",
        None: "",
    }[facts.equal_samples]
    change = f"Working as fast as {others(facts)}"
    if facts.is_split:
        change = "Spreading the same work evenly"
    return (
        f"The most loaded rank works {format_seconds(extra)} longer than the least loaded; the "
        f"load balance of shared work is {facts.load_balance:.3f}.{cause} {samples}"
        f"{change} would save {found.cost}.{_instead(found)}"
    )


def _instead(found: Judgment) -> str:
    """What it is worth if the overloaded ranks need not work longer, where that is not known."""
    facts = found.facts
    if facts.as_others is None or found.doubt or facts.as_others.gain_s <= found.gain.seconds:
        return ""
    return (
        f" If {wording.ranks(facts.overloaded)} worked no longer than {others(facts)}, it would be "
        f"{format_seconds(facts.as_others.gain_s)}."
    )


def _evidence(facts: ImbalanceFacts) -> tuple[Evidence, ...]:
    rows = [
        Evidence("Load balance of shared work", facts.load_balance, "ratio", "near 1"),
        Evidence("Maximum minus mean computation", facts.constant_s, "s", "0"),
        *excess_evidence(facts),
    ]
    if facts.parts:
        who = wording.ranks(facts.overloaded)
        even = format_share(len(facts.overloaded) / len(facts.ranks))
        label = f"Of all work, that of {who}: by quarter of the run"
        rows.append(Evidence(label, ", ".join(map(format_share, facts.parts)), expected=even))
    if facts.evenly and not facts.is_shifting:  # sums over the run hide what shifts during it
        label = "Gain if all ranks had equally much work over the whole run"
        rows.append(Evidence(label, facts.evenly.gain_s, "s"))
    if facts.as_others:
        label = f"Gain if {wording.ranks(facts.overloaded)} worked as fast as {others(facts)}"
        rows.append(Evidence(label, facts.as_others.gain_s, "s"))
    return tuple(rows)


def _actions(
    results: Results, found: Judgment, *, is_dealt: bool
) -> tuple[tuple[str, ...], Frame | None]:
    """What to do, and the line of which the first of it says that it may set the split."""
    facts = found.facts
    who = wording.ranks(facts.overloaded)
    if told := _samples(results, facts):
        return (f"Distribute the samples evenly: {told}.",), None
    if facts.is_shifting:
        return (f"{DIVIDE_ANEW}: {_more(facts)}{why_differs(found)}",), None
    if is_dealt:
        spare = f"Have {others(facts)} do a part of the work as well, or give its CPU to another"
        told = f"{spare} rank: it only hands out what {who} do{place(facts)}.{why_differs(found)}"
        return (told,), None
    if is_alone(facts):
        split = SPLIT.format(place(facts).rstrip(","))
        return (f"{split}: {spends(facts)}.{why_differs(found)}",), None
    change, at = unseen(results, facts), None
    if not change:
        change, at = less_work(found, split_of(results.trace.ranks))
    actions = (
        f"{change}{why_differs(found)}",
        "If samples differ in cost, partition them by estimated cost, not by count.",
        *((REPORT_SAMPLES,) if facts.equal_samples is None else ()),
    )
    return actions, at


def _samples(results: Results, facts: ImbalanceFacts) -> str:
    """That the overloaded ranks process more samples, and how many; "" where it is not so."""
    counted = samples_by_rank(results.trace, results.focus)
    if facts.equal_samples is not False or counted is None:
        return ""
    counts = {rank.number: one for rank, one in zip(results.trace.ranks, counted, strict=True)}
    own = mean(counts[rank] for rank in facts.overloaded)
    usual = median([counts[rank] for rank in facts.others])
    each = " each" if len(facts.ranks) > 2 else ""
    who = f"{wording.ranks(facts.overloaded)} {inflected(facts, 'process')}"
    told = f"{who} {format_count(own)} of them, {others(facts)} {format_count(usual)}{each}"
    return told if own > usual else ""


def _more(facts: ImbalanceFacts) -> str:
    """How much more the overloaded ranks do, as the end of a sentence."""
    more_s = facts.excess[0].seconds if facts.excess else 0.0
    extra_s = more_s if more_s > 0 else max(facts.work_s) - min(facts.work_s)
    told = spends_more(facts, extra_s, place(facts))
    return f"{told}, and most of what it gained during the run the others lost."


DIAGNOSIS = Diagnosis(
    id="load_imbalance",
    title="Some ranks work longer than others",
    description=(
        "Compares the ranks' work between collectives; what one rank does alone, set-up and "
        "waiting for input are left out. The same ranks always work longer, and nothing shows "
        "that they are merely slower at the same work (that would be a straggler). Replays the "
        "run with equal work for all, or with the late ranks as fast as the others; the spread "
        "of step times is kept."
    ),
    judge=judge,
    needs=(unable,),
    passed="The ranks have equally much to do",
    subject="Load balance between ranks",
    evidence="work by rank and phase, samples by rank",
    gain_from=(
        "replay with even work (also where most ranks are overloaded), or with the ranks as "
        "fast as the others"
    ),
    counts_from=(
        f"what happened once and cost less than {thresholds.SINGLE_LEAST_S:g} s is reported "
        "(info) and not warned of; tasks without MPI that never communicate are not compared"
    ),
    rank=40,
    of_waiting=True,
    references=REFERENCES,
)
