"""Ranks that wait for their next batch."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from perfscope.attribution.ledger import INDEX
from perfscope.findings.core import thresholds, wording
from perfscope.findings.core.diagnosis import Diagnosis, Outcome
from perfscope.findings.core.finding import Evidence, Finding, Gain, Spent, not_measured, passed
from perfscope.findings.core.gain import (
    as_bare_bound,
    bound_s,
    gain_of,
    predicted_gain,
    replayed,
)
from perfscope.findings.facts import repeated_reads
from perfscope.findings.facts.facts import Facts
from perfscope.findings.facts.fast_input import OtherCause, are_in_time, other_cause, ready_evidence
from perfscope.findings.facts.input_work import (
    cheaper,
    getting_place,
    made_once,
    main_part,
    producers_place,
    unpacking_action,
    who_makes,
    work_action,
    work_evidence,
)
from perfscope.findings.facts.lock_holder import action, among_producers, evidence, frames, typed
from perfscope.findings.facts.more_producers import (
    crowded,
    idle_cpus,
    loader_actions,
    makes_itself,
    room_on,
)
from perfscope.findings.facts.queue_evidence import queue_evidence
from perfscope.findings.facts.recurring import deserved, is_worth_it
from perfscope.findings.facts.repeated_reads import ReadAgain
from perfscope.findings.facts.same_items import keeping_action, same_evidence
from perfscope.findings.facts.worker_turns import (
    WorkerTurns,
    ending_workers,
    training_loaders,
    worker_turns,
)
from perfscope.findings.facts.worker_words import is_idle, use_action, use_evidence, use_of
from perfscope.metrics.host.input_parts import InputPart
from perfscope.metrics.host.lock_holders import LockHolder
from perfscope.metrics.results import Results
from perfscope.replay.model import Edit
from perfscope.replay.replay import Replay
from perfscope.schema.enums import Account, Confidence, PhaseKind, Status
from perfscope.trace.model import Frame, Rank
from perfscope.units import NS, capitalized, format_seconds

TAKING_OVER_SHARE = 0.1  # of the focus, for batches that are there: a loss of its own
PASSED = "No rank waits for input for long"
STAYING = "Set persistent_workers=True, so that no epoch begins with new workers."
WAITS = Account.INPUT_WAIT
EDIT = Edit(WAITS)
TENSORFLOW = f"TensorBoard's input pipeline analyzer shows it: {wording.IN_TENSORBOARD}."


def judge(run: Facts) -> Outcome:
    """Whether the ranks wait for input, for how long, and what would bring it sooner."""
    results, replay = run.results, run.replay
    phases = [phase for phase in results.phases if phase.kind is PhaseKind.INPUT]
    waits_s = (results.ledger.ns[INDEX[Account.INPUT_WAIT]] * NS).tolist()
    if not any(waits_s):
        return _nothing_seen(results)
    found = predicted_gain(results, replay, [EDIT], bound_s=bound_s(results, waits_s))
    is_fault = is_worth_it(found)
    worst = waits_s.index(max(waits_s))
    rank = results.trace.ranks[worst]
    if is_fault and (
        other := other_cause(results, rank, waited_s=waits_s[worst], gain_s=found.seconds)
    ):
        return _told(results, waits_s, worst, found, other)
    anew = worker_turns(results, replay, worst, found) if is_fault else None
    made_in = None if anew else producers_place(results, rank.number)
    held = among_producers(results, rank.number) if is_fault else None
    where = phases[0].where if phases else ()
    own = None if made_in else getting_place(results, rank.number)
    at = own or (where[0] if where else None)
    return Finding(
        status=deserved(results, found, WAITS, worst) if is_fault else Status.PASS,
        title=_title(results, at, waits_s, made_in, anew) if is_fault else PASSED,
        summary=_summary(results, waits_s, found) + (anew.summary if anew else ""),
        gain=replace(found, spent=_spent(waits_s)),
        confidence=Confidence.HIGH if not found.is_bound else Confidence.MEDIUM,
        ranks=_waiting_ranks(results, waits_s) if is_fault else (),
        where=tuple(dict.fromkeys(one for one in (*frames(held), made_in or own, *where) if one)),
        evidence=(
            *_evidence(results, waits_s, worst),
            *(anew.evidence if anew else ()),
            *((evidence(held),) if held else ()),
        ),
        actions=_all_actions(results, replay, at, worst, held, anew) if is_fault else (),
        first=_first(results, replay, worst, found, held, anew),
        holder=typed(held),
        overlaps=("load_imbalance", "idle_devices"),
    )


def _spent(waits_s: list[float]) -> Spent:
    """What the saving comes from: the mean of what ranks wait."""
    mean_s = sum(waits_s) / len(waits_s)
    return Spent(mean_s, is_each=len(waits_s) > 1, lead="of waiting for input")


def _told(
    results: Results, waits_s: list[float], worst: int, found: Gain, other: OtherCause
) -> Finding:
    """The input is fast enough: seconds are claimed, as a bound, only where they are a loss."""
    is_claim = other.is_loss and found.share >= TAKING_OVER_SHARE
    return Finding(
        status=Status.WARN if is_claim else Status.INFO,
        title=other.title,
        summary=f"{_waited(results, waits_s)} {other.summary}",
        gain=as_bare_bound(found) if is_claim else None,
        confidence=Confidence.MEDIUM,
        ranks=_waiting_ranks(results, waits_s),
        evidence=_evidence(results, waits_s, worst),
        actions=(other.action,),
        overlaps=other.overlaps,
    )


def _nothing_seen(results: Results) -> Outcome:
    reason = _hidden_input(results)
    sampled = results.trace.has_stacks
    if reason or not (results.phases or sampled):
        return not_measured(
            f"{capitalized(reason)}. {TENSORFLOW}"
            if reason
            else wording.no_phases(results.trace, "input", "*next_batch*")
        )
    return passed("No rank was seen waiting for a batch.", Confidence.MEDIUM)


def _hidden_input(results: Results) -> str:
    """Why waiting for input could not be seen in this program; "" when it could."""
    for rank in results.trace.ranks:
        for framework in rank.frameworks.values():
            if framework.get("input_wait") is None:
                reason = framework.get("input_wait_reason")
                if isinstance(reason, str) and reason:
                    return reason
    return ""


def _waiting_ranks(results: Results, waits_s: list[float]) -> tuple[int, ...]:
    """Ranks that wait at least half as long as the one that waits most."""
    least = max(waits_s) / 2
    return tuple(
        rank
        for rank, seconds in zip(results.ledger.ranks, waits_s, strict=True)
        if seconds >= least
    )


def _title(
    results: Results,
    at: Frame | None,
    waits_s: list[float],
    made_in: Frame | None,
    anew: WorkerTurns | None,
) -> str:
    ranks = _waiting_ranks(results, waits_s)
    everybody = len(ranks) == len(waits_s) > 1
    who = "The ranks" if everybody else capitalized(wording.ranks(ranks))
    who = "The process" if len(waits_s) == 1 else who
    verb = "waits" if len(ranks) == 1 and not everybody else "wait"
    inside = f" in {wording.place(at)}" if at else ""
    if made_in:
        by = who_makes(results, results.ledger.ranks[waits_s.index(max(waits_s))])
        return f"{who} {verb}{inside} for batches that {by} produce in {wording.place(made_in)}"
    if not anew and makes_itself(results, waits_s.index(max(waits_s))):
        stop = "stops" if verb == "waits" or len(waits_s) == 1 else "stop"
        return f"{who} {stop} training to prepare each batch{inside}"
    mostly = ", mostly because each epoch starts new workers" if anew else ""
    return f"{who} {verb} for input{inside}{mostly}"


def _summary(results: Results, waits_s: list[float], found: Gain) -> str:
    gain = wording.saving(results, found.seconds, is_bound=found.is_bound)
    return (
        f"{_waited(results, waits_s)} With every batch there when it is wanted, the run would take "
        f"{gain} less."
    )


def _waited(results: Results, waits_s: list[float]) -> str:
    length_s = results.focus.length_ns * NS
    mean_s = sum(waits_s) / len(waits_s)
    return (
        f"On average a rank waits {format_seconds(mean_s)} for its batches, "
        f"{wording.of_window(mean_s / length_s if length_s else 0.0)}."
    )


def _evidence(results: Results, waits_s: list[float], worst: int) -> tuple[Evidence, ...]:
    rows = [
        Evidence("Input wait, mean of the ranks", sum(waits_s) / len(waits_s), "s", "near 0"),
        Evidence(
            f"Input wait of rank {results.ledger.ranks[worst]}, the longest", waits_s[worst], "s"
        ),
    ]
    if results.steps.count:
        rows.append(Evidence("Longest, per step", waits_s[worst] / results.steps.count, "s"))
    rows += queue_evidence(results.trace.ranks[worst])
    rows += work_evidence(results, results.trace.ranks[worst].number)
    rows += use_evidence(use_of(results, results.trace.ranks[worst].number))
    rows += ready_evidence(results.trace.ranks[worst])
    rows += same_evidence(results.trace.ranks[worst])
    rows += repeated_reads.evidence(_read_again(results, results.trace.ranks[worst]))
    loader = _loader(results, worst)
    rows += [
        Evidence(f"DataLoader: {key}", str(loader[key]))
        for key in ("workers", "prefetch_factor", "persistent_workers", "pin_memory", "batch_size")
        if loader.get(key) is not None
    ]
    return tuple(rows)


def _loader(results: Results, position: int) -> Mapping[str, Any]:
    """Settings of the first DataLoader that a rank trains from; empty where none was met."""
    return next(training_loaders(results.trace.ranks[position]), {})


def _back(results: Results, replay: Replay, producers: int) -> str:
    """What so many producers save; "" where the queues are not known."""
    ranks = tuple(results.ledger.ranks)
    gain_s = gain_of(replay, Edit(factor=1.0, producers=producers, ranks=ranks)) or 0.0
    if gain_s < thresholds.WARN_SHARE * results.focus.length_ns * NS:
        return ""
    return f": {producers} save {format_seconds(gain_s)}"


def _all_actions(
    results: Results,
    replay: Replay,
    at: Frame | None,
    worst: int,
    held: LockHolder | None,
    anew: WorkerTurns | None,
) -> tuple[str, ...]:
    """What brings batches sooner, and what makes the main part of the work on them cheaper.

    More threads bring none sooner where one of them keeps the others waiting.
    """
    rank = results.trace.ranks[worst]
    once = _once(results, rank)
    main = "" if once else work_action(results, rank.number)
    use = use_of(results, rank.number)
    told = [action(held)] if held else []
    if not held and not (use and is_idle(use)):  # idle workers need not be more
        told += _actions(results, replay, at, worst)
    # where new workers are the cause, what they were seen to do is mostly their start
    told.insert(1 if held else 0, once or ("" if anew else use_action(use)))
    if anew:
        told.insert(0, anew.action)
    elif not held and ending_workers(rank):
        told.insert(0 if are_in_time(rank) else len(told), STAYING)
    return tuple(one for one in (*told, main) if one)


def _first(
    results: Results,
    replay: Replay,
    worst: int,
    found: Gain,
    held: LockHolder | None,
    anew: WorkerTurns | None,
) -> Gain | None:
    """What the first action saves, where that is not all waiting for input."""
    if anew:
        return anew.gain
    if held:
        return _unlocked(results, replay, held)
    rank = results.trace.ranks[worst]
    if not found.is_bound and _once(results, rank):
        unpacks = bool(unpacking_action(results, rank.number))
        return made_once(results, replay, found, unpacks=unpacks)
    if makes_itself(results, worst) and idle_cpus(results, worst)[1] == 0:
        return as_bare_bound(found)  # batches can only cost less, and never nothing
    return None


def _once(results: Results, rank: Rank) -> str:
    """To do once what is done anew for each batch; "" where nothing is seen to be."""
    if action := unpacking_action(results, rank.number):
        return action
    again = _read_again(results, rank)
    return repeated_reads.keep(again) if again is not None else _kept(results, rank)


def _read_again(results: Results, rank: Rank) -> ReadAgain | None:
    """What is read over and over for batches; None where reading is not most of the work."""
    is_reading = main_part(results, rank.number) is InputPart.READ
    return repeated_reads.read_again(results, rank, "") if is_reading else None


def _kept(results: Results, rank: Rank) -> str:
    """To keep samples that are prepared alike each time; "" where putting them together is most."""
    is_prepared = main_part(results, rank.number) in (InputPart.READ, InputPart.DECODE)
    return keeping_action(rank) if is_prepared else ""


def _unlocked(results: Results, replay: Replay, held: LockHolder) -> Gain | None:
    """What is saved at most where threads that wait for each other's lock work in that time.

    They make more batches in the share of time that they wait for it now; a rank waits for those
    that are not made while it works. None where the run cannot be replayed.
    """
    assert held.waiters is not None
    length_s, edits = results.focus.length_ns * NS, []
    waits_s = (results.ledger.ns[INDEX[Account.INPUT_WAIT]] * NS).tolist()
    for rank, waited_s in zip(results.ledger.ranks, waits_s, strict=True):
        left_s = length_s * (1.0 - held.waiters.share) - (length_s - waited_s)
        if waited_s > 0:
            factor = max(0.0, left_s / waited_s)
            edits.append(Edit(Account.INPUT_WAIT, ranks=(rank,), factor=factor))
    told = replay.predict(edits)
    return as_bare_bound(replayed(results, told, edits)) if told else None


def _actions(results: Results, replay: Replay, at: Frame | None, worst: int) -> tuple[str, ...]:
    rank = results.trace.ranks[worst]
    host, idle = idle_cpus(results, worst)
    room = room_on(host, idle)
    loader = _loader(results, worst)
    workers = loader.get("workers")
    change = cheaper(results, rank.number)
    if at is not None and not workers:  # who makes the batches is where it takes them
        change = wording.there(f"In {wording.place(at)}", change)
    if isinstance(workers, int) and not isinstance(workers, bool):
        if idle == 0:
            return (crowded(host, workers, change),)
        return loader_actions(loader, workers, room, _back(results, replay, 2 * workers or 1))
    if "tensorflow" in rank.frameworks and not len(rank.queues):  # nothing of Python makes them
        ahead = (
            "End the tf.data pipeline with .prefetch(tf.data.AUTOTUNE) and give its map() "
            f"num_parallel_calls=tf.data.AUTOTUNE{room}."
        )
        kept = "Put .cache() behind what is the same in every epoch."
        return (kept, ahead) if idle == 0 else (ahead, kept)
    ahead = (
        f"Let more threads or processes prepare batches ahead of "
        f"{wording.place(at) or 'the next batch'}{room}"
        f"{_back(results, replay, 2)}."
    )
    return (change, ahead) if idle == 0 else (ahead, change)


DIAGNOSIS = Diagnosis(
    id="data_stall",
    title="Ranks wait for their next batch",
    description=(
        "Adds up the time that ranks spend getting their next batch (from a queue, a "
        "DataLoader, a function that loads batches, or in a marked phase) and replays the run "
        "as if every batch had been ready."
    ),
    judge=judge,
    passed=PASSED,
    evidence=(
        "seconds, settings of the loader, what the queue holds and how long its producers "
        "and the training need for a batch, reading, decoding and copying apart where stack "
        "samples show them (in the training thread, and in threads that fill its queue or "
        "processes that make batches), where these processes are, and whether they compute, want "
        "a CPU or wait, how many batches of a DataLoader's workers were there when they were "
        "asked for, and how long it was waited for the others, whether a data set of PyTorch "
        "prepares the same samples anew in each epoch, idle CPUs"
    ),
    gain_from=(
        "replay with every batch there in time; of the first action, where a DataLoader starts "
        "its workers anew for each epoch, one in which they stay"
    ),
    counts_from=(
        f"{100 * thresholds.FAIL_SHARE:g} %; where it was waited less than that for "
        "batches, the rest is taking batches over: reported (info), from "
        f"{100 * TAKING_OVER_SHARE:g} % on warned of"
    ),
    rank=110,
    references=(
        (
            "PyTorch, data loading: "
            "https://docs.pytorch.org/docs/stable/data.html#single-and-multi-process-data-loading"
        ),
        (
            "TensorFlow, better performance with tf.data: "
            "https://www.tensorflow.org/guide/data_performance"
        ),
    ),
)
