"""The loss account in the document: its places and its findings."""

from perfscope.document.losses import losses
from perfscope.findings.facts.facts import Facts
from perfscope.savings import SHARED_HOST
from perfscope.schema.enums import Account
from tests.findings.analyzed import analyze, analyze_trace
from tests.findings.facts.test_outside_load import built
from tests.findings.training_runs import EVALUATOR, Plan


def test_what_one_finding_explains_is_where_the_finding_says() -> None:
    """Samples see the model's function, which training calls too: evaluate() is to be changed."""
    called = (("Network.forward", "/job/network.py", 36),)
    run = analyze(Plan(ranks=2, evaluate_s=2.0, called=called))
    found = losses(Facts(run.results, run.replay), tuple(run.findings.values()))
    (entry,) = [one for one in found.entries if one.account is Account.EVALUATION]
    assert entry.findings == ("rank_zero_evaluation",)
    assert entry.where is not None
    assert (entry.where.function, entry.where.line) == EVALUATOR[::2]


def test_a_saving_on_a_shared_host_has_no_interval_and_says_why() -> None:
    alone, shared = (
        [one.saving for one in losses(sleepers(waited=share), ()).entries if one.saving.seconds]
        for share in (0.0, 0.5)
    )
    assert any(one.interval_s for one in alone)
    assert not [one for one in alone if one.reason]
    assert not [one for one in shared if one.interval_s]
    assert SHARED_HOST in [one.reason for one in shared]


def sleepers(*, waited: float) -> Facts:
    """Two ranks that sleep, and wait for CPUs which others have for a share of the run."""
    run = analyze_trace(built(waited=waited, loop_s=0.1, sleeps=True))
    return Facts(run.results, run.replay)
