"""Checks that did not pass and are about less than the leading saving is unsure by."""

from perfscope.document.small_checks import weighed
from perfscope.document.verdict import verdict
from perfscope.findings.core.finding import Finding, Gain
from perfscope.findings.facts.facts import Facts
from perfscope.schema.enums import Basis, Status
from perfscope.schema.findings import QualityRow
from tests.findings.analyzed import analyze
from tests.findings.training_runs import Plan

LOST = {"most": 1.5, "least": 0.9, "more": 1.0, "unknown": None}


def test_checks_are_small_as_long_as_all_of_them_together_are() -> None:
    """The saving is between 8 s and 12 s: unsure by 2 s, which the first two checks stay below."""
    found = analyze(Plan(slow_rank=1, slow_forward_s=0.2))
    facts = Facts(found.results, found.replay)
    gain = Gain(10.0, 0.3, basis=Basis.REPLAY, interval_s=(8.0, 12.0), is_by_assumption=True)
    own = Finding(id="own", status=Status.FAIL, title="Its own", summary="", gain=gain)
    checks = [QualityRow(name, Status.WARN, name, "", lost_s=lost) for name, lost in LOST.items()]
    passed = QualityRow("passed", Status.PASS, "", "", lost_s=0.0)
    told = weighed(facts, (*checks, passed), (own,), verdict(facts, (own,), ()))
    assert [one.id for one in told if one.is_small] == ["least", "more"]
    assert not any(one.is_small for one in weighed(facts, checks, (), verdict(facts, (), ())))


def test_what_is_much_of_the_run_is_never_small() -> None:
    """However wide the range of the saving is: 20 s of 100 s here."""
    found = analyze(Plan(slow_rank=1, slow_forward_s=0.2))
    facts = Facts(found.results, found.replay)
    run_s = found.results.run_s
    gain = Gain(run_s, 0.3, basis=Basis.REPLAY, interval_s=(0.0, run_s), is_by_assumption=True)
    own = Finding(id="own", status=Status.FAIL, title="Its own", summary="", gain=gain)
    lost = {"large": 0.2 * run_s, "small": 0.02 * run_s}
    checks = [QualityRow(name, Status.WARN, name, "", lost_s=each) for name, each in lost.items()]
    told = weighed(facts, checks, (own,), verdict(facts, (own,), ()))
    assert [one.id for one in told if one.is_small] == ["small"]
