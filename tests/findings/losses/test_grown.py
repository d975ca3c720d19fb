"""What grows, and what the loss account says of the same function."""

import pytest

from perfscope.findings.core.finding import Evidence, Finding, Gain
from perfscope.findings.losses.grown import with_growth
from perfscope.schema.enums import Basis, Status
from perfscope.trace.model import Frame

RECENT, OTHER = Frame("recent", "/job/park.py", 53), Frame("other", "/job/park.py", 80)


def found(name: str, seconds: float, *, where: Frame = RECENT, basis: Basis) -> Finding:
    gain = Gain(seconds, seconds / 20.0, basis=basis, interval_s=(0.9 * seconds, 1.1 * seconds))
    row = Evidence(name, seconds, "s")
    told = Finding(status=Status.FAIL, title=name, summary=f"Of {name}.", gain=gain, id=name)
    return Finding(**{**vars(told), "where": (where,), "evidence": (row,)})


def growth(seconds: float) -> Finding:
    return found("growing_steps", seconds, basis=Basis.UPPER_BOUND)


def lost(name: str = "lost_to_interpreter", *, where: Frame = RECENT) -> Finding:
    return found(name, 6.2, where=where, basis=Basis.REPLAY)


def test_slow_code_that_has_more_and_more_to_do_is_told_by_that() -> None:
    """The bound is what all of the function costs: not to grow is less."""
    growing, interpreter = with_growth([growth(4.0), lost()])
    assert growing.status is Status.FAIL
    assert (growing.gain_s, growing.gain_basis) == (6.2, Basis.UPPER_BOUND)
    assert growing.gain_interval_s is None
    assert "lost_to_interpreter" in growing.summary
    own, lost_there = (row.label for row in growing.evidence)
    assert own == "growing_steps"
    assert "lost_to_interpreter, with the waiting it causes" in lost_there
    assert (interpreter.status, interpreter.gain) == (Status.INFO, None)
    assert interpreter.overlaps == ("growing_steps",)


def test_growth_that_costs_more_keeps_its_seconds() -> None:
    growing, interpreter = with_growth([growth(9.0), lost()])
    assert growing.gain_s == 9.0
    assert interpreter.status is Status.INFO


@pytest.mark.parametrize(
    "other",
    [lost(where=OTHER), lost("load_imbalance"), found("growing_steps", 9.0, basis=Basis.REPLAY)],
)
def test_what_is_of_another_function_or_kind_stays(other: Finding) -> None:
    findings = (growth(4.0), other)
    assert with_growth(findings) == findings


def test_little_growth_explains_no_loss() -> None:
    findings = (growth(3.0), lost())
    assert with_growth(findings) == findings
    assert with_growth(findings[1:]) == findings[1:]
