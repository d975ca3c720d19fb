"""Seconds by function and account."""

import pytest

from perfscope.metrics.compute import compute
from perfscope.schema.enums import Account
from tests.support.trace_builder import TraceBuilder

FILE = "/home/user/train.py"


def test_functions_by_account_with_the_line_seen_most() -> None:
    builder = TraceBuilder(2, end_s=10.0)
    for number in (0, 1):
        rank = builder.rank(number).init(0.0).finalize(10.0)
        for tenth in range(1, 100):
            line = 7 if tenth % 3 else 8
            rank.stack(tenth / 10, [("<module>", FILE, 90), ("crunch", FILE, line)])
    builder.rank(0).op("MPI_Barrier", 4.0, 6.0)
    builder.rank(1).op("MPI_Barrier", 5.0, 6.0)
    ledger = compute(builder.build()).ledger
    (share,) = ledger.functions
    assert (share.function, share.file, share.line) == ("crunch", FILE, 7)
    assert share.account is Account.COMPUTATION
    assert share.seconds == pytest.approx(17.0)
    assert share.seconds_by_rank == pytest.approx((8.0, 9.0))
    assert ledger.unlabeled_share == 0.0
    assert ledger.share(Account.COMMUNICATION_WAIT) == pytest.approx(1.0 / 20.0)
    assert ledger.ranks == (0, 1)


def test_without_samples_computation_is_unlabeled() -> None:
    builder = TraceBuilder(1, end_s=10.0)
    builder.rank(0).init(2.0).finalize(9.0)
    ledger = compute(builder.build()).ledger
    assert ledger.functions == ()
    assert ledger.unlabeled_share == pytest.approx(0.7)
