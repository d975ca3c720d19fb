"""Too little computed between two exchanges: a batch that is too small for its communication."""

from perfscope.findings.core.diagnosis import Diagnosis, Outcome
from perfscope.findings.core.finding import Evidence, Finding, not_measured, passed
from perfscope.findings.core.gain import saved
from perfscope.findings.core.wording import of_window
from perfscope.findings.facts import sampled_places
from perfscope.findings.facts.cpu_contention import told_only
from perfscope.findings.facts.facts import Facts
from perfscope.findings.facts.network_facts import (
    CONTENDED,
    TWICE,
    Cause,
    NetworkFacts,
    confidence,
    samples_are_known,
    told_steps,
    transfer_rows,
    unknown,
)
from perfscope.judging import FAIR_BYTES_PER_S
from perfscope.metrics.results import Results
from perfscope.schema.enums import Basis, Status
from perfscope.units import capitalized, counted, format_seconds


def judge(run: Facts) -> Outcome:
    """Whether a larger batch of each rank would pay, and what it saves."""
    results, replay = run.results, run.replay
    facts = run.network
    status = facts.status_of(Cause.PER_STEP)
    if status is Status.PASS:
        return _passed(results, facts)
    gain_s = facts.gain_s(TWICE) or 0.5 * facts.whole.seconds
    found = replay.predict([TWICE]) if facts.gain_s(TWICE) else None
    steps = told_steps(results)
    batch = _batch(results)
    result = Finding(
        status=status,
        title=f"Each step moves data for {format_seconds(_transfer_s(results) / steps)} and "
        f"computes {format_seconds(_work_s(results) / steps)}",
        summary=(
            f"{capitalized(facts.whole.roughly)}{of_window(facts.whole.share)} is "
            "data being moved, at a bandwidth that is fair. A step of "
            f"{counted(round(batch), 'sample')} is too short for that: twice the batch "
            "on each rank, in half as many steps, would save "
            f"{facts.whole.roughly}{format_seconds(gain_s)}."
            f"{CONTENDED if facts.is_contended else ''}"
        ),
        gain=saved(
            results,
            gain_s,
            interval_s=found.interval_s if found else None,
            basis=Basis.REPLAY if found else Basis.UPPER_BOUND,
            edits=(TWICE,),
        ),
        confidence=confidence(facts),
        where=sampled_places.frames(results.call_sites.transfer),
        evidence=_evidence(results, facts, gain_s),
        actions=_actions(batch),
        overlaps=(Cause.BANDWIDTH.value,),
    )
    return told_only(result)


def _passed(results: Results, facts: NetworkFacts) -> Outcome:
    if facts.cause is Cause.BANDWIDTH and facts.status() is not Status.PASS:
        missing = _missing(results)
        if missing:
            return not_measured(f"{missing} with `with perfscope.step(samples=...):`.")
    text = f"Moving data takes {of_window(facts.whole.share)}."
    if facts.status() is not Status.PASS:
        text += " Its cause is another one."
    return passed(text, confidence(facts))


def _missing(results: Results) -> str:
    """What is not known of the steps, and how to begin to mend it; nothing where all is known."""
    if told_steps(results):
        known = samples_are_known(results)
        return "" if known else "Nothing tells the samples of a step: mark steps"
    if results.steps.count:
        untold = "" if samples_are_known(results) else ", and nothing tells their samples"
        return f"The steps are inferred{untold}: mark steps"
    return "No framework or mark tells the steps of the run: mark them"


def _batch(results: Results) -> float:
    """Samples of one rank in one step."""
    samples = results.steps.samples or 0
    return samples / max(1, results.steps.count) / max(1, len(results.trace.ranks))


def _transfer_s(results: Results) -> float:
    spent = results.communication.transfer_s_by_rank
    return sum(spent) / len(spent)


def _work_s(results: Results) -> float:
    spent = results.efficiency.outside_s
    return sum(spent) / len(spent)


def _evidence(results: Results, facts: NetworkFacts, gain_s: float) -> tuple[Evidence, ...]:
    steps = told_steps(results)
    work_s = _work_s(results)
    rows = [
        Evidence("Moving data in each step", _transfer_s(results) / steps, "s"),
        Evidence("Computing in each step", work_s / steps, "s"),
        Evidence("Samples of a rank in each step", _batch(results)),
        Evidence("Gain of twice the batch", gain_s, "s"),
        Evidence("Gain of four times the batch, about", 0.75 * facts.whole.seconds, "s"),
    ]
    if work_s > 0:
        ratio = _transfer_s(results) / work_s
        rows.insert(2, Evidence("Moving data over computing", ratio, "ratio", "below 0.1"))
    return (*rows, *transfer_rows(results))


def _actions(batch: float) -> tuple[str, ...]:
    return (
        (
            f"Give each rank more samples in a step, {2 * batch:.0f} instead of {batch:.0f}, as "
            "far as memory and convergence allow. The learning rate goes with the batch."
        ),
        (
            "Where the batch must stay: add up the gradients of several batches before they are "
            "exchanged (no_sync() of DistributedDataParallel, backward_passes_per_step of Horovod)."
        ),
        "Use fewer ranks: what is lost to communication grows with them.",
    )


DIAGNOSIS = Diagnosis(
    id=Cause.PER_STEP.value,
    title="Too much communication for what is computed in a step",
    description=(
        "Compares what a step moves with what it computes, where the network is as fast as "
        "ordinary ones are and steps and samples are known. As many samples in half as many steps "
        "move half as much: the run is replayed with half the transfer."
    ),
    judge=judge,
    needs=(unknown,),
    passed="The steps compute enough for what they communicate",
    evidence="moving and computing in each step, samples of a rank",
    gain_from="replay with half the transfer: twice the batch in half as many steps",
    counts_from=(
        f"as `network_bound`; large collectives must reach {FAIR_BYTES_PER_S / 1e9:g} GB/s on "
        "the bus"
    ),
    rank=160,
    references=(
        "Goyal and others, Accurate, Large Minibatch SGD: https://arxiv.org/abs/1706.02677",
    ),
)
