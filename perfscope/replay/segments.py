"""Replay of runs whose ranks meet in collectives and messages, segment by segment.

exit = max(arrival, need) + transfer is a (max,+) system: after a collective of all ranks nothing of
the history matters any more, so the segments between them replay independently and add up
(docs/metrics.md, section 4).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from math import inf

import numpy as np
import numpy.typing as npt

from perfscope.arrays import Floats
from perfscope.metrics.results import Results
from perfscope.replay.assumptions import (
    ALWAYS,
    CREATION,
    ESTIMATED,
    NO_INTERVAL,
    NO_PRODUCERS,
    QUEUES,
    SINGLE_TIMES,
    TOO_MANY_CALLS,
    about_queues,
    assumptions_of,
)
from perfscope.replay.bootstrap import gain_interval, no_more
from perfscope.replay.call_costs import CallCosts, is_estimated
from perfscope.replay.causes import explained
from perfscope.replay.charges import Charges
from perfscope.replay.coupled import EditedQueue, coupled_lengths, is_small_enough
from perfscope.replay.early import early
from perfscope.replay.edited import Done, Edited, shared_by
from perfscope.replay.edits import (
    Levelable,
    apply_edits,
    are_times_unknown,
    background_end_ns,
    by_segment,
    tells_apart,
)
from perfscope.replay.extract import NotReplayableError, extract
from perfscope.replay.model import Causes, Edit, Persistence, Prediction, RefusedEditError
from perfscope.replay.network_edits import NETWORKS, fused, network_after
from perfscope.replay.persistence import persistence
from perfscope.replay.prefetch_queues import prefetch_queues
from perfscope.replay.producers import PrefetchQueue
from perfscope.replay.program import (
    Program,
    Work,
    busiest_ns,
    lengths_of_networks,
    segment_lengths,
)
from perfscope.schema.enums import Account
from perfscope.trace.operations import OperationClass
from perfscope.units import NS

MOST_RELATIVE_ERROR = 1e-3  # beyond it the replay is not this run, and predicts nothing
INPUT_WAIT_SHARE = 0.01
CREATION_SHARE = 0.01  # of the focus, in creating communicators on one rank: worth a sentence

SCHEDULED = (Account.EVALUATION, Account.CHECKPOINT)  # a program does these when it chooses to

_Question = tuple[tuple[Edit, ...], tuple[Edit, ...]]


class SegmentReplay:
    """The run as a system that can be asked what-if questions, as `replay.model.Replay` says."""

    def __init__(
        self, results: Results, *, when_chosen: Callable[[Results], None] | None = None
    ) -> None:
        """Prepares the replay of a run.

        Args:
            results: the run.
            when_chosen: called with it as soon as nobody asks any more which calls are partners.
        """
        self._results = results
        self._focus_ns = results.focus.length_ns
        self._program: Program | None = None
        self._answers: dict[_Question, Prediction | RefusedEditError] = {}
        self._done: Done | None = None
        self.reason = ""
        self.deviation: float | None = None
        self._input_share = results.ledger.share(Account.INPUT_WAIT)
        try:
            self._program = extract(results, when_chosen)
        except NotReplayableError as refusal:
            self.reason = str(refusal)
            return
        error = self.relative_error
        if error is not None and error > MOST_RELATIVE_ERROR:
            self._program = None
            self.deviation = error
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

    @cached_property
    def ideal_runtime_s(self) -> float | None:
        """T_id: the run on a network without transfer time, in seconds; None when not available."""
        if self._program is None:
            return None
        return NS * self._networks[0]

    @property
    def causes(self) -> Causes | None:
        """Who made whom wait; None when not available."""
        return None if self._explained is None else self._explained[0]

    @property
    def charges(self) -> Charges | None:
        """What made ranks wait, step by step; None when not available."""
        return None if self._explained is None else self._explained[1]

    @cached_property
    def _explained(self) -> tuple[Causes, Charges] | None:
        """Both at once: what each row waited takes too much room to be kept in between."""
        if self._program is None:
            return None
        return explained(self._results, self._program)

    def predict(self, edits: Sequence[Edit], *, after: Sequence[Edit] = ()) -> Prediction | None:
        """What the edits save beyond `after`, applied first; None when not available.

        Several findings ask the same: an answer is kept.

        Raises:
            RefusedEditError: the run does not hold what an edit needs.
        """
        if self._program is None:
            return None
        question = tuple(edits), tuple(after)
        if question not in self._answers:
            try:
                self._answers[question] = self._predict(*question)
            except RefusedEditError as refusal:
                self._answers[question] = refusal
        answer = self._answers[question]
        if isinstance(answer, RefusedEditError):
            raise RefusedEditError(*answer.args)
        return answer

    def persistence(self, *, after: Sequence[Edit] = ()) -> Persistence | None:
        """How far a rank late in one step is late in the next one; None when not known."""
        if self._program is None:
            return None
        work = by_segment(self._program, self._after(tuple(after)).work)
        return persistence(work, self._program.segment_kind, self._results.steps.count)

    def _predict(self, edits: tuple[Edit, ...], after: tuple[Edit, ...]) -> Prediction:
        assert self._program is not None
        everything = (*after, *edits)
        done = self._after(after)
        if done.run is None:
            done.run = self._edited(after, done.work)
        before, edited = done.run, self._edited(everything, done.work, edits, done.levelable)
        shared = shared_by(before.first, edited.first)
        lengths, lasted = edited.by(shared), before.by(shared)
        gains = lasted - lengths
        gain_s = NS * float(gains.sum())
        steps = self._program.segment_step
        steps = steps if steps is None or len(shared) == len(steps) else steps[shared]
        interval = gain_interval(
            gains,
            steps,
            scheduled=all(edit.account in SCHEDULED for edit in edits),
        )
        assumptions = (ALWAYS, *self._about_queues(everything, edited), *assumptions_of(everything))
        if any(edit.fuse_bytes is not None for edit in everything) and is_estimated(self._results):
            assumptions = (*assumptions, ESTIMATED)
        if self._creates_communicators:
            assumptions = (*assumptions, CREATION)
        if are_times_unknown(self._program, everything):
            assumptions = (*assumptions, SINGLE_TIMES)
        if interval is None:
            assumptions = (*assumptions, NO_INTERVAL)
        else:
            interval = no_more(interval, float(before.lengths.sum()) - edited.busiest_ns)
        return Prediction(
            gain_s=gain_s,
            interval_s=None if interval is None else (NS * interval[0], NS * interval[1]),
            gain_share=gain_s / (NS * self._focus_ns),
            reach=float(lengths[np.flatnonzero(gains > 0)].sum() / max(1.0, lengths.sum())),
            assumptions=assumptions,
            once_s=NS * float(gains[self._comes_once[shared]].sum()),
            early=None if steps is None else early(gains, lasted, steps),
        )

    @cached_property
    def _comes_once(self) -> npt.NDArray[np.bool_]:
        """Which segments lie outside the steps that a thinned run is known by."""
        kept, lengths = self._results.trace.kept, self._base
        if kept is None:
            return np.zeros(len(lengths), np.bool_)
        middle = self._results.focus.start_ns + np.cumsum(lengths) - lengths / 2
        first, last = kept.starts_ns[:, 1].min(), kept.ends_ns[:, -2].max()
        return np.asarray((middle < first) | (middle > last))

    @property
    def _base(self) -> Floats:
        """Length of each segment of the unedited run, in nanoseconds, its queues as measured."""
        assert self._program is not None
        return self._program.measured_lengths_ns

    @cached_property
    def _creates_communicators(self) -> bool:
        """Whether some rank spends so long in it that the waiting in it may matter."""
        pool, focus = self._results.waits.pool, self._results.focus
        rows = np.flatnonzero(pool.is_of(OperationClass.COMMUNICATOR))
        enter, leave = (pool.some(name, rows) for name in ("enter", "exit"))
        begin = np.maximum(enter, focus.start_ns)
        ns = np.maximum(np.minimum(leave, focus.end_ns) - begin, 0)
        spent = np.bincount(pool.rank[rows], ns)
        return float(spent.max(initial=0.0)) > CREATION_SHARE * self._focus_ns

    @cached_property
    def _queues(self) -> tuple[PrefetchQueue, ...]:
        """Input queues that can be replayed: with them, too, the unedited run is the measured."""
        assert self._program is not None
        program = self._program
        found = prefetch_queues(self._results, program)
        queues = [EditedQueue(queue) for queue in found]
        if not is_small_enough(program, queues):
            return ()
        again = coupled_lengths(program, program.work, program.transfer_ns, queues)
        error = abs(float(again.sum()) - self._focus_ns) / self._focus_ns
        return found if error <= MOST_RELATIVE_ERROR else ()

    def _after(self, edits: tuple[Edit, ...]) -> Done:
        """What the work becomes by edits beyond which others are asked about, often several."""
        assert self._program is not None
        if self._done is None or self._done.edits != edits:
            self._done = None  # before there is another one: it may be large
            work = apply_edits(self._program, edits)
            self._done = Done(edits, work, Levelable(work))
        return self._done

    def _edited(
        self,
        edits: tuple[Edit, ...],
        done: Work,
        left: tuple[Edit, ...] = (),
        levelable: Levelable | None = None,
    ) -> Edited:
        """The run after the edits; fused calls come first, whatever the order.

        `done` is the unfused work after all edits but those that are `left`, the last ones, and
        `levelable` what was found of it.
        """
        assert self._program is not None
        program, first = self._program, np.arange(self._program.segment_count)
        if not edits:
            return Edited(self._base, first)
        if (known := self._on_network(edits)) is not None:
            return Edited(known, first, busiest_ns=program.measured_busiest_ns)
        limits = [edit.fuse_bytes for edit in edits if edit.fuse_bytes is not None]
        is_scaled = any(edit.bytes != 1.0 for edit in edits)
        # not kept
        costs = self._costs(max(limits, default=0)) if limits or is_scaled else None
        if limits and costs is not None:
            together = fused(self._results, program, costs, max(limits))
            costs = costs if is_scaled else None
            program, first = together.joined()
            del together
        if program is self._program and tells_apart(edits[: len(edits) - len(left)], left):
            work = apply_edits(program, left, to=done, levelable=levelable)
        else:
            work = apply_edits(program, edits)
        transfer = network_after(self._results, program, edits, work, costs)
        del costs  # a long run has no room for them any longer
        queues = self._edited_queues(program, edits, work)
        if drops_queues := bool(queues) and not is_small_enough(program, queues):
            queues = []  # fused calls are no cuts: they are replayed one by one
            if _producers(edits):
                raise RefusedEditError(TOO_MANY_CALLS)
        if queues:
            lengths = coupled_lengths(program, work, transfer, queues)
        elif work is program.work and transfer is program.transfer_ns:
            lengths = program.measured_lengths_ns.copy()
        else:
            lengths = segment_lengths(program, work, transfer)
        if any(edit.background for edit in edits):
            beyond = background_end_ns(program, edits, lengths) - float(lengths.sum())
            lengths[-1] += max(0.0, beyond)
        return Edited(lengths, first, drops_queues, busiest_ns(program, work))

    def _costs(self, most_bytes: int) -> CallCosts:
        """What collectives carry, some of which may carry so many bytes together."""
        assert self._program is not None
        return CallCosts.of(self._results, self._program, most_bytes)

    def _on_network(self, edits: tuple[Edit, ...]) -> Floats | None:
        """Lengths of segments on a network of `NETWORKS`, once; None for all else."""
        network = edits[0].network
        is_alone = edits == (Edit(factor=1.0, network=network),)
        if not is_alone or network not in NETWORKS or self._queues:
            return None
        return self._networks[1].pop(network, None)

    @cached_property
    def _networks(self) -> tuple[float, dict[float, Floats]]:
        """The run without transfer in nanoseconds, and the segments on such networks, together."""
        assert self._program is not None
        lengths = lengths_of_networks(self._program, NETWORKS)
        found = {network: own.copy() for network, own in zip(NETWORKS, lengths, strict=True)}
        return float(found[inf].sum()), found

    def _edited_queues(
        self, program: Program, edits: Sequence[Edit], work: Work
    ) -> list[EditedQueue]:
        """The queues of ranks whose waiting for input no edit changes."""
        producers = _producers(edits)
        if producers and not self._queues:
            raise RefusedEditError(NO_PRODUCERS)
        known = [queue for queue in self._queues if not _is_changed(queue, program, work)]
        places = {number: place for place, number in enumerate(program.ranks)}
        # where the waiting itself is edited the queue is left alone, and so is who fills it
        queue_of = {queue.position: queue for queue in self._queues}
        for number in sorted(producers):
            queue = queue_of.get(places[number])
            if queue is None:
                raise RefusedEditError(f"nothing is known about the input queue of rank {number}")
            if not queue.producers:
                raise RefusedEditError(
                    f"it is not known how many producers fill the input queue of rank {number}: "
                    "only queue.Queue and the DataLoader of PyTorch tell"
                )
        return [EditedQueue(queue, producers.get(program.ranks[queue.position])) for queue in known]

    def _about_queues(self, edits: Sequence[Edit], edited: Edited) -> tuple[str, ...]:
        """What is assumed about input queues."""
        if edited.drops_queues:
            return (QUEUES,)
        if not edits or not self._queues:
            least = 0.0 if edits else INPUT_WAIT_SHARE
            return (QUEUES,) if self._input_share > least else ()
        return about_queues(self._queues, len(self._results.trace.ranks))


def _producers(edits: Sequence[Edit]) -> dict[int, int]:
    """Producers of each rank that an edit names; the last one counts."""
    return {
        rank: edit.producers
        for edit in edits
        if edit.producers is not None
        for rank in edit.ranks or ()
    }


def _is_changed(queue: PrefetchQueue, program: Program, work: Work) -> bool:
    """Whether an edit changed the rank's waiting for input itself."""
    changed = work.ns[: len(program.work.ns)] != program.work.ns
    return bool(np.any(changed & queue.is_get(len(changed))))
