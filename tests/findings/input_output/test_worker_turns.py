"""Workers that a DataLoader starts for each epoch: told where they are most of the wait."""

from collections.abc import Mapping, Sequence

import pytest

from perfscope.schema.enums import Confidence, Status
from perfscope.trace.model import Trace
from tests.findings.analyzed import analyze_trace, without_replay
from tests.support.loader_epochs import Epochs, epochs_run

ANEW: dict[str, object] = {"workers": 2, "persistent_workers": False, "training": True}
TURNS = {
    "asked": 60,
    "ready": 54,
    "ready_ns": 540_000_000,
    "late_ns": 1_800_000_000,
    "turns": 6,
    "first_ns": 1_800_000_000,
    "starts_ns": 1_200_000_000,
    "ends_ns": 300_000_000,
}


def fed_anew(
    loaders: Sequence[Mapping[str, object]], counts: object, plan: Epochs | None = None
) -> Trace:
    """A run whose workers start for each epoch, with what PyTorch's loaders tell and counted."""
    torch = {"loaders": list(loaders)} | ({"batches": counts} if counts else {})
    return epochs_run(plan or Epochs(), torch)


@pytest.mark.parametrize("counts", [None, TURNS])
def test_workers_that_are_started_for_each_epoch_shall_be_kept(counts: object) -> None:
    """Of 3.84 s of waiting those of later epochs beyond the usual 10 ms, and not all of it."""
    finding = analyze_trace(fed_anew([ANEW], counts)).findings["data_stall"]
    assert finding.status is Status.FAIL
    assert "new workers" in finding.title
    assert finding.gain_s == pytest.approx(6 * 0.55 + 54 * 0.01, rel=0.01)
    assert finding.first is not None
    assert finding.first.seconds == pytest.approx(5 * (0.2 + 0.29 + 0.05), rel=0.01)
    least_s = 5 * (0.2 + 0.29 - 2 * 0.111 + 0.05)
    assert finding.first.interval_s == pytest.approx((least_s, finding.gain_s), rel=0.01)
    assert finding.confidence is Confidence.MEDIUM
    assert not finding.is_inferred
    assert finding.actions[0].startswith("Set persistent_workers=True in the DataLoader")
    assert sum("persistent_workers" in one for one in finding.actions) == 1
    each = "ending them takes 550 ms each time, 3.30 s in all"
    assert (each in finding.actions[0]) is (counts is not None)


def test_where_new_workers_are_the_cause_their_start_is_no_place_of_batches() -> None:
    """They are seen in a function of the program, which runs before their first batch."""
    plan = Epochs(starting=(("prepare", "/job/train.py", 7),))
    finding = analyze_trace(fed_anew([ANEW], TURNS, plan)).findings["data_stall"]
    assert "new workers" in finding.title
    assert not any("train.py:7" in one for one in (finding.title, *finding.actions))
    assert all(one.line != 7 for one in finding.where)
    kept = fed_anew([{**ANEW, "persistent_workers": True}], TURNS, plan)
    assert "train.py:7" in analyze_trace(kept).findings["data_stall"].title


@pytest.mark.parametrize(
    ("loaders", "plan", "is_told"),
    [
        ([{**ANEW, "persistent_workers": True}], Epochs(), False),
        ([{**ANEW, "persistent_workers": True}, ANEW], Epochs(), True),
        ([{**ANEW, "training": False}], Epochs(), False),
        ([{**ANEW, "workers": 0}], Epochs(), False),
        ([], Epochs(), False),
        ([ANEW], Epochs(usual_s=0.2), False),
    ],
)
def test_workers_shall_be_kept_only_where_their_starts_are_most_of_the_wait(
    loaders: list[dict[str, object]], plan: Epochs, is_told: bool
) -> None:
    counts = {**TURNS, "ready": 6} if plan.usual_s > Epochs().usual_s else TURNS
    finding = analyze_trace(fed_anew(loaders, counts, plan)).findings["data_stall"]
    assert finding.status is Status.FAIL
    assert ("new workers" in finding.title) is is_told
    assert (finding.first is not None) is is_told
    assert finding.actions[0].startswith("Set persistent_workers") is is_told


@pytest.mark.parametrize(("ready", "is_first"), [(54, True), (30, False)])
def test_where_batches_are_there_in_time_cheaper_ones_are_not_what_helps(
    ready: int, is_first: bool
) -> None:
    """Most is waited for the loader of an evaluation, which is started anew as well."""
    run = fed_anew([ANEW], {**TURNS, "ready": ready}, Epochs(epochs=2, evaluation_s=2.0))
    finding = analyze_trace(run).findings["data_stall"]
    assert finding.status.is_fault
    assert "new workers" not in finding.title
    assert finding.actions[0].startswith("Set persistent_workers=True, so") is is_first
    assert sum("persistent_workers" in one for one in finding.actions) == 1


@pytest.mark.parametrize(("first_ns", "is_told"), [(1_800_000_000, True), (100_000_000, False)])
def test_counts_tell_what_workers_take_where_no_replay_does(first_ns: int, is_told: bool) -> None:
    counts = {**TURNS, "late_ns": 4_000_000_000, "first_ns": first_ns, "ends_ns": 0}
    finding = next(
        one for one in without_replay(fed_anew([ANEW], counts)) if one.id == "data_stall"
    )
    assert ("new workers" in finding.title) is is_told
    if is_told:
        assert finding.first is not None
        assert finding.first.seconds == pytest.approx(3.0 * 5 / 6)
