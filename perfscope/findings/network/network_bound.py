"""Time that goes into moving data between ranks, and not into waiting for them."""

from dataclasses import replace

from perfscope.findings.core import wording
from perfscope.findings.core.diagnosis import Diagnosis, Outcome
from perfscope.findings.core.finding import Evidence, Finding, Gain
from perfscope.findings.core.gain import as_bound, most_moving, moved_s
from perfscope.findings.core.thresholds import FAIL_SHARE_UPPER_BOUND
from perfscope.findings.facts import sampled_places
from perfscope.findings.facts.cpu_contention import told_only
from perfscope.findings.facts.cpu_waits import bytes_s
from perfscope.findings.facts.device_facts import is_of_torch
from perfscope.findings.facts.facts import Facts
from perfscope.findings.facts.large_collectives import classes
from perfscope.findings.facts.messages import (
    Messages,
    main_messages,
    pickles,
    saved_without_converting,
)
from perfscope.findings.facts.needless import Needless
from perfscope.findings.facts.network_facts import (
    CONTENDED,
    FUSED,
    HALVED,
    HIDDEN,
    IDEAL,
    TRANSFER_FAIL_SHARE,
    TWICE,
    Cause,
    NetworkFacts,
    confidence,
    halved,
    mean,
    told_steps,
    transfer_rows,
    unknown,
)
from perfscope.findings.facts.outside_load import SAME
from perfscope.findings.facts.repeated_messages import needless_repeats
from perfscope.findings.facts.resent_buffers import BROADCAST, needless_buffers
from perfscope.findings.facts.sampled_places import main_place
from perfscope.findings.facts.sparse_messages import needless_zeros
from perfscope.findings.facts.transfer_words import (
    AS_ONE,
    AT_ONCE,
    COLLECTIVES,
    FEWER,
    HALO,
    MESSAGES,
    MORE_RARELY,
    NARROWER,
    NARROWER_TENSORS,
    OF_BYTES,
    OF_TRANSFER,
    PICKLED,
    SINGLE_BYTES,
)
from perfscope.judging import MAIN, SMALL_BYTES
from perfscope.losses.account import TAKES_PART
from perfscope.metrics.results import Results
from perfscope.replay.model import Edit
from perfscope.schema.communication import CollectiveClass
from perfscope.schema.enums import Status
from perfscope.trace.operations import BY_NAME, IS_COLLECTIVE
from perfscope.units import counted, format_bandwidth, format_bytes, format_seconds

PASSED = "Data transfer between ranks takes little time"
CHANGES = {
    "Gain of a network twice as fast": TWICE,
    "Gain of half the bytes": HALVED,
    "Gain if allreduces in quick succession were one": FUSED,
    "Gain if allreduces hid behind the backward pass": HIDDEN,
}
"""What people do about it; those that this run cannot tell are left out."""

NAMES = {
    Cause.TRANSPORT: "a slow transport",
    Cause.SMALL: "small collectives",
    Cause.CONTROL: "Horovod's control traffic",
    Cause.EXCHANGE: "gradients that are exchanged while no rank computes",
    Cause.PER_STEP: "the little that is computed between two exchanges",
}


def judge(run: Facts) -> Outcome:
    """Whether transfer matters, what it is made of, and what makes it less."""
    results = run.results
    facts = run.network
    whole, status = facts.whole, facts.status()
    is_fault = status is not Status.PASS
    if is_fault and facts.cause is not Cause.BANDWIDTH:
        return _named_elsewhere(run, facts)
    for needless in (needless_buffers, needless_repeats, needless_zeros) if is_fault else ():
        if found := needless(run, whole.seconds):
            return told_only(_of_needless(run, facts, found))
    first = _half(run, facts) if is_fault and _is_halved(results) else None
    own_s = run.left_when_idle_s(whole.seconds)
    is_of_load = first and first.under_load_s is not None and first.share < FAIL_SHARE_UPPER_BOUND
    if is_of_load and own_s < TRANSFER_FAIL_SHARE * facts.length_s:
        status = Status.INFO  # what its bytes take is too little, or not known
    converted = saved_without_converting(run, IDEAL) if is_fault and pickles(results) else None
    result = Finding(
        status=status,
        title=_title(results) if is_fault else PASSED,
        titled_s=_each_s(results) if is_fault else None,
        summary=f"{_summary(results, facts, converted)}"
        f"{CONTENDED if facts.is_contended and is_fault else ''}",
        gain=converted or as_bound(whole),  # no network needs no time
        confidence=confidence(facts),
        ranks=_moving(results) if is_fault else (),
        where=sampled_places.frames(results.call_sites.transfer) if is_fault else (),
        evidence=_evidence(results, facts, is_fault=is_fault),
        actions=_actions(run, facts, is_told=True) if is_fault else (),
        first=first,
    )
    return told_only(result)


def _of_needless(run: Facts, facts: NetworkFacts, needless: Needless) -> Finding:
    """Most of what is moved need not be."""
    results = run.results
    return Finding(
        status=facts.status(),
        title=f"{_title(results)}{needless.told}",
        titled_s=_each_s(results),
        summary=needless.summary,
        gain=as_bound(needless.gain),
        confidence=needless.confidence or confidence(facts),
        ranks=_moving(results),
        where=needless.where or sampled_places.frames(results.call_sites.transfer),
        evidence=(*needless.rows, *_evidence(results, facts, is_fault=True)),
        actions=(
            f"{needless.action} {_largest(results)}".strip(),
            *(() if needless.is_alone else _actions(run, facts, is_told=False)),
        ),
    )


def _named_elsewhere(run: Facts, facts: NetworkFacts) -> Finding:
    """The same lost time has its cause in another finding; what else would help is told."""
    results = run.results
    return Finding(
        status=Status.INFO,
        title=_title(results),
        summary=f"{_summary(results, facts)} Most of it is due to {NAMES[facts.cause]}, which a "
        "finding of its own prices.",
        confidence=confidence(facts),
        where=sampled_places.frames(results.call_sites.transfer),
        evidence=_evidence(results, facts, is_fault=True),
        actions=_actions(run, facts, is_told=False),
        overlaps=(facts.cause.value,),
    )


def _without_data(results: Results) -> tuple[str, ...]:
    """The collectives that moved nothing, as barriers do, where they make most of the transfer."""
    rows = [row for row in results.communication.operations if row.transfer_s]
    empty = [row for row in rows if row.bytes_sent == row.bytes_received == 0]
    empty = [row for row in empty if row.name in BY_NAME and IS_COLLECTIVE[BY_NAME[row.name].code]]
    empty.sort(key=lambda row: -(row.transfer_s or 0.0))
    spent_s = sum(row.transfer_s or 0.0 for row in empty)
    return tuple(r.name for r in empty) if spent_s > MAIN * moved_s(results) else ()


BY_DDP = {BROADCAST: "DDP's broadcast of buffers"}
"""Operations that no program calls by their name."""


def _title(results: Results) -> str:
    place = sampled_places.calls(results, " in")
    if empty := _without_data(results):
        return f"Calls that move no data are slowing the run, mainly {empty[0]}{place}"
    if (found := main_messages(results)) and _as_one(results):
        place = _where_sent(results, found)
        many = f"{counted(found.calls, 'message')} of about {format_bytes(found.size_bytes)}"
        return f"{many} are slowing the run{place and f', mainly{place}'}"
    mainly = f"{BY_DDP.get(most_moving(results), most_moving(results))}{place}".strip()
    each = f"{format_seconds(_each_s(results))}{' per rank' * (len(results.trace.ranks) > 1)}"
    return f"Data transfer between ranks takes {each}{mainly and f', mainly {mainly}'}"


def _each_s(results: Results) -> float:
    """What a rank spends on transfer, mean of all."""
    return mean(results.communication.transfer_s_by_rank)


def _moving(results: Results) -> tuple[int, ...]:
    """Ranks that move data for at least half as long as the one that does it longest."""
    spent_s = results.communication.transfer_s_by_rank
    least_s = max(spent_s, default=0.0) / 2
    return tuple(n for n, s in zip(results.ledger.ranks, spent_s, strict=True) if s >= least_s)


def _summary(results: Results, facts: NetworkFacts, converted: Gain | None = None) -> str:
    if converted is not None:
        less = wording.saving(results, converted.seconds, is_bound=converted.is_bound)
        return f"Without transfer and serialization of what is sent the run would take {less} less."
    return (
        f"With an ideal network, on which data takes no time, the run would take "
        f"{facts.cost(results)} less. No real change saves all of that."
    )


def _evidence(results: Results, facts: NetworkFacts, *, is_fault: bool) -> tuple[Evidence, ...]:
    largest = sorted(classes(results), key=lambda c: -c.seconds * c.calls)[:3]
    return (
        *transfer_rows(results),
        *(
            Evidence(label, facts.gain_s(edit), "s")
            for label, edit in CHANGES.items()
            if facts.gain_s(edit)
        ),
        *(
            Evidence(
                f"{c.name} of about {format_bytes(c.size_bytes)}",
                f"{counted(c.calls, 'call')}, {format_seconds(c.seconds)} each, "
                f"{format_bandwidth(c.bus_bytes_per_s)} on the bus",
            )
            for c in largest
        ),
        *(sampled_places.transfer_rows(results) if is_fault else ()),
    )


def _is_halved(results: Results) -> bool:
    """Whether the first action leaves half of it.

    It does not where calls are empty or many, nor where what is sent need not be pickled.
    """
    return not _without_data(results) and not _as_one(results) and not pickles(results)


def _half(run: Facts, facts: NetworkFacts) -> Gain:
    """What the first action saves, with what the rest of the transfer costs.

    The rest is not told beside the saving of an idle host: it is that of a host with other load.
    There fewer bytes save what bytes take, and none of the waiting for CPUs: as much as on an idle
    host. Bytes take at least what the fastest calls did, and what is too long for the load.
    """
    gain = halved(run.results, facts, _halving(facts))
    if run.on_free_cpus.load.edits and not _is_of_calls(facts):
        part = gain.seconds / facts.whole.seconds if facts.whole.seconds > 0 else 0.0
        known_s = max(bytes_s(run.results) or 0.0, run.left_when_idle_s(facts.whole.seconds))
        own_s = min(gain.seconds, part * known_s)
        each_s = _each_s(run.results)
        of_bytes = OF_BYTES.format(format_seconds(min(known_s, each_s)), format_seconds(each_s))
        rest = of_bytes if own_s < gain.seconds else OF_TRANSFER
        return replace(gain.of(own_s), edits=(), bridge=rest, counts=SAME, under_load_s=own_s)
    rest = OF_TRANSFER
    if not run.on_free_cpus.load.edits:
        whole_s = format_seconds(facts.whole.seconds)
        rest += f"; without any transfer the run would take {whole_s} less"
    return replace(gain, bridge=rest)


def _largest(results: Results) -> str:
    """Which calls take most of the transfer, and how large they are; "" where that is not known."""
    if found := main_messages(results):
        return (
            f"Most time goes to messages of about {format_bytes(found.size_bytes)}: "
            f"{counted(found.calls, 'message')}{_where_sent(results, found)}."
        )
    most = _main_class(results)
    if most is None:
        return ""
    return (
        f"Much of it goes to {most.name} with about {format_bytes(most.size_bytes)}: "
        f"{counted(most.calls, 'call')}, {format_seconds(most.seconds)} each (median)."
    )


def _where_sent(results: Results, found: Messages) -> str:
    """The place of most of such messages: ` in swap() (train.py:9)`; "" where that is not known."""
    is_known = not sampled_places.exchanges_itself(results)
    return sampled_places.mostly(found.places, " in") if is_known else ""


def _main_class(results: Results) -> CollectiveClass | None:
    """The collectives that most of the transfer goes to; None where that is not known."""
    named = most_moving(results)  # as the title has it, whatever sizes it is called with
    known = [one for one in classes(results) if one.name == named] or classes(results)
    most = max(known, key=lambda one: one.seconds * one.calls, default=None)
    if most is None or most.seconds * most.calls * most.ranks < TAKES_PART * moved_s(results):
        return None
    return most


def _is_of_calls(facts: NetworkFacts) -> bool:
    """Whether it is calls that take the time, most of which carry few bytes."""
    return facts.cause is Cause.BANDWIDTH and facts.small.share > MAIN


def _halving(facts: NetworkFacts) -> tuple[Edit, ...]:
    """What tells the saving of the first action: half as many small calls take half the time."""
    return (TWICE,) if _is_of_calls(facts) else (HALVED, TWICE)


def _less(run: Facts, facts: NetworkFacts) -> str:
    """What makes the exchange half as long: fewer bytes, or where few take long, fewer calls."""
    if _is_of_calls(facts):
        return MORE_RARELY
    sent = [
        one
        for rank in run.worked_on
        for site in rank
        if site.frame in main_place(run.results.call_sites.transfer)
        for one in site.operands
    ]
    is_known = bool(sent) and not sampled_places.exchanges_itself(run.results)
    has_halo = main_messages(run.results) is not None and not is_of_torch(run.results)
    fewer = f"{FEWER}{HALO}" if has_halo else FEWER
    if is_known and all(one.value_bytes <= SINGLE_BYTES for one in sent):
        return fewer
    return f"{fewer}{NARROWER_TENSORS if is_of_torch(run.results) else NARROWER}"


def _as_one(results: Results) -> str:
    """What to do about messages that are made of latency; "" where most transfer is none."""
    found = main_messages(results)
    if found is None or found.size_bytes >= SMALL_BYTES:
        return ""
    pickled = f"{PICKLED.format(calls=MESSAGES)} " if found.is_pickled else ""
    return f"{pickled}{AT_ONCE if found.is_answered else AS_ONE} {_largest(results)}"


def _actions(run: Facts, facts: NetworkFacts, *, is_told: bool) -> tuple[str, ...]:
    """What to do; the finding itself says what the first saves where its seconds are told."""
    results = run.results
    known = (seconds for edit in _halving(facts) if (seconds := facts.gain_s(edit)))
    half_s = 0.0 if is_told else next(known, 0.0)
    half = wording.saves(results, half_s, is_bound=True) if half_s else ""
    most = _largest(results)
    at, less = sampled_places.calls(results, "In"), _less(run, facts)
    less = wording.there(at, less)
    actions = [_as_one(results) or f"{less}{half}. {most}".strip()]
    if is_told and not _as_one(results) and pickles(results):
        pickled = wording.there(at, PICKLED.format(calls=COLLECTIVES))
        actions.insert(0, f"{pickled} {_largest(results)}".strip())
        actions[1] = f"{less}{half}."
    if empty := _without_data(results):
        actions = [f"Call {empty[0]} only where ranks must meet: it moves no data."]
    if hidden_s := facts.gain_s(HIDDEN):
        actions.append(
            "Exchange gradients while the backward pass still runs, as DistributedDataParallel and "
            f"Horovod do{wording.saves(results, hidden_s, is_bound=True)}."
        )
    if told_steps(results):
        often = f"; {told}" if (told := _often(results)) else ""
        actions.append(
            f"Exchange less often: larger batches, or gradients accumulated over several{often}."
        )
    return tuple(actions)


def _often(results: Results) -> str:
    """How often the ranks exchange gradients, or how long a step is; "" where neither is known."""
    exchange, step_s = results.gradient_exchange, results.steps.step_s_median.value
    if exchange is not None and exchange.per_update:
        times = round(exchange.per_update)
        often = "once" if times == 1 else f"{times} times"
        return f"now {often} per optimizer step"
    return f"a step takes {format_seconds(step_s)} now" if told_steps(results) and step_s else ""


DIAGNOSIS = Diagnosis(
    id=Cause.BANDWIDTH.value,
    title="Moving data between ranks takes a large share of the time",
    description=(
        "Replays the run on a network that needs no time (the ideal network of the POP method): "
        "what that saves is transfer on the critical path. Fires where no other cause makes up "
        "most of it: few large collectives, and bandwidth."
    ),
    judge=judge,
    needs=(unknown,),
    passed=PASSED,
    evidence=(
        "transfer by rank, collectives by size, gain of each change, the functions that move data; "
        "of a buffer that is mostly zeros how much of it, and in how many looks at its buffer a "
        "collective changed nothing; buffers of a model that are sent in each forward pass and "
        "that nobody was seen to change"
    ),
    gain_from=(
        "replay on a network that needs no time: an upper bound; of zeros, without the bytes that "
        "tell them and without work on arrays of that size in the function that sends them"
    ),
    counts_from=(
        f"{100 * FAIL_SHARE_UPPER_BOUND:g} % warns, {100 * TRANSFER_FAIL_SHARE:g} % fails; where "
        f"ranks wait for CPUs it warns from {100 * TRANSFER_FAIL_SHARE:g} % on of what even "
        "the fastest calls of a kind take, against the run without that waiting, and is told as "
        "info where both ends of the transfer had a CPU for less than that"
    ),
    rank=180,
    references=(
        "POP Centre of Excellence, transfer efficiency: https://co-design.pop-coe.eu/metrics/",
    ),
)
