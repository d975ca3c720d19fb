"""The time ledger: every nanosecond of every rank's life in exactly one account."""

import numpy as np

from perfscope.arrays import Bools, Ints
from perfscope.schema.enums import COMMUNICATION_ACCOUNTS, Account
from perfscope.schema.time import FunctionShare
from perfscope.structures import dataclass

ACCOUNTS: tuple[Account, ...] = tuple(Account)
INDEX: dict[Account, int] = {account: place for place, account in enumerate(ACCOUNTS)}

IS_COMMUNICATION: Bools = np.isin(
    np.arange(len(ACCOUNTS)), [INDEX[account] for account in COMMUNICATION_ACCOUNTS]
)
"""Which indices of accounts are communication."""


@dataclass(frozen=True)
class Ledger:
    """A partition of the ranks' process lives.

    `ns` has shape (accounts, ranks) in the order of `Account` and `ranks`, int64 nanoseconds; each
    column adds up to `life_ns` of its rank exactly.
    """

    ranks: tuple[int, ...]
    ns: Ints
    life_ns: Ints
    unlabeled_ns: Ints  # untraced + computation whose function is unknown
    functions: tuple[FunctionShare, ...]  # computation by function, most seconds first

    @property
    def unlabeled_share(self) -> float:
        """Share of all process lives that no function or phase accounts for; the target is 0.05."""
        total = int(self.life_ns.sum())
        return float(self.unlabeled_ns.sum()) / total if total else 0.0

    def share(self, account: Account) -> float:
        """Share of all process lives in one account."""
        total = int(self.life_ns.sum())
        return float(self.ns[list(Account).index(account)].sum()) / total if total else 0.0
