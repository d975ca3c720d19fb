"""Gradients that are exchanged while no rank computes: communication that nothing hides."""

from collections.abc import Sequence
from dataclasses import replace

from perfscope.findings.core import thresholds, wording
from perfscope.findings.core.diagnosis import Diagnosis, Outcome
from perfscope.findings.core.finding import Evidence, Finding, Gain, Quiet, not_measured, passed
from perfscope.findings.core.gain import as_bound, gain_of, saved
from perfscope.findings.core.wording import of_window
from perfscope.findings.facts import sampled_places
from perfscope.findings.facts.cpu_contention import told_only
from perfscope.findings.facts.facts import Facts
from perfscope.findings.facts.needless_exchange import (
    Needless,
    has_small_buckets,
    needless_exchange,
    needless_work,
    without,
)
from perfscope.findings.facts.network_facts import (
    CONTENDED,
    EXCHANGES,
    RECORD_HOROVOD,
    Cause,
    NetworkFacts,
    confidence,
    exchanges_on_hosts,
    halved,
    transfer_rows,
    unknown,
)
from perfscope.metrics.results import Results
from perfscope.schema.enums import Confidence, Status
from perfscope.trace.loops import innermost, loops_of
from perfscope.units import format_seconds

PROFILER = (
    "perfscope run --torch-profiler 20:30 keeps a trace of some steps, in which the exchanges "
    "stand beside the computation."
)

FOR_NOTHING = (
    "The saving counts the exchange and all of the backward pass, which is as needless where it "
    "only computes such gradients. "
)
NOT_UPDATED = (
    "The saving counts the exchange and that part of the optimizer's step, which walks through "
    "all rows. "
)


BESIDE = (
    "exchanges that are left out save their part of that, and what their copies and sums take of "
    "the CPUs beside the backward pass."
)


def judge(run: Facts) -> Outcome:
    """Whether an exchange of gradients could hide behind computation, and what that gives."""
    results = run.results
    facts = run.network
    needless = needless_exchange(results)
    status = facts.status_of(Cause.EXCHANGE)
    computed = needless_work(run, needless[0]) if needless else None
    if computed is not None:
        status = min(status, thresholds.deserved(computed), key=lambda one: one.order)
    if status is Status.PASS:
        text = f"Data transfer takes {of_window(facts.whole.share)}"
        text += "." if facts.status() is Status.PASS else ", for another reason."
        return passed(text, confidence(facts))
    is_counted = bool(needless) and needless[0].is_counted
    first = computed or _first(run, needless)
    if is_counted and thresholds.deserved(first).is_fault:
        status = thresholds.deserved(first)
    unhidden = f"Exchange of gradients that {_framework(results)} cannot hide is slowing the run"
    result = Finding(
        status=status,
        title=needless[0].title if needless else unhidden,
        summary=(
            f"{_beside(needless, computed)}"
            "When their last gradient is ready the ranks still need "
            f"{facts.whole.roughly}{format_seconds(facts.whole.seconds)} in all until the exchange "
            f"is over; {BESIDE if is_counted else 'no change saves all of that.'}"
            f"{sampled_places.waits(results)}"
            f"{CONTENDED if facts.is_contended else ''}"
        ),
        # no network needs no time
        gain=computed or as_bound(max(facts.whole, first, key=lambda one: one.seconds)),
        confidence=_confidence(facts, is_counted=is_counted),
        ranks=tuple(rank.number for rank in results.trace.ranks) if needless else (),
        where=sampled_places.frames(results.call_sites.transfer),
        is_elsewhere=bool(needless),
        evidence=(*(one.evidence for one in needless), *_evidence(results)),
        first=first,
        actions=(*(one.action for one in needless), *_actions(results)),
        overlaps=(Cause.BANDWIDTH.value,),
    )
    return told_only(_in_loop(results, result) if is_counted else result)


def _in_loop(results: Results, found: Finding) -> Finding:
    """The finding with the loop around the line in which gradients are exchanged, to be changed.

    As it is where that line stands in no loop of its own function.
    """
    frame = found.where[0] if found.where else None
    lines = frame and innermost(loops_of(results.trace.ranks).get(frame.key, ()), frame.line)
    if not frame or not lines or lines[0] == frame.line:
        return found
    return replace(found, set_at=replace(frame, line=lines[0]), is_loop=True)


def _beside(needless: Sequence[Needless], computed: Gain | None) -> str:
    """What the saving counts beside the exchange; "" where nothing."""
    if computed is None:
        return ""
    return FOR_NOTHING if needless[0].is_computed else NOT_UPDATED


def _confidence(facts: NetworkFacts, *, is_counted: bool) -> Confidence:
    """How sure the cause is: where ranks wait for CPUs, an exchange may only seem exposed.

    That exchanges are made for nothing is counted, whatever they take.
    """
    if is_counted:
        return Confidence.HIGH
    return Confidence.LOW if facts.is_contended else Confidence.MEDIUM


def _first(run: Facts, needless: Sequence[Needless]) -> Gain:
    """What an exchange without what nothing uses, or else of half as many bytes, saves at most.

    Exchanges that are not made at all save what a replay without them tells.
    """
    if not needless:
        return halved(run.results, run.network)
    edit, share = needless[0].edit, needless[0].share
    if needless[0].is_counted and (gain := without(run, needless[0])):
        return gain
    seconds = gain_of(run.replay, edit)
    if seconds is None:
        return saved(run.results, share * run.network.whole.seconds, is_planned=True)
    return saved(run.results, seconds, edits=(edit,), is_planned=True)


def _not_exposed(results: Results) -> Quiet | None:
    """Why it is not known what was exposed; None where it is, or there is no exchange."""
    why = _unknown(results) if len(results.trace.ranks) > 1 else ""
    return not_measured(why) if why else None


def _unknown(results: Results) -> str:
    """Why it is not known what was exposed, "" where it is or there is no exchange."""
    if results.horovod is not None and (reason := results.horovod.exposed.reason):
        return f"What Horovod exposes is not known: {reason}. {RECORD_HOROVOD}"
    exchange = results.gradient_exchange
    if exchange is not None and (reason := exchange.exposed_s.reason):
        return f"What the gradient exchange exposes is not known: {reason}. {PROFILER}"
    return ""


def _framework(results: Results) -> str:
    if results.horovod is not None:
        return "Horovod"
    return "DistributedDataParallel" if results.gradient_exchange is not None else ""


def _evidence(results: Results) -> tuple[Evidence, ...]:
    rows = list(transfer_rows(results))
    for row in results.communication.operations:
        if row.name in EXCHANGES and row.transfer_s is not None:
            mean_s = row.transfer_s / max(1, row.detailed_calls)
            rows.append(Evidence("Exposed in each exchange, mean", mean_s, "s"))
    if results.horovod is not None and (data := results.horovod.exposed.data_s):
        label = "Of it in calls that carry tensors, mean of the ranks"
        rows.append(Evidence(label, sum(data) / len(data), "s"))
    return tuple(rows)


def _actions(results: Results) -> tuple[str, ...]:
    if results.horovod is not None:
        return (
            "Halve the bytes sent: compression=hvd.Compression.fp16 of DistributedOptimizer.",
            (
                "Let Horovod begin earlier: a smaller HOROVOD_FUSION_THRESHOLD sends the first "
                "gradients while the others are computed "
                f"({wording.exported('HOROVOD_AUTOTUNE=1')} searches)."
            ),
            "Exchange less often: larger batches, or backward_passes_per_step.",
        )
    return (
        (
            "Halve the bytes sent: register_comm_hook of DistributedDataParallel, with "
            "fp16_compress_hook or bf16_compress_hook."
        ),
        (
            "Give the last bucket less to carry: a smaller bucket_cap_mb, and no "
            "find_unused_parameters=True without need."
            if not has_small_buckets(results)
            else "Begin earlier: no find_unused_parameters=True without need."
        ),
        "Exchange less often: larger batches, or no_sync() over several of them.",
    )


DIAGNOSIS = Diagnosis(
    id=Cause.EXCHANGE.value,
    title="Gradients are exchanged while no rank computes",
    description=(
        "What is left of an exchange of gradients when a rank has nothing more to compute, and "
        "Horovod or DistributedDataParallel could hide no more of it behind the backward pass. "
        "What of it nothing uses comes first: gradients that are exchanged again before an "
        "optimizer steps, rows of zeros, parameters that no optimizer holds. "
        "Priced by a replay without it, which is a bound: waiting for slower ranks is no part of "
        "it. Where most gradients are of parameters that no optimizer holds, all of the backward "
        "pass counts, as it may end before them. Training on accelerators is judged by what those "
        "do."
    ),
    judge=judge,
    applies=exchanges_on_hosts,
    passed="Hardly any exchange of gradients is exposed",
    needs=(_not_exposed, unknown),
    evidence="exposed seconds of each exchange, of it in calls that carry tensors",
    gain_from=(
        "replay on a network that needs no time: an upper bound; of exchanges before those that an "
        "optimizer uses, a replay without them"
    ),
    counts_from="as `network_bound`",
    rank=150,
    references=(
        (
            "DistributedDataParallel, how it overlaps: "
            "https://docs.pytorch.org/docs/stable/notes/ddp.html"
        ),
        (
            "Horovod, tensor fusion: "
            "https://horovod.readthedocs.io/en/stable/tensor-fusion_include.html"
        ),
    ),
)
