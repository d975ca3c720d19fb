"""What a change saves: replayed where the run can be replayed, else at most."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from perfscope.findings.core import thresholds
from perfscope.replay.model import RefusedEditError
from perfscope.trace.operations import BY_NAME, COLLECTIVE_CLASSES, OperationClass

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from perfscope.findings.core.finding import Status
    from perfscope.metrics.results import Results
    from perfscope.replay.model import Edit, Replay

NS = 1e-9
NOT_MOVING = {OperationClass.INIT, OperationClass.FINALIZE}


@dataclass(frozen=True)
class Price:
    """Seconds that a change saves and the status that they deserve.

    `basis` is `replay` or `upper_bound`; `interval_s` is the 95 % interval of a replayed gain, None
    where the run is too short for one.
    """

    gain_s: float
    share: float  # of the focus of analysis
    interval_s: tuple[float, float] | None
    basis: str
    status: Status

    @property
    def is_replayed(self) -> bool:
        """Whether the run was replayed with the change."""
        return self.basis == "replay"

    @property
    def at_most(self) -> str:
        """What must stand before the seconds: "up to " where they are a bound."""
        return "" if self.is_replayed else "up to "


def price(
    results: Results,
    replay: Replay,
    edits: Sequence[Edit],
    *,
    bound_s: float,
    is_planned: bool = False,
) -> Price:
    """What edits save together.

    Args:
        results: the run.
        replay: asked first.
        edits: the change.
        bound_s: the gain at most, in seconds, for a run that cannot be replayed.
        is_planned: what costs the time is planned by the program and no matter of chance.
    """
    length_s = results.focus.length_ns * NS
    found = replay.predict(edits)
    gain_s = found.gain_s if found else min(bound_s, length_s)
    share = gain_s / length_s if length_s > 0 else 0.0
    return Price(
        gain_s=gain_s,
        share=share,
        interval_s=found.interval_s if found else None,
        basis="replay" if found else "upper_bound",
        status=thresholds.judge(found, share, is_planned=is_planned),
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


def moved_otherwise_s(results: Results, names: Collection[str]) -> float:
    """Seconds in which data is moved by operations of other names, summed over the ranks."""
    idle = {name for name, operation in BY_NAME.items() if operation.cls in NOT_MOVING}
    rows = results.communication.operations
    return sum(row.transfer_s or 0.0 for row in rows if row.name not in idle.union(names))


def gain_of(replay: Replay, edit: Edit) -> float | None:
    """Seconds that one change saves; None where this run does not tell."""
    try:
        found = replay.predict([edit])
    except RefusedEditError:
        return None
    return found.gain_s if found else None
