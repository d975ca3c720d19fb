"""The gallery counts faults and false alarms as it should, and its cases make sense."""

from __future__ import annotations

import pytest

from benchmarks.gallery.__main__ import Score, named
from benchmarks.gallery.cases import CASES, HEALTHY, Case
from benchmarks.gallery.runs import Told
from tests.support.environments import REPOSITORY

CASE = Case(
    *("slow", "mpich", "train_numpy.py", ("--bad",), (), ("straggler", "load_imbalance")),
    ranks=(1,),
    words="rank 1",
)


def told(identity: str, *, ranks: list[int], title: str = "Rank 1 is late: rank 1") -> Told:
    finding = {"id": identity, "title": title, "ranks": ranks, "actions": []}
    return Told({identity: finding}, 10.0, identity)


@pytest.mark.parametrize("identity", CASE.expected)
def test_any_of_the_expected_names_the_fault(identity: str) -> None:
    assert named(CASE, told(identity, ranks=[1])) is not None


def test_another_finding_rank_or_wording_does_not() -> None:
    assert named(CASE, told("data_stall", ranks=[1])) is None
    assert named(CASE, told("straggler", ranks=[0, 1])) is None
    assert named(CASE, told("straggler", ranks=[1], title="Something is late")) is None


def test_precision_and_recall() -> None:
    score = Score(hits=9, misses=1, false_alarms=3)
    assert score.precision == 0.75
    assert score.recall == 0.9
    assert Score().precision == Score().recall == 1.0


def test_every_case_has_its_script_and_another_cure() -> None:
    assert len({case.fault for case in CASES}) == len(CASES)
    for case in CASES:
        assert (REPOSITORY / "examples" / case.script).exists()
        assert case.before != case.after or case.wrapper or case.launcher
        assert case.expected
        assert not set(case.expected) & set(case.companions), case.fault
    for _, script, _ in HEALTHY:
        assert (REPOSITORY / "examples" / script).exists()
