"""What a change saves: replayed where the run can be replayed, else at most."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from math import sqrt

from perfscope.findings.core.finding import Gain
from perfscope.judging import SURE
from perfscope.metrics.results import Results
from perfscope.replay.model import Edit, Prediction, RefusedEditError
from perfscope.replay.replay import Replay
from perfscope.schema.enums import Account, Basis
from perfscope.trace.operations import BY_NAME, COLLECTIVE_CLASSES, OperationClass
from perfscope.units import NS

NOT_MOVING = {OperationClass.INIT, OperationClass.FINALIZE}


def saved(
    results: Results,
    seconds: float,
    *,
    interval_s: tuple[float, float] | None = None,
    basis: Basis = Basis.UPPER_BOUND,
    edits: Sequence[Edit] = (),
    is_planned: bool = False,
    is_of_run: bool = False,
) -> Gain:
    """Seconds that are saved, with their shares of the run and of the analyzed window.

    Of a thinned run they are of its kept steps, unless they are told to be of all of it.
    """
    length_s = results.window_s if is_of_run else results.focus.length_ns * NS
    run_s = results.run_s if is_of_run or results.whole_run is None else 0.0
    return Gain(
        seconds=seconds,
        share=seconds / length_s if length_s > 0 else 0.0,
        run_share=seconds / run_s if run_s else None,
        basis=basis,
        interval_s=interval_s,
        edits=tuple(edits),
        is_planned=is_planned,
        is_of_run=is_of_run,
    )


def replayed(
    results: Results, prediction: Prediction, edits: Sequence[Edit], *, is_planned: bool = False
) -> Gain:
    """What a replay with these edits saves."""
    gain = saved(
        results,
        prediction.gain_s,
        interval_s=prediction.interval_s,
        basis=Basis.REPLAY,
        edits=edits,
        is_planned=is_planned,
    )
    return replace(gain, once_s=prediction.once_s)


def predicted_gain(
    results: Results,
    replay: Replay,
    edits: Sequence[Edit],
    *,
    bound_s: float,
    is_planned: bool = False,
) -> Gain:
    """What edits save together.

    `bound_s` is the gain at most, for a run that cannot be replayed; `is_planned` says that what
    costs the time is planned by the program and no matter of chance.
    """
    if found := replay.predict(edits):
        return replayed(results, found, edits, is_planned=is_planned)
    most_s = min(bound_s, results.focus.length_ns * NS)
    return saved(results, most_s, edits=edits, is_planned=is_planned)


def as_bound(gain: Gain) -> Gain:
    """The same seconds as a bound: no real change saves all that the replay takes away."""
    return replace(gain, basis=Basis.UPPER_BOUND)


def as_bare_bound(gain: Gain) -> Gain:
    """The same as a bound without an interval: how far it is off is no matter of chance."""
    return replace(as_bound(gain), interval_s=None)


def error_of_share(share: float, samples: int) -> float:
    """How far a share is off at most, relative to itself, that so many samples show (95 %)."""
    return SURE * sqrt((1.0 - share) / samples)


def with_error(gain: Gain, error: float) -> Gain:
    """The gain with an interval that is wider by a relative error, of what the edits were made by.

    That is never less than nothing, however few samples tell it. A bound, and what has no interval,
    stay as they are.
    """
    if gain.interval_s is None or gain.is_bound:
        return gain
    low, high = gain.interval_s
    return replace(gain, interval_s=(low - min(error, 1.0) * abs(low), high + error * abs(high)))


def waited_s(results: Results) -> float:
    """What ranks waited in calls or, where they ended earlier, for the last one, added up.

    With it what they evaluated: a rank that is late meanwhile keeps nobody waiting, and will as
    soon as the evaluation is gone.
    """
    evaluated_ns = int(results.ledger.ns[list(Account).index(Account.EVALUATION)].sum())
    found, ends = results.communication, [rank.end_ns for rank in results.trace.ranks]
    idle_ns = sum(max(ends) - end for end in ends) if ends else 0
    return sum(found.wait_s_by_rank) + sum(found.other_s_by_rank) + (idle_ns + evaluated_ns) * NS


def at_most_waited(results: Results, gain: Gain) -> Gain:
    """The gain of a change that only takes waiting away: no more than all ranks waited.

    Its interval stays: in as many other steps they might have waited longer.
    """
    most_s, interval = waited_s(results), gain.interval_s
    if gain.seconds <= most_s:
        return gain
    return replace(
        gain.of(most_s),
        interval_s=interval and (min(interval[0], most_s), interval[1]),
        once_s=None if gain.once_s is None else min(gain.once_s, most_s),
    )


def bound_s(results: Results, seconds_by_rank: Sequence[float]) -> float:
    """Seconds that are given back at most when work of the ranks is not done any more.

    Of every rank: what it does not do any more, and all the time that it communicates. The
    smallest of these sums bounds the gain, as each rank's other work stays.
    """
    found = results.communication
    communication = (found.wait_s_by_rank, found.transfer_s_by_rank, found.other_s_by_rank)
    sums = [own + sum(parts) for own, *parts in zip(seconds_by_rank, *communication, strict=True)]
    return min(sums, default=0.0)


def moved_s(results: Results) -> float:
    """Seconds in which data is moved, summed over the ranks; beginning and ending is no moving."""
    found = results.communication
    whole_s = sum(found.transfer_s_by_rank)
    return min(whole_s, sum(_by_class(results))) if found.operations else whole_s


def transfer_bound_s(results: Results) -> float:
    """Seconds that a network without transfer time saves at most; waiting is no transfer.

    All ranks are in a collective at once, so that it counts once; messages may be sent one after
    the other by all ranks.
    """
    by_rank = results.communication.transfer_s_by_rank
    messages_s, _ = _by_class(results)
    once_s = max(by_rank, default=0.0) + messages_s
    return min(bound_s(results, [0.0] * len(by_rank)), moved_s(results), once_s)


def _by_class(results: Results) -> tuple[float, float]:
    """Transfer of messages and that of collectives, summed over the ranks."""
    messages_s = collectives_s = 0.0
    for row in results.communication.operations:
        found = BY_NAME[row.name].cls if row.name in BY_NAME else None
        if found in COLLECTIVE_CLASSES:
            collectives_s += row.transfer_s or 0.0
        elif found not in NOT_MOVING:
            messages_s += row.transfer_s or 0.0
    return messages_s, collectives_s


def most_moving(results: Results) -> str:
    """The operation in which most data is moved, by the time it takes; "" where none is known."""
    rows = (row for row in results.communication.operations if not _is_idle(row.name))
    most = max(rows, key=lambda row: row.transfer_s or 0.0, default=None)
    return most.name if most is not None and most.transfer_s else ""


def _is_idle(name: str) -> bool:
    return name in BY_NAME and BY_NAME[name].cls in NOT_MOVING


def moved_otherwise_s(results: Results, names: Collection[str]) -> float:
    """Seconds in which data is moved by operations of other names, summed over the ranks."""
    rows = (row for row in results.communication.operations if not _is_idle(row.name))
    return sum(row.transfer_s or 0.0 for row in rows if row.name not in names)


def gain_of(replay: Replay, edit: Edit) -> float | None:
    """Seconds that one change saves; None where this run does not tell."""
    try:
        found = replay.predict([edit])
    except RefusedEditError:
        return None
    return found.gain_s if found else None
