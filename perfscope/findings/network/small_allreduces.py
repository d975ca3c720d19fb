"""Many small collectives where few large ones would do: latency that is paid again and again."""

from perfscope.findings.core.diagnosis import Diagnosis, Outcome
from perfscope.findings.core.finding import Evidence, Finding, Gain, passed
from perfscope.findings.core.gain import bound_s, saved
from perfscope.findings.core.wording import differs, exported
from perfscope.findings.facts import sampled_places
from perfscope.findings.facts.cpu_contention import told_only
from perfscope.findings.facts.device_facts import is_of_torch
from perfscope.findings.facts.facts import Facts
from perfscope.findings.facts.large_collectives import classes
from perfscope.findings.facts.network_facts import (
    CONTENDED,
    FUSED,
    Cause,
    NetworkFacts,
    confidence,
    told_steps,
    transfer_rows,
    unknown,
)
from perfscope.judging import MAIN, SMALL_BYTES
from perfscope.metrics.results import Results
from perfscope.replay.call_costs import is_estimated
from perfscope.replay.replay import Replay
from perfscope.schema.enums import Basis, Confidence, Status
from perfscope.units import counted, format_bytes, format_seconds, format_share


def judge(run: Facts) -> Outcome:
    """Whether small collectives make up most of the transfer, and what fusing them saves."""
    results, replay = run.results, run.replay
    facts = run.network
    status = facts.status_of(Cause.SMALL)
    if status is Status.PASS:
        return passed(_passed(facts), confidence(facts))
    fused_s = facts.gain_s(FUSED)
    gain_s = facts.claim_s(Cause.SMALL)
    found = facts.small
    gain = saved(
        results,
        gain_s,
        interval_s=_interval(results, replay) if fused_s else None,
        basis=Basis.REPLAY if fused_s else Basis.UPPER_BOUND,
        edits=(FUSED,) if fused_s else (),
    )
    estimates = bool(fused_s) and is_estimated(results)
    result = Finding(
        status=status,
        title=f"{found.calls:,} small collectives take {format_share(found.share)} of all transfer "
        f"time{sampled_places.calls(results, ', mainly in')}",
        summary=_summary(facts, gain_s, is_bound=not fused_s, estimates=estimates),
        gain=gain,
        confidence=confidence(facts) if fused_s and not estimates else Confidence.MEDIUM,
        where=sampled_places.frames(results.call_sites.transfer),
        evidence=_evidence(results, facts),
        ranks=tuple(rank.number for rank in results.trace.ranks),
        actions=_actions(results, facts, gain),
        overlaps=(Cause.BANDWIDTH.value,),
    )
    return told_only(result)


def _interval(results: Results, replay: Replay) -> tuple[float, float] | None:
    """Between what it saves, which is no more than all that a rank communicates."""
    found = replay.predict([FUSED])
    if found is None or found.interval_s is None:
        return None
    most_s = max(bound_s(results, [0.0] * len(results.trace.ranks)), found.gain_s)
    return found.interval_s[0], min(found.interval_s[1], most_s)


def _passed(facts: NetworkFacts) -> str:
    found = facts.small
    if not found.calls:
        return "No small collectives were seen."
    return (
        f"{counted(found.calls, 'collective')} below 64 KiB took {format_seconds(found.seconds)} "
        "of transfer in all: too little to tell, or with nothing beside them to be fused with."
    )


def _summary(facts: NetworkFacts, gain_s: float, *, is_bound: bool, estimates: bool) -> str:
    found = facts.small
    most = "at most " if is_bound else ""
    how = " (an estimate, as calls of one size tell no bandwidth)" if estimates else ""
    return (
        f"{counted(found.calls, 'call')} of about {format_bytes(found.size_bytes)} took "
        f"{format_seconds(found.seconds)}, nearly all of it latency. Combining them into fewer "
        f"calls would save {most}{format_seconds(gain_s)}{how}."
        f"{CONTENDED if facts.is_contended else ''}"
    )


def _evidence(results: Results, facts: NetworkFacts) -> tuple[Evidence, ...]:
    rows = [
        Evidence("Share of all transfer", facts.small.share, "ratio", "below 0.5"),
        Evidence("Small collectives", facts.small.calls),
    ]
    if steps := told_steps(results):
        rows.append(Evidence("Small collectives in each step", facts.small.calls / steps))
    cost = results.collective_cost
    if cost and cost.fusion:
        rows.append(
            Evidence(
                "Allreduces in quick succession",
                f"{counted(cost.fusion.calls, 'call')} in {counted(cost.fusion.groups, 'group')}",
            )
        )
        rows.append(Evidence("Of their time, latency", cost.fusion.latency_s, "s"))
    main = sorted(classes(results), key=lambda c: -c.seconds * c.calls)[:2]
    rows += [
        Evidence(
            f"{c.name} of about {format_bytes(c.size_bytes)}",
            f"{counted(c.calls, 'call')}, {format_seconds(c.seconds)} each",
        )
        for c in main
    ]
    return (*rows, *transfer_rows(results), *sampled_places.transfer_rows(results))


def _actions(results: Results, facts: NetworkFacts, gain: Gain) -> tuple[str, ...]:
    found = facts.small
    more = (
        " The saving is more than that, because ranks also wait for each other at these calls."
        if differs(found.seconds, gain) > 0
        else ""
    )
    if facts.is_contended:
        more += " Part of it may be that ranks wait for CPUs meanwhile."
    return (
        (
            f"Bucket small collectives: {found.calls:,} calls of about "
            f"{format_bytes(found.size_bytes)} take {format_seconds(found.seconds)} of each rank."
            f"{more} Copy what consecutive calls send, such as the gradient of each parameter, "
            f"into one buffer and send that.{_automatic(results)}"
        ),
        "Add up values that are only printed, and exchange them once in many steps.",
    )


def _automatic(results: Results) -> str:
    """How the framework of the job does it; "" of a job without one that does."""
    if results.horovod is not None:
        tuned = exported("HOROVOD_AUTOTUNE=1")
        return f" Horovod does that: {tuned} tunes its fusion threshold and cycle time."
    if is_of_torch(results):
        return " DistributedDataParallel does that for gradients (bucket_cap_mb)."
    return ""


DIAGNOSIS = Diagnosis(
    id=Cause.SMALL.value,
    title="Many small collectives take most of the transfer time",
    description=(
        "Where transfer matters and most of it goes into collectives below 64 KiB, several in "
        "each step or in quick succession, one for all of them saves their latency. Replays the "
        "run with allreduces in quick succession fused, by the latency and bandwidth fitted to "
        "it. Where all calls of an operation are within one power of two, on one host, what one "
        "for all takes is estimated, as latency and 1 GB/s: memory is assumed to carry the bytes "
        "at no less, also through sockets. Fewer calls take less time also where ranks wait for "
        "CPUs in them."
    ),
    judge=judge,
    needs=(unknown,),
    passed="Small collectives cost little time",
    evidence="calls, sizes, calls in each step, latency of groups, the functions that move data",
    gain_from="replay with allreduces in quick succession fused; else their time as a bound",
    counts_from=(
        f"what this gives back as `network_bound` at most, and {100 * MAIN:g} % of all "
        f"transfer in collectives below {format_bytes(SMALL_BYTES)}"
    ),
    rank=140,
    references=(
        (
            "Horovod, tensor fusion: "
            "https://horovod.readthedocs.io/en/stable/tensor-fusion_include.html"
        ),
        (
            "DistributedDataParallel, bucket_cap_mb: "
            "https://docs.pytorch.org/docs/stable/generated/torch.nn.parallel.DistributedDataParallel.html"
        ),
    ),
)
