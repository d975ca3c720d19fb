"""Evaluation that is the very work of a program is no time that training loses."""

import pytest

from perfscope.attribution.ledger import INDEX
from perfscope.metrics.compute import compute
from perfscope.schema.enums import Account, PhaseKind
from tests.support.trace_builder import TraceBuilder

MAIN = ("main", "/job/search.py", 76)
EVALUATES = (MAIN, ("evaluate", "/job/search.py", 56), ("numpy.linalg.solve", "<built-in>", 0))
OTHER = (MAIN, ("advance", "/job/search.py", 40), ("numpy.ndarray.operator", "<built-in>", 0))
WAITS = (MAIN, ("locked", "/job/search.py", 26), ("flock", "<system-call>", 0))


def evaluation_s(*shares: float, trained: bool = False) -> float:
    """Seconds of evaluation of ranks that evaluate for these shares of their work of 10 s."""
    builder = TraceBuilder(len(shares), end_s=20.0)
    for number, share in enumerate(shares):
        rank = builder.rank(number)
        for tick in range(200):
            working = EVALUATES if tick // 2 % 50 < 50 * share else OTHER
            rank.stack(0.1 * tick + 0.05, working if tick % 2 else WAITS)
        if trained:
            rank.phase(PhaseKind.BACKWARD, 0.0, 0.01)
    ledger = compute(builder.build()).ledger
    return float(ledger.ns[INDEX[Account.EVALUATION]].sum() * 1e-9)


def test_who_does_nothing_else_loses_nothing_by_it() -> None:
    assert evaluation_s(1.0, 0.98) == 0.0


@pytest.mark.parametrize("shares", [(0.8, 0.8), (1.0, 0.0)], ids=["both", "one rank alone"])
def test_beside_other_work_it_is_what_its_name_says(shares: tuple[float, float]) -> None:
    assert evaluation_s(*shares) > 3.0


def test_a_framework_tells_that_something_is_trained() -> None:
    assert evaluation_s(1.0, 1.0, trained=True) > 3.0


def test_a_name_tells_that_something_is_trained() -> None:
    builder = TraceBuilder(1, end_s=20.0)
    for tick in range(200):
        builder.rank(0).stack(0.1 * tick + 0.05, (("train_model", "/job/go.py", 9), *EVALUATES))
    ledger = compute(builder.build()).ledger
    assert float(ledger.ns[INDEX[Account.EVALUATION]].sum() * 1e-9) > 19.0
