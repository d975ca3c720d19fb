"""The loss account in the document: its places and its findings."""

from perfscope.document.losses import losses
from perfscope.findings.facts.facts import Facts
from perfscope.schema.enums import Account
from tests.findings.analyzed import analyze
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
