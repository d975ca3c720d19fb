"""A trace and what is computed from it when a table needs it, once."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np

from perfscope.arrays import Bools, Ints
from perfscope.attribution.preparation import Prepared, prepare
from perfscope.losses.entry import LossAccount
from perfscope.matching.collectives import Instances
from perfscope.matching.messages import Messages, match_messages
from perfscope.matching.pool import Pool
from perfscope.matching.waits import Waits, split_operations
from perfscope.trace.model import Rank, Table, Trace


class Source:
    """What the tables are made from."""

    def __init__(self, trace: Trace, rules: Sequence[tuple[str, str]] = ()) -> None:
        self.trace = trace
        self._rules = tuple(rules)

    @cached_property
    def prepared(self) -> Prepared:
        """Phases, samples and the ledger of every moment."""
        return prepare(self.trace, rules=self._rules)

    @cached_property
    def losses(self) -> LossAccount:
        """The loss account, as `perfscope analyze` has it."""
        # metrics and replay are loaded for this table alone
        from perfscope.losses.account import loss_account  # noqa: PLC0415
        from perfscope.metrics.compute import compute_prepared  # noqa: PLC0415
        from perfscope.metrics.results import Options  # noqa: PLC0415
        from perfscope.replay.segments import SegmentReplay  # noqa: PLC0415

        results = compute_prepared(self.prepared, Options(phase_rules=self._rules))
        return loss_account(results, SegmentReplay(results))

    @cached_property
    def _everything(self) -> Trace:
        """The trace with Horovod's own operations among the others."""
        ranks = [_with_background(rank) for rank in self.trace.ranks]
        return replace(self.trace, ranks=ranks)

    @cached_property
    def waits(self) -> Waits:
        """The wait and transfer of every operation, those of Horovod's thread included."""
        return split_operations(self._everything)

    @property
    def pool(self) -> Pool:
        """Every operation, rank after rank."""
        return self.waits.pool

    @property
    def instances(self) -> Instances:
        """The collective operations that all their ranks recorded."""
        return self.waits.instances

    @cached_property
    def messages(self) -> Messages:
        """Which send belongs to which receive."""
        return match_messages(self._everything, self.pool)

    @cached_property
    def is_background(self) -> Bools:
        """Which operations were those of Horovod's own thread."""
        tids = [np.unique(rank.background["tid"]) for rank in self.trace.ranks]
        parts = [
            np.isin(self.pool.tid[self.waits.of_rank(position)], own)
            for position, own in enumerate(tids)
        ]
        return np.concatenate(parts) if parts else np.zeros(0, np.bool_)

    @cached_property
    def rank_numbers(self) -> Ints:
        """World rank by position in `Trace.ranks`."""
        return np.array([rank.number for rank in self.trace.ranks], np.int64)

    def missing(self, what: str, otherwise: str) -> str:
        """Why the trace has none of something that some formats cannot hold."""
        return self.trace.not_recorded.get(what, otherwise)


def _with_background(rank: Rank) -> Rank:
    if not len(rank.background):
        return rank
    rows: Table = np.concatenate([rank.operations, rank.background])
    return replace(rank, operations=rows[np.argsort(rows["t0"], kind="stable")])
