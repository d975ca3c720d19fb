"""Each finding about a scaling series on a series with its fault, without it, and close to it."""

import math
from dataclasses import replace
from typing import Any

import pytest

from perfscope.schema.enums import Status
from perfscope.schema.scaling import NotFitted, ScaledLoss
from perfscope.studies.findings.catalog import StudyFinding, diagnoses, judge_study
from perfscope.studies.scaling.scaling import scaling
from tests.support.scaling_series import trained

SIZES = (1, 2, 4)
QUIET = {Status.PASS, Status.NOT_APPLICABLE, Status.NOT_MEASURED}
NAMES = (
    "communication_at_scale",
    "evaluation_frequency",
    "serial_phase",
    "shared_cpus",
    "throughput_without_time",
)


def judged(as_weak: bool | None = None, **series: Any) -> dict[str, StudyFinding]:
    """The findings of a series, by id."""
    study = scaling(trained(series.pop("sizes", SIZES), **series), weak=as_weak)
    return {finding.id: finding for finding in judge_study("scaling", study)}


def test_these_are_the_diagnoses_of_scaling() -> None:
    assert [diagnosis.id for diagnosis in diagnoses("scaling")] == list(NAMES)


@pytest.mark.parametrize(
    "series",
    [
        {},
        {"weak": True, "step": lambda _: 80.0},
        {"evaluation": lambda p: 4.0 / p, "shared": True},
        {"transfer": lambda p: 2.0 / p if p > 1 else 0.0},
        {"weak": True, "step": lambda _: 80.0, "evaluation": lambda _: 4.0},
        {"sizes": (1, 2, 4, 8, 16), "transfer": lambda p: 0.02 * math.log2(p)},
        {"sizes": (4,)},
        {"sizes": (1,)},
    ],
)
def test_a_healthy_series_is_silent(series: dict[str, Any]) -> None:
    loud = {name for name, found in judged(**series).items() if found.status not in QUIET}
    assert loud == set()


@pytest.mark.parametrize("name", NAMES)
def test_every_finding_says_something_about_one_size(name: str) -> None:
    found = judged(sizes=(2,))[name]
    assert found.status is Status.NOT_APPLICABLE
    assert found.summary


def test_evaluation_by_steps_that_grow_rarer_is_found_in_weak_scaling() -> None:
    """The same steps on each rank, and rank 0 evaluates P times as often with P ranks."""
    found = judged(
        weak=True, step=lambda _: 20.0, evaluation=lambda p: 2.0 * p, evaluations=lambda p: 10 * p
    )["evaluation_frequency"]
    assert found.status is Status.FAIL
    assert found.ranks == (0,)
    assert found.gain_s == pytest.approx(8.0 * 3 / 4)
    assert found.gain_share == pytest.approx(6.0 / 28.0)
    assert "4 times as often with 4 ranks as with 1 rank while all others wait" in found.title
    assert found.runs == ("4-ranks",)


def test_evaluation_growing_with_ranks_is_found_in_strong_scaling() -> None:
    found = judged(evaluation=lambda p: 1.0 * p, evaluations=lambda p: 5 * p)
    assert found["evaluation_frequency"].status is Status.FAIL
    assert found["evaluation_frequency"].gain_s == pytest.approx(3.0)


def test_longer_evaluations_are_not_more_frequent_ones() -> None:
    found = judged(evaluation=lambda p: 1.0 * p)["evaluation_frequency"]
    assert found.status is Status.PASS


def test_evaluation_at_no_cost_is_left_alone() -> None:
    found = judged(evaluation=lambda p: 0.01 * p, evaluations=lambda p: 5 * p)
    assert found["evaluation_frequency"].status is Status.PASS


def test_a_serial_evaluation_bounds_strong_scaling() -> None:
    """t = 10 + 80/p: with 4 ranks a third of the run is serial, and 9 is the most to be had."""
    found = judged(evaluation=lambda _: 10.0)["serial_phase"]
    assert found.status is Status.FAIL
    evidence = {item.label: item.value for item in found.evidence}
    assert evidence["Share of the run with 4 ranks"] == pytest.approx(10 / 30)
    assert evidence["Amdahl: serial share"] == pytest.approx(1 / 9)
    assert evidence["Amdahl: speed-up at most"] == pytest.approx(9.0)
    assert evidence["Its own speed-up"] == pytest.approx(1.0)
    assert "Evaluate" in found.title
    assert "one rank does it" in found.actions[0]
    assert ", as long as with 1 rank" in found.summary


def test_training_that_waits_for_the_serial_part_is_not_the_serial_part() -> None:
    """The training phase of the waiting ranks hardly shrinks, because waiting counts in it."""
    found = judged(evaluation=lambda _: 40.0)["serial_phase"]
    assert "Evaluate" in found.title


def test_serial_time_without_a_phase_is_told_from_the_law() -> None:
    runs = trained((1, 2, 4, 8), step=lambda p: 20.0 + 80.0 / p)
    bare = [type(run)(run.path, run.label, run.document | {"phases": []}) for run in runs]
    [found] = [f for f in judge_study("scaling", scaling(bare)) if f.id == "serial_phase"]
    assert found.status is Status.FAIL
    assert "Work in no phase" in found.title


def test_a_serial_part_that_is_small_is_silent() -> None:
    found = judged(evaluation=lambda _: 1.0)["serial_phase"]
    assert found.status is Status.PASS


def test_two_sizes_are_enough_for_a_phase_but_not_for_the_law() -> None:
    found = judged(sizes=(1, 4), evaluation=lambda _: 10.0)["serial_phase"]
    assert found.status is Status.FAIL
    assert "needs runs of 3 sizes" in found.summary


@pytest.mark.parametrize("has_batch", [True, False])
def test_steps_that_scale_in_a_run_that_does_not(has_batch: bool) -> None:
    """Steps are 4 times as fast with 4 ranks, the run 90/30 times."""
    runs = trained(evaluation=lambda _: 10.0)
    if not has_batch:  # markers tell the samples of each step instead
        for run in runs:
            run.document["run"]["batch_size"] = None
    judged_runs = {f.id: f for f in judge_study("scaling", scaling(runs))}
    found = judged_runs["throughput_without_time"]
    assert found.status is Status.WARN
    values = [item.value for item in found.evidence]
    assert values == [pytest.approx(4.0), pytest.approx(3.0)]
    assert "outside the steps" in found.summary
    assert found.actions[0].startswith("Shorten ")


@pytest.mark.parametrize("inside", ["cpu_wait", "transfer", "small:page_faults"])
def test_what_slows_the_steps_is_not_what_the_run_loses_beside_them(inside: str) -> None:
    """Evaluation takes 10 s at each size; what grows more is in steps that are 4 times as fast."""
    study = scaling(trained(evaluation=lambda _: 10.0))
    rows = [
        ("training_work", "Useful computation", (80.0, 40.0, 20.0)),
        (f"{inside}:some", "Inside the steps", (0.0, 10.0, 19.0)),
        ("other_work:Evaluation", "Evaluation", (10.0, 10.0, 10.0)),
    ]
    losses = [
        ScaledLoss(name, label, seconds, (0.1,) * 3, NotFitted(None, "too few sizes"))
        for name, label, seconds in rows
    ]
    told = {f.id: f for f in judge_study("scaling", replace(study, losses=tuple(losses)))}
    action, _ = told["throughput_without_time"].actions
    assert action.startswith("Shorten “Evaluation”: with 4 ranks it takes 7.50 s per rank more")


def test_ranks_that_each_train_on_all_data() -> None:
    """Throughput is 4 times as high, the run as long: it trains on 4 times the samples."""
    series: dict[str, Any] = {"step": lambda _: 80.0, "more_work": float}
    found = judged(as_weak=False, **series)["throughput_without_time"]
    assert found.status is Status.FAIL
    assert "4.00 times as many samples" in found.summary
    quiet = judged(**series)["throughput_without_time"]
    assert quiet.status is Status.PASS
    assert "--strong" in quiet.summary


def test_throughput_that_is_not_known_is_not_judged() -> None:
    runs = trained()
    for run in runs:
        run.document["run"]["throughput"]["samples"] = None
        run.document["run"]["batch_size"] = None
    found = {f.id: f for f in judge_study("scaling", scaling(runs))}
    assert found["throughput_without_time"].status is Status.NOT_MEASURED


@pytest.mark.parametrize(
    ("transfer", "status"),
    [
        (lambda p: 0.0 if p == 1 else 30.0, Status.FAIL),  # 30 of 50 s with 4 ranks
        (lambda p: 3.0 * math.log2(p), Status.WARN),  # 6 of 26 s
        (lambda p: 0.5 * math.log2(p), Status.PASS),
        (lambda p: 0.0 if p == 1 else 40.0 / p, Status.PASS),  # a third at 2 and at 4: not scale
    ],
)
def test_moving_data_at_scale(transfer: Any, status: Status) -> None:
    found = judged(transfer=transfer)["communication_at_scale"]
    assert found.status is status


def test_the_share_of_moving_data_is_measured() -> None:
    found = judged(sizes=(1, 2, 4, 8), transfer=lambda p: 1.0 * math.log2(p))
    evidence = found["communication_at_scale"].evidence
    assert [item.value for item in evidence] == [
        pytest.approx(1 / 41),
        pytest.approx(2 / 22),
        pytest.approx(3 / 13),
    ]
    assert "Up to 4 ranks" in found["communication_at_scale"].summary
