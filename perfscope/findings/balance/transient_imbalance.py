"""Another rank is late each time: work that adds up evenly, and still makes all wait."""

from dataclasses import replace

from perfscope.findings.core import thresholds, wording
from perfscope.findings.core.diagnosis import Diagnosis, Outcome
from perfscope.findings.core.finding import Evidence, Finding, Gain, passed
from perfscope.findings.core.gain import as_bare_bound, at_most_waited, predicted_gain, replayed
from perfscope.findings.core.thresholds import FAIL_SHARE_UPPER_BOUND
from perfscope.findings.facts.facts import Facts
from perfscope.findings.facts.imbalance_facts import SHARED, Pattern
from perfscope.findings.facts.imbalance_judgment import (
    OVERLAPS,
    REFERENCES,
    SPREAD_WARN_SHARE,
    Judgment,
    unable,
)
from perfscope.findings.facts.moving_load import MovingLoad, moving_load
from perfscope.findings.facts.own_lateness import OwnLateness
from perfscope.metrics.results import Results
from perfscope.replay.model import Edit, Level
from perfscope.savings import SAME_FROM
from perfscope.schema.enums import Confidence, Status
from perfscope.units import NS, format_seconds, format_share

TITLE = "A different rank is late in each step"

ACTIONS = (
    (
        "Give all ranks batches of similar cost in the same step: group samples by length "
        "or size before they are dealt out."
    ),
    "Synchronize less often: accumulate gradients over several batches.",
)
WHY_LASTING = (
    ": its CPU is slow for a while, as others use it or its frequency is low, or its data stay "
    "costly."
)
LASTING_ACTIONS = (
    (
        "Give the ranks CPUs that nobody else uses, and that run at a fixed frequency (an "
        "exclusive node, the governor `performance`)."
    ),
    "Where samples are sorted by length or cost, shuffle them before they are dealt out.",
)


UNEVEN = "The ranks' work is uneven within each step"


def judge(run: Facts) -> Outcome:
    """Whether work alternates between the ranks, and what that costs."""
    results = run.results
    if moving := moving_load(results, run.frame_times):
        return _moves(run, moving)
    found = run.imbalance_judgment
    own = run.own_lateness
    if own is not None:
        return _of_own_work(run, found, own)
    if found.status is Status.PASS or found.facts.pattern is not Pattern.ALTERNATING:
        return passed(_passed(found), Confidence.MEDIUM)
    return found.finding(
        results,
        title=_title(found),
        summary=_summary(found) + _why_more(results, found),
        evidence=_evidence(results, found),
        actions=LASTING_ACTIONS if found.facts.lasts else ACTIONS,
    )


def _of_own_work(run: Facts, found: Judgment, own: OwnLateness) -> Outcome:
    """Work that differs between the ranks in each step, by their own CPU time."""
    results = run.results
    gain = as_bare_bound(replayed(results, own.prediction, (SHARED,)))
    gain = at_most_waited(results, gain.of(max(gain.seconds, own.least_s)))
    if run.on_free_cpus.load.edits:
        late_s = found.gain.seconds if found.is_explained else 0.0
        gain = replace(gain, under_load_s=max(late_s, gain.seconds))
    status = thresholds.unless_chance(thresholds.deserved(gain), gain)
    inside = f" in {wording.place(own.frame)}" if own.frame else ""
    cost = wording.saving(results, gain.seconds, is_bound=True)
    return Finding(
        status=status,
        title=f"{UNEVEN}{inside}, though equal in total{_sizes(own)}",
        summary=(
            "Added up, the ranks work equally long (load balance of shared work "
            f"{found.facts.load_balance:.3f}), but in each step one of them has more to do, by its "
            "own time without waiting for CPUs, and the others wait. Equally much work for every "
            f"rank in every single step would save {cost}.{_by_chance(results, found, gain)}"
        ),
        gain=gain,
        confidence=Confidence.MEDIUM,
        ranks=found.facts.ranks,
        where=tuple(frame for frame in (own.frame, own.caller) if frame is not None),
        evidence=_evidence(results, found),
        actions=ACTIONS,
        overlaps=OVERLAPS,
    )


def _by_chance(results: Results, found: Judgment, gain: Gain) -> str:
    """What of the lateness is waiting for CPUs, in a sentence; "" where that is little."""
    rest_s = found.gain.seconds - gain.seconds
    if not found.is_explained or rest_s < thresholds.WARN_SHARE * results.focus.length_ns * NS:
        return ""
    return (
        f" Up to another {format_seconds(rest_s)} comes from late ranks that wait for CPUs, which "
        "is chance."
    )


def _sizes(own: OwnLateness) -> str:
    """`: `tokens` has 256 to 4,096 elements`; "" where nothing was seen to differ."""
    one = own.operand
    return f": `{one.name}` has {one.fewest:,} to {one.elements:,} elements" if one else ""


def _moves(run: Facts, moving: MovingLoad) -> Outcome:
    """A load that the program moves itself, which no chance explains."""
    results, frame = run.results, moving.frame
    name, ranks = wording.called(frame), len(results.trace.ranks)
    edit = Edit(function=frame.key, level=Level.SHARED)
    waited_s = sum(results.communication.wait_s_by_rank) / ranks
    gain = predicted_gain(results, run.replay, [edit], bound_s=waited_s, is_planned=True)
    status = thresholds.unless_chance(thresholds.deserved(gain), gain)
    if not status.is_fault:
        cost = wording.saving(results, gain.seconds, is_bound=gain.is_bound)
        return passed(f"Work in {name} moves between the ranks, which costs {cost}.")
    both = moving.first_rank, moving.last_rank
    return Finding(
        status=status,
        title=f"The load in {name} moves from rank {both[0]} to rank {both[1]} during the run",
        summary=(
            f"All ranks together spend as much in {name} in the last quarter of the run as in the "
            f"first, but rank {both[0]} less and rank {both[1]} more, and the others wait. If "
            "it were shared equally in every step, the run would take "
            f"{wording.saving(results, gain.seconds, is_bound=gain.is_bound)} less."
        ),
        gain=gain,
        confidence=Confidence.MEDIUM,
        ranks=tuple(sorted(both)),
        where=(frame,),
        evidence=tuple(
            Evidence(f"Rank {number} in {name}, {when} quarter of the run", seconds, "s")
            for number in both
            for when, seconds in zip(("first", "last"), moving.seconds[number][::3], strict=True)
        ),
        actions=(
            (
                f"Rebalance the work of {name} as it moves, or deal it out in small pieces (to "
                f"each rank every {wording.ordinal(ranks)} item instead of one block), so that "
                "each has its share wherever the load is."
            ),
        ),
        overlaps=OVERLAPS,
    )


def _passed(found: Judgment) -> str:
    if found.facts.pattern is not Pattern.ALTERNATING:
        return "Where ranks wait, it is mostly for the same ones."
    return f"Step times that vary between the ranks cost at most {format_share(found.gain.share)}."


def _title(found: Judgment) -> str:
    if found.facts.lasts:
        why = ", because they wait for CPUs" if found.is_explained else ""
        return f"A different rank is late every few steps{why}"
    if found.is_explained:
        return f"{TITLE}, because the ranks wait for CPUs"
    how = "varies from step to step" if found.facts.is_bound else "alternates between ranks"
    return f"{TITLE}: the work {how}"


def _why_more(results: Results, found: Judgment) -> str:
    """Why more is saved than a rank waits; "" where it is not."""
    by_rank = results.communication.wait_s_by_rank
    if found.facts.is_bound or sum(by_rank) / len(by_rank) >= SAME_FROM * found.gain.seconds:
        return ""
    return " That is more than a rank waits, because the late rank's extra work goes, too."


def _summary(found: Judgment) -> str:
    facts = found.facts
    cause = (
        " Their threads wait for CPUs, and which rank gets one late is chance."
        if found.is_explained
        else ""
    )
    change = "Work that takes the usual time instead of far longer"
    if facts.is_bound:
        change = "Equally much work for every rank in every single step"
    who = "at each collective all wait for a different rank."
    if facts.lasts:
        who = (
            "they take turns waiting for one that is late for several steps in a row"
            f"{'.' if cause else WHY_LASTING}"
        )
    return (
        f"Added up, the ranks work equally long (load balance of shared work "
        f"{facts.load_balance:.3f}), but {who}{cause} {change} would save {found.cost}."
    )


def _evidence(results: Results, found: Judgment) -> tuple[Evidence, ...]:
    serialization = results.efficiency.serialization_efficiency.value
    rows = [Evidence("Load balance of shared work", found.facts.load_balance, "ratio", "near 1")]
    if serialization is not None:
        rows.append(Evidence("Serialization efficiency", serialization, "ratio", "near 1"))
    if persistence := found.facts.persistence:
        rows.append(Evidence("Lateness that lasts to the next step", persistence.value, "ratio"))
    times: dict[int, int] = {}
    for arrival in results.communication.late_arrivals:
        times[arrival.rank] = times.get(arrival.rank, 0) + arrival.instances
    often = sorted(times.items(), key=lambda item: (-item[1], item[0]))[:4]
    met = sum(times.values())
    rows += [
        Evidence(f"Rank {rank} was the last to come", f"{count:,} of {met:,} times")
        for rank, count in often
    ]
    return tuple(rows)


DIAGNOSIS = Diagnosis(
    id="transient_imbalance",
    title=TITLE,
    description=(
        "In total the ranks work equally long, and yet they wait, because in each step a "
        "different one works longer (a good load balance and a low serialization efficiency). "
        "If that is the ranks' own work and not waiting for CPUs, replays the run with each "
        "segment's work split equally and without that waiting: a bound. Otherwise replays it "
        "with work far beyond the usual taking the usual time; if step times merely vary, or "
        "the same rank is late for several steps in a row, only a bound is known: it is "
        "reported (info), and becomes a warning only when it is large."
    ),
    judge=judge,
    needs=(unable,),
    passed="The ranks do not take turns being late",
    subject="Ranks that take turns being late",
    evidence="work by rank, serialization efficiency, who came last how often",
    gain_from=(
        "what surely differs by the ranks' own CPU time, as a bound: a replay without waiting for "
        "CPUs in which the work between two meetings of the ranks is dealt out equally, and no "
        "more than they wait. Where nothing does, a replay in which work that takes far longer "
        "than usual takes the usual time; where step times just vary, or a late rank stays late "
        f"for several steps (autocorrelation of at least {thresholds.PERSISTENT:g} and two "
        "standard errors), an upper bound"
    ),
    counts_from=(
        f"these are reported (info) from {100 * FAIL_SHARE_UPPER_BOUND:g} % on and warned of from "
        f"{100 * SPREAD_WARN_SHARE:g} % on"
    ),
    rank=60,
    of_waiting=True,
    references=REFERENCES,
)
