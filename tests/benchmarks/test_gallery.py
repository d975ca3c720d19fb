"""The gallery counts faults and false alarms as it should; really run, it reaches its goals."""

import logging
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from benchmarks.gallery.cases import CASES, Case, Work
from benchmarks.gallery.healthy import HEALTHY
from benchmarks.gallery.judging import (
    LEAST_PRECISION,
    LEAST_RECALL,
    Score,
    count,
    judge_all,
    named,
    shorter,
    table,
)
from benchmarks.gallery.runs import Told
from tests.support.environments import REPOSITORY, environment

LOG = logging.getLogger(__name__)
CASE = Case(
    *("slow", "mpich", "train_numpy.py", ("--bad",), (), ("straggler", "load_imbalance")),
    ranks=(1,),
    words="rank 1",
    where="spend",
    companions=("data_stall",),
)
SPENT = {"file": "faults.py", "line": 53, "function": "Faults.spend"}


def told(
    *identities: str,
    ranks: tuple[int, ...] = (1,),
    title: str = "Rank 1 is late: rank 1",
    function: str = "Faults.spend",
    focus_s: float = 10.0,
    job_s: float = 12.0,
) -> Told:
    finding = {
        "title": title,
        "ranks": list(ranks),
        "actions": [],
        "where": [{**SPENT, "function": function}],
        "gain_s": 4.0,
        "gain_basis": "replay",
    }
    return Told({name: {**finding, "id": name} for name in identities}, focus_s, job_s, "")


@pytest.mark.parametrize("identity", CASE.expected)
def test_any_of_the_expected_names_the_fault(identity: str) -> None:
    assert named(CASE, told(identity)) is not None


def test_another_finding_rank_wording_or_place_does_not() -> None:
    assert named(CASE, told("data_stall")) is None
    assert named(CASE, told("straggler", ranks=(0, 1))) is None
    assert named(CASE, told("straggler", title="Something is late")) is None
    assert named(CASE, told("straggler", function="Network.forward")) is None


def test_the_place_may_stand_in_the_title_alone() -> None:
    title = "Rank 1 is late: rank 1 in spend()"
    assert named(CASE, told("straggler", title=title, function="main")) is not None
    assert named(replace(CASE, where=""), told("straggler", function="main")) is not None


def test_precision_and_recall() -> None:
    score = Score(hits=9, misses=1, false_alarms=3, companions=6)
    assert score.precision == 0.75
    assert score.strict_precision == 0.5
    assert score.recall == 0.9
    assert not score.is_good
    assert Score().precision == Score().recall == 1.0
    assert Score(hits=19, misses=2, false_alarms=1).is_good


def test_what_is_also_named_is_shown_and_counted_apart() -> None:
    score = Score()
    sick = told("straggler", "load_imbalance", "data_stall", "io_bound")
    count(CASE, score, sick, told("start_up", focus_s=6.5))
    assert (score.hits, score.misses, score.companions, score.false_alarms) == (1, 0, 1, 2)
    cells = [cell.strip() for cell in score.rows[0].split("|")[1:-1]]
    assert cells == [
        "slow",
        "Rank 1 is late: rank 1",
        "4.00 s",
        "3.50 s",
        "data_stall",
        "with the fault: io_bound, cured: start_up",
    ]
    assert "precision 0.33, recall 1.00" in table(score)
    assert "precision would be 0.25" in table(score)


def test_what_the_cure_gave_back_is_of_equal_work() -> None:
    sick, cured = told(focus_s=10.0, job_s=16.0), told(focus_s=10.5, job_s=11.0)
    assert shorter(CASE, sick, cured) == "-0.50 s"
    assert shorter(replace(CASE, work=Work.WITH_ITS_START), sick, cured) == "5.00 s"
    assert shorter(replace(CASE, work=Work.OTHER), sick, cured) == "other work"


AMOUNTS = ("--calls", "--steps", "--epochs", "--samples")


def amounts(options: tuple[str, ...]) -> dict[str, str]:
    """How much a program is told to do."""
    return {name: value for name, value in pairwise(options) if name in AMOUNTS}


def test_seconds_of_a_cure_are_told_only_where_both_do_as_much() -> None:
    for case in CASES:
        if case.work is not Work.OTHER:
            assert amounts(case.before) == amounts(case.after), case.fault


def test_every_case_has_its_script_and_another_cure() -> None:
    assert len({case.fault for case in CASES}) == len(CASES)
    for case in CASES:
        assert (REPOSITORY / "examples" / case.script).exists()
        assert case.before != case.after or case.wrapper or case.launcher
        assert case.expected
        assert not set(case.expected) & set(case.companions), case.fault
    assert len({(run.name, run.environment) for run in HEALTHY}) == len(HEALTHY)
    for run in HEALTHY:
        assert (REPOSITORY / "examples" / run.script).exists()


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_faults_are_named_and_healthy_programs_are_not(tmp_path: Path) -> None:
    """Every fault, its cure and the healthy programs, once each: a quarter of an hour."""
    needed = {case.environment for case in CASES} | {run.environment for run in HEALTHY}
    for name in sorted(needed):
        environment(name)
    score = judge_all(tmp_path)
    LOG.info("%s", table(score))
    assert score.hits + score.misses == len(CASES)
    assert score.precision >= LEAST_PRECISION, table(score)
    assert score.recall >= LEAST_RECALL, table(score)
