"""Replay of runs whose ranks meet in collectives and messages, segment by segment.

exit = max(arrival, need) + transfer is a (max,+) system: after a collective of all ranks nothing of
the history matters any more, so the segments between them replay independently and add up
(docs/metrics.md, section 4).
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from perfscope.metrics.ledger import Account
from perfscope.replay.bootstrap import gain_interval
from perfscope.replay.causes import causes
from perfscope.replay.edits import apply_edits, background_end_ns, transfer_after
from perfscope.replay.extract import NotReplayableError, extract
from perfscope.replay.model import Causes, Edit, Prediction
from perfscope.replay.program import Floats, Program, segment_lengths

if TYPE_CHECKING:
    from collections.abc import Sequence

    from perfscope.metrics.results import Results

MOST_RELATIVE_ERROR = 1e-3  # beyond it the replay is not this run, and predicts nothing
INPUT_WAIT_SHARE = 0.01

ASSUMPTIONS = (
    "Work that is not edited keeps its measured duration, and each call its transfer time.",
)
QUEUES = "Input queues are not modelled: they may run empty sooner when the ranks wait less."
NO_INTERVAL = "Too few segments between collectives of all ranks to estimate an interval."
BACKGROUND = (
    "What is moved aside begins when it did, one after the other on each rank, and slows nothing "
    "else down."
)
NETWORK = "A faster network is faster for all sizes alike."
NS = 1e-9


class SegmentReplay:
    """The run as a system that can be asked what-if questions, as `replay.model.Replay` says."""

    def __init__(self, results: Results) -> None:
        self._results = results
        self._focus_ns = results.focus.length_ns
        self._program: Program | None = None
        self.reason = ""
        self._starves = results.ledger.share(Account.INPUT_WAIT) > INPUT_WAIT_SHARE
        try:
            self._program = extract(results)
        except NotReplayableError as refusal:
            self.reason = str(refusal)
            return
        error = self.relative_error
        if error is not None and error > MOST_RELATIVE_ERROR:
            self._program = None
            self.reason = (
                f"the replay of the unchanged run differs from the measured one by {error:.1%}"
            )

    @property
    def available(self) -> bool:
        """Whether the run can be replayed at all."""
        return self._program is not None

    @property
    def program(self) -> Program | None:
        """The run as rows; None when it cannot be replayed."""
        return self._program

    @property
    def relative_error(self) -> float | None:
        """|replayed - measured| / measured of the unedited run; None when not available."""
        if self._program is None:
            return None
        return abs(float(self._base.sum()) - self._focus_ns) / self._focus_ns

    @property
    def ideal_runtime_s(self) -> float | None:
        """T_id: the run on a network without transfer time, in seconds; None when not available."""
        if self._program is None:
            return None
        program = self._program
        return NS * float(segment_lengths(program, program.work, program.transfer_ns * 0.0).sum())

    @cached_property
    def causes(self) -> Causes | None:
        """Who made whom wait; None when not available."""
        if self._program is None:
            return None
        try:
            return causes(self._results, self._program)
        except ImportError:
            return None  # the trace engine is not built

    def predict(self, edits: Sequence[Edit], *, after: Sequence[Edit] = ()) -> Prediction | None:
        """What the edits give back beyond `after`, applied first; None when not available."""
        if self._program is None:
            return None
        before = self._lengths(tuple(after))
        edited = self._lengths((*after, *edits))
        gains = before - edited
        gain_s = NS * float(gains.sum())
        interval = gain_interval(gains)
        has_interval = interval is not None
        assumptions: tuple[str, ...] = ASSUMPTIONS
        if self._starves or any(edit.account is Account.INPUT_WAIT for edit in edits):
            assumptions = (*assumptions, QUEUES)
        assumptions = (*assumptions, *_assumptions_of((*after, *edits)))
        if interval is None:
            assumptions = (*assumptions, NO_INTERVAL)
            interval = (float(gains.sum()), float(gains.sum()))
        return Prediction(
            gain_s=gain_s,
            interval_s=(NS * interval[0], NS * interval[1]),
            gain_share=gain_s / (NS * self._focus_ns),
            reach=float(edited[gains > 0].sum() / max(1.0, edited.sum())),
            assumptions=assumptions,
            has_interval=has_interval,
        )

    @cached_property
    def _base(self) -> Floats:
        return self._lengths(())

    def _lengths(self, edits: tuple[Edit, ...]) -> Floats:
        """Length of each segment after the edits, in nanoseconds, shape (segments,)."""
        assert self._program is not None
        program = self._program
        lengths = segment_lengths(
            program, apply_edits(program, edits), transfer_after(program, edits)
        )
        if any(edit.background for edit in edits):
            beyond = background_end_ns(program, edits, lengths) - float(lengths.sum())
            lengths[-1] += max(0.0, beyond)
        return lengths


def _assumptions_of(edits: Sequence[Edit]) -> tuple[str, ...]:
    """What a prediction assumes because of the edits that it is of."""
    found = []
    if any(edit.background for edit in edits):
        found.append(BACKGROUND)
    if any(edit.network != 1.0 for edit in edits):
        found.append(NETWORK)
    return tuple(found)
