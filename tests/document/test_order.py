"""Which faults the verdict tells, and in which order."""

from dataclasses import replace

from perfscope.document import verdict as verdicts
from perfscope.findings.core.finding import Finding, Gain
from perfscope.findings.facts.facts import Facts
from perfscope.schema.enums import Basis, Status
from perfscope.schema.run import Verdict
from tests.findings.analyzed import analyze
from tests.findings.training_runs import Plan


def fault(name: str, status: Status, gain_s: float | None, basis: Basis = Basis.REPLAY) -> Finding:
    """A finding made by hand, of a focus of 100 s."""
    gain = None if gain_s is None else Gain(gain_s, gain_s / 100, basis=basis)
    return Finding(status, name, ".", gain, id=name)


def told(*faults: Finding) -> Verdict:
    analyzed = analyze(Plan(steps=10))
    return verdicts.verdict(Facts(analyzed.results, analyzed.replay), faults, ())


def test_faults_without_seconds_leave_a_place_to_one_that_has_them() -> None:
    unpriced = [fault(name, Status.FAIL, None) for name in "abc"]
    found = told(*unpriced, fault("small", Status.WARN, 2.0), fault("priced", Status.FAIL, 4.0))
    assert found.top == ("a", "b", "priced")
    assert found.combined_gain_s == 4.0


def test_a_warning_with_seconds_does_not_push_a_failure_away() -> None:
    unpriced = [fault(name, Status.FAIL, None) for name in "abc"]
    assert told(*unpriced, fault("small", Status.WARN, 2.0)).top == ("a", "b", "c")


def test_a_fault_without_seconds_counts_as_a_bound_of_a_tenth() -> None:
    faults = [fault("unpriced", Status.FAIL, None), fault("replayed", Status.FAIL, 5.5)]
    faults += [fault(f"up to {s}", Status.FAIL, s, Basis.UPPER_BOUND) for s in (9.0, 10.5)]
    assert told(*faults).top == ("replayed", "up to 10.5", "unpriced")


def test_the_verdict_is_what_can_be_had_and_not_the_larger_bound() -> None:
    bound = fault("bound", Status.FAIL, 5.53, Basis.UPPER_BOUND)
    found = told(bound, fault("replayed", Status.FAIL, 4.71), fault("less", Status.FAIL, 2.7))
    assert found.top == ("replayed", "bound", "less")


def test_a_fault_without_seconds_comes_where_all_that_is_at_stake_would_be_a_bound() -> None:
    def at_stake(share: float) -> Finding:
        stake = Gain(100 * share, share, basis=Basis.UPPER_BOUND)
        return replace(fault("unpriced", Status.FAIL, None), at_stake=stake)

    major = fault("major", Status.FAIL, 12.0)
    assert told(at_stake(0.2), major).top == ("major", "unpriced")
    assert told(at_stake(0.3), major).top == ("unpriced", "major")
    small = fault("small", Status.FAIL, 4.0, Basis.UPPER_BOUND)
    assert told(at_stake(0.03), small).top == ("small", "unpriced")
