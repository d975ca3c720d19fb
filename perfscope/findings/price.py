"""What a change gives back: replayed where the run can be replayed, else at most."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from perfscope.findings import thresholds
from perfscope.replay.model import RefusedEditError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from perfscope.findings.finding import Status
    from perfscope.metrics.results import Results
    from perfscope.replay.model import Edit, Replay

NS = 1e-9


@dataclass(frozen=True)
class Price:
    """Seconds that a change gives back and the status that they deserve.

    `basis` is `replay` or `upper_bound`; `interval_s` is the 95 % interval of a replayed gain.
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
    """What edits give back together.

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


def gain_of(replay: Replay, edit: Edit) -> float | None:
    """Seconds that one change gives back; None where this run does not tell."""
    try:
        found = replay.predict([edit])
    except RefusedEditError:
        return None
    return found.gain_s if found else None
