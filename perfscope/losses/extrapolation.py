"""What a cause costs in all steps of a thinned run, by what it costs in those that were kept."""

from math import sqrt

import numpy as np

from perfscope.arrays import Floats
from perfscope.attribution.ledger import INDEX
from perfscope.judging import FEWEST_SAMPLES
from perfscope.losses.cause import LossCause
from perfscope.metrics.results import Results
from perfscope.schema.enums import Account, LossKind
from perfscope.structures import dataclass
from perfscope.trace.operations import code_of
from perfscope.units import NS


@dataclass(frozen=True)
class Extrapolated:
    """What comes once, before or behind the steps, and the relative standard error of the rest."""

    once_ns: float = 0.0
    error: float | None = None


class Extrapolation:
    """Tells what of a cause comes with every step, so that kept ones stand for the others."""

    def __init__(self, results: Results) -> None:
        self._results, self._whole, ledger = results, results.whole_run, results.ledger
        self._kept_s = {
            account: int(ledger.ns[place].sum()) * NS for account, place in INDEX.items()
        }

    def of(self, cause: LossCause, ns: int, table: Floats | None) -> Extrapolated:
        """What can be told of a cause.

        `table` is the same by step and rank, as far as it is known.
        """
        if self._whole is None:
            return Extrapolated()
        account = Account.UNTRACED if cause.kind is LossKind.UNKNOWN else cause.account
        if cause.kind in (LossKind.OTHER_WORK, LossKind.UNKNOWN) and account is not None:
            return Extrapolated(once_ns=self._once_share(account) * ns)
        if cause.operation:
            return Extrapolated(once_ns=self._once_in_calls(cause))
        if table is None or len(table) - 2 < FEWEST_SAMPLES:  # between the first and the last
            return Extrapolated()
        return self._of_steps(table.sum(axis=1), self._lengths_ns(len(table)))

    def _once_share(self, account: Account) -> float:
        """Of the time in an account, what lies outside the steps, by the estimate for all."""
        assert self._whole is not None
        stands_for, kept_s = self._whole.stands_for, self._kept_s[account]
        run_s = sum(one.seconds for one in self._whole.accounts if one.account is account)
        if stands_for <= 1.0 or kept_s <= 0:
            return 0.0
        return min(1.0, max(0.0, (stands_for - run_s / kept_s) / (stands_for - 1.0)))

    def _once_in_calls(self, cause: LossCause) -> float:
        """What calls of an operation take after the wait, before and behind the kept windows."""
        kept, waits = self._results.trace.kept, self._results.waits
        if kept is None:
            return 0.0
        pool, is_known = waits.pool, cause.kind is LossKind.TRANSFER
        here = np.flatnonzero((pool.op == code_of(cause.operation)) & (waits.known == is_known))
        enter, rank = pool.enter[here], pool.rank[here]
        outside = (enter < kept.starts_ns[rank, 1]) | (enter >= kept.ends_ns[rank, -2])
        begin = waits.need[here] if is_known else enter
        return float(np.maximum(pool.exit[here] - begin, 0)[outside].sum())

    def _lengths_ns(self, units: int) -> Floats:
        """How long the units of a table but for the first and the last took; equal if not known."""
        starts = self._results.steps.starts_ns
        starts = starts[:: max(1, -(-len(starts) // units))]
        if len(starts) != units:
            return np.ones(units - 2)
        return np.diff(starts)[1:].astype(np.float64)

    def _of_steps(self, by_step: Floats, lengths_ns: Floats) -> Extrapolated:
        """The first and the last step hold what lies before and behind all of them.

        What is lost in the run is as many times more as the run is longer: a ratio estimate, whose
        error is that of what a step loses beyond its share of the time (W. G. Cochran, *Sampling
        Techniques*, 1977, chapter 6).
        """
        assert self._whole is not None
        inner, ends = by_step[1:-1], float(by_step[0] + by_step[-1])
        mean = float(inner.mean())
        missing = 1.0 - self._whole.kept / max(self._whole.ended, self._whole.kept)
        beyond = inner - mean * lengths_ns / lengths_ns.mean()
        error = float(beyond.std(ddof=1)) / mean * sqrt(missing / len(inner)) if mean > 0 else None
        return Extrapolated(max(0.0, ends - 2.0 * mean), error)
