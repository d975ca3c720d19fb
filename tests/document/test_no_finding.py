"""What is said of the largest loss, and of what was not judged, where no finding says it."""

from dataclasses import replace
from typing import Any

import pytest

from perfscope.document.headline import outside
from perfscope.document.no_finding import largest_loss, without_findings
from perfscope.findings.core.finding import Finding
from perfscope.losses.account import loss_account
from perfscope.losses.cause import LossCause
from perfscope.losses.entry import Entry, LossAccount, Saving
from perfscope.metrics.results import Options, Results
from perfscope.schema.enums import Basis, LossKind, LossPattern, Status
from tests.findings.analyzed import analyze, analyze_trace
from tests.findings.training_runs import Plan, training_run

CHECKED = (Finding(Status.PASS, "fine", ".", id="fine"),)
WINDOW_NS = 100_000_000_000


def waiting(pattern: LossPattern, share: float, *, is_certain: bool = True) -> LossAccount:
    """The ranks wait for a tenth of their time, for rank 1 as much of that as is given."""
    entry = Entry(
        LossCause(LossKind.WAITING),
        own_ns=0,
        waiting_ns=WINDOW_NS // 10,
        ranks=(1, 0),
        first_share=share,
        pattern=pattern,
        is_certain=is_certain,
        saving=Saving(2.0, None, Basis.REPLAY),
    )
    return LossAccount(WINDOW_NS, WINDOW_NS, WINDOW_NS * 9 // 10, (entry,))


@pytest.fixture(scope="module")
def healthy() -> Results:
    return analyze(Plan(steps=20)).results


@pytest.mark.parametrize(
    ("pattern", "share", "is_certain", "is_told"),
    [
        (LossPattern.STATIC, 0.8, True, True),
        (LossPattern.STATIC, 0.5, True, False),
        (LossPattern.STATIC, 0.8, False, False),
        (LossPattern.VARYING, 0.8, True, False),
    ],
)
def test_for_whom_is_waited_is_told_where_that_is_mostly_one_rank_in_every_step(
    healthy: Results, pattern: LossPattern, share: float, is_certain: bool, is_told: bool
) -> None:
    losses = waiting(pattern, share, is_certain=is_certain)
    told = without_findings(healthy, CHECKED, losses)
    assert ("mostly for rank 1," in told) is is_told
    assert "if all ranks took equally long, the run would be 2.00 s shorter" in told


def test_the_first_rank_of_a_loss_has_the_share_that_it_caused() -> None:
    """Rank 1 alone is 100 ms late in each step, and the others hardly ever."""
    run = analyze(Plan(steps=20, slow_rank=1, slow_forward_s=0.1))
    late = next(
        one
        for one in loss_account(run.results, run.replay).entries
        if one.cause.kind is LossKind.WAITING and one.ranks[:1] == (1,)
    )
    assert 0.9 < late.first_share <= 1.0


@pytest.mark.parametrize(
    ("extra_s", "focus", "is_told"),
    [(0.0, None, False), (4.0, None, True), (4.0, "1:22", False), (100.0, None, False)],
    ids=["all of it", "a part", "a window that was chosen", "most, which was told"],
)
def test_what_was_not_judged_is_told_once_and_not_of_a_window_that_was_chosen(
    extra_s: float, focus: str | None, is_told: bool
) -> None:
    """A run of 100 steps of 0.26 s, behind which the program goes on for some seconds."""
    trace = training_run(Plan(steps=100))
    trace = replace(trace, wall_ns=trace.wall_ns + round(extra_s * 1e9))
    results = analyze_trace(trace, Options(focus=focus)).results
    told = without_findings(results, CHECKED, waiting(LossPattern.STATIC, 0.8))
    assert ("come once" in told) is is_told
    assert bool(outside(results, 0.0)) is (extra_s > 50.0)


@pytest.mark.parametrize(
    ("first", "named"),
    [
        ({"cause": LossCause(LossKind.UNKNOWN)}, 1),
        ({"pattern": LossPattern.ONCE}, 1),
        ({}, 0),
    ],
)
def test_the_loss_that_is_placed_is_the_one_that_is_named(
    healthy: Results, first: dict[str, Any], named: int
) -> None:
    """Neither what is not known nor what comes once, where something of each step is lost."""
    account = waiting(LossPattern.STATIC, 0.8)
    entry = account.entries[0]
    entries = (replace(entry, waiting_ns=WINDOW_NS // 5, **first), entry)
    account = replace(account, training_ns=WINDOW_NS * 7 // 10, entries=entries)
    told = without_findings(healthy, CHECKED, account)
    assert "The largest loss is " in told
    ranks = len(healthy.trace.ranks)
    assert largest_loss(account, told, ranks) == named
    assert largest_loss(account, "All is well.", ranks) is None
    small = replace(account, entries=(replace(entry, waiting_ns=WINDOW_NS // 1000),))
    assert largest_loss(small, without_findings(healthy, CHECKED, small), ranks) is None
