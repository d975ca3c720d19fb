"""Which findings explain which losses."""

from dataclasses import replace

import pytest

from perfscope.findings.core.finding import Finding, Gain
from perfscope.findings.facts.facts import Facts
from perfscope.findings.losses.claims import claims
from perfscope.losses.entry import Saving
from perfscope.schema.enums import Activity, Basis, Status
from perfscope.trace.model import Frame
from tests.findings.analyzed import analyze_trace
from tests.findings.losses.test_lock_words import FLOCK, WRITE, locked


def test_a_finding_that_nobody_can_replay_explains_what_its_function_loses() -> None:
    """A bound that was counted, as of calls that set up the same each time, has no change."""
    run = analyze_trace(locked(FLOCK, worker=WRITE))
    facts = Facts(run.results, run.replay)
    entry = next(one for one in facts.losses.entries if one.cause.activity is Activity.LOCK)
    assert isinstance(entry.saving, Saving)
    assert entry.frame is not None
    gain = Gain(entry.saving.seconds, 0.5, basis=Basis.UPPER_BOUND)
    counted = Finding(Status.FAIL, "Counted", ".", gain, where=(entry.frame,), id="counted")
    elsewhere = replace(counted, where=(Frame("other", "/job/other.py", 3),), id="elsewhere")
    little = replace(counted, gain=gain.of(0.1 * gain.seconds), id="little")
    assert claims(facts, [counted, elsewhere, little])[entry.cause] == ("counted",)


@pytest.mark.parametrize("activity", [Activity.IMPORTING, Activity.COMPILING])
def test_what_a_function_does_when_it_begins_is_not_what_its_work_takes(
    activity: Activity, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = analyze_trace(locked(FLOCK, worker=WRITE))
    facts = Facts(run.results, run.replay)
    entry = next(one for one in facts.losses.entries if one.cause.activity is Activity.LOCK)
    assert isinstance(entry.saving, Saving)
    assert entry.frame is not None
    begins = replace(entry, cause=replace(entry.cause, activity=activity))
    begun = replace(facts.losses, entries=(begins,))  # the lock's, told as of a beginning
    monkeypatch.setattr(Facts, "losses", begun)
    gain = Gain(entry.saving.seconds, 0.5, basis=Basis.UPPER_BOUND)
    counted = Finding(Status.FAIL, "Counted", ".", gain, where=(entry.frame,), id="counted")
    assert claims(Facts(run.results, run.replay), [counted])[begins.cause] == ()
