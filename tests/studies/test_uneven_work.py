"""Sizes that did other work than the smallest: speed-ups of the same work, by closed formulas."""

from collections.abc import Callable
from typing import Any

import pytest

from perfscope.studies.common.run import StudyRun
from perfscope.studies.findings.catalog import judge_study
from perfscope.studies.scaling import document as scaling_document
from perfscope.studies.scaling.laws import UNEVEN_WORK
from perfscope.studies.scaling.scaling import Scaling, scaling
from tests.support.scaling_series import BATCH, trained
from tests.support.study_runs import made_run


def without_samples(runs: list[StudyRun], *, batch: bool = False) -> list[StudyRun]:
    """The same runs, which tell their steps alone (and their batch)."""
    for run in runs:
        run.document["run"]["throughput"]["samples"] = None
        if not batch:
            run.document["run"]["batch_size"] = None
    return runs


def speedups(study: Scaling) -> list[float | None]:
    return [value.speedup for value in study.whole.values]


def cut_by_time(ranks: int, steps: int) -> StudyRun:
    """A run that was ended after 100 s, whatever it had done."""
    return made_run(
        f"{ranks}-ranks",
        focus_s=100.0,
        work_s=[90.0] * ranks,
        samples_per_s=steps * BATCH * ranks / 100.0,
        step_s=100.0 / steps,
        steps=steps,
        batch_size=BATCH,
    )


@pytest.mark.parametrize("told", ["samples", "batch_size", "steps"])
def test_runs_of_the_same_time_are_compared_by_their_work(told: str) -> None:
    """1 rank does 300 steps, 4 ranks 250: 4 x 250 / 300 = 3.33 times the work, 0.83 of ideal."""
    runs = [cut_by_time(1, 300), cut_by_time(4, 250)]
    study = scaling(runs if told == "samples" else without_samples(runs, batch=told != "steps"))
    assert (study.growth.word, study.growth.basis) == ("uneven", told)
    assert study.growth.work == pytest.approx((1, 1000 / 300))
    whole = study.whole.values[-1]
    assert whole.speedup == pytest.approx(1000 / 300)
    assert whole.efficiency == pytest.approx(1000 / 300 / 4)
    column = study.table.columns[-1]
    assert column.computation_scalability.value == pytest.approx(1000 / 300 / 4)
    assert column.global_efficiency.value == pytest.approx(0.9 * 1000 / 300 / 4)
    assert "1 and 3.33 times the work at 1 and 4 times the size" in study.growth.sentence
    _, sentence = scaling_document.verdict(study, [])
    assert sentence.startswith("Scaling from 1 rank to 4 ranks: 3.33 times the work takes 100 s")


@pytest.mark.parametrize("told", ["samples", "steps"])
def test_a_middle_size_that_did_more_is_no_slower_for_it(told: str) -> None:
    """2 ranks train on 1.5 times the samples: 60 s instead of 40 s are still twice as fast."""
    runs = trained(
        step=lambda p: 80.0 / p * (1.5 if p == 2 else 1.0),
        more_work=lambda p: 1.5 if p == 2 else 1.0,
    )
    study = scaling(runs if told == "samples" else without_samples(runs))
    assert (study.growth.word, study.growth.basis) == ("uneven", told)
    assert speedups(study) == pytest.approx([1, 2, 4])
    assert [row.computation_scalability.value for row in study.table.columns] == pytest.approx(
        [1, 1, 1]
    )
    train = next(part for part in study.phases if part.id == "train")
    assert [value.efficiency for value in train.values] == pytest.approx([1, 1, 1])
    assert study.whole.amdahl == study.whole.model == study.whole.extra_p == UNEVEN_WORK


def test_steps_of_a_divided_batch_are_of_all_ranks_together() -> None:
    """Both ends are useful as long: 2000, 3000 and 2000 steps are 1, 1.5 and 1 times the work."""
    runs = trained(step=lambda p: 80.0 / p * (1.5 if p == 2 else 1.0))
    for run, steps in zip(without_samples(runs), (2000, 3000, 2000), strict=True):
        run.document["run"]["throughput"]["steps"] = steps
    study = scaling(runs)
    assert study.growth.work == pytest.approx((1, 1.5, 1))
    assert "as many samples of all ranks together" in study.growth.sentence
    assert speedups(study) == pytest.approx([1, 2, 4])


def test_weak_scaling_counts_the_work_that_was_done() -> None:
    """4 ranks do 3.8 times the work in the same time: 0.95, which their number alone hides."""
    runs = trained(
        weak=True, step=lambda _: 20.0, more_work=lambda p: {1: 1.0, 2: 0.98, 4: 0.95}[p]
    )
    study = scaling(runs)
    assert study.growth.is_weak
    assert [value.efficiency for value in study.whole.values] == pytest.approx([1, 0.98, 0.95])
    assert study.table.columns[-1].global_efficiency.value == pytest.approx(0.95)


def test_weak_scaling_without_samples_counts_by_size() -> None:
    study = scaling(without_samples(trained(weak=True, step=lambda _: 20.0)))
    assert study.growth.basis == "useful_time"
    assert speedups(study) == pytest.approx([1, 2, 4])


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (lambda _: 1.0, ""),
        (lambda p: p**0.5, "1, 1.41 and 2 times the work: the added work counts as lost"),
        (lambda p: 1.0 / p, "Where a size did less work, its speed-up is overstated"),
        (lambda p: 1.0 if p == 1 else 0.95, ""),
    ],
)
def test_a_job_that_was_to_finish_earlier_is_judged_by_time(
    more: Callable[[int], float], words: str
) -> None:
    study = scaling(trained(more_work=more), weak=False)
    assert study.growth.basis == "option"
    assert words in study.growth.sentence
    assert (study.growth.sentence == "Strong scaling, as requested.") is not bool(words)
    assert speedups(study) == pytest.approx([1, 2, 4])


def test_weak_scaling_that_was_asked_for_counts_the_work_too() -> None:
    study = scaling([cut_by_time(1, 300), cut_by_time(4, 250)], weak=True)
    assert study.whole.values[-1].efficiency == pytest.approx(1000 / 300 / 4)
    assert "did 1 and 3.33 times the work" in study.growth.sentence
    # larger samples instead of more of them are work that nobody counted
    larger = scaling(trained(step=lambda _: 80.0), weak=True)
    assert speedups(larger) == pytest.approx([1, 2, 4])


def test_repeats_that_did_other_work_are_named() -> None:
    runs = [cut_by_time(1, 300), cut_by_time(1, 200), cut_by_time(2, 300)]
    notes = scaling_document.notes(scaling(runs))
    assert "The runs with 1 rank trained on 6,400 to 9,600 samples" in " ".join(notes)
    assert "2 ranks trained" not in " ".join(notes)


def test_findings_of_uneven_work_are_of_the_same_work() -> None:
    """Rank 0 evaluates 10, 14 and 20 times, as often for each of 1, 1.4 and 2 x the samples."""
    series: dict[str, Any] = {
        "more_work": lambda p: p**0.5,
        "evaluation": lambda p: 4.0 * p**0.5,
        "evaluations": lambda p: 10 * p**0.5,
    }
    study = scaling(trained(**series))
    found = {finding.id: finding for finding in judge_study("scaling", study)}
    assert found["evaluation_frequency"].status.value == "pass"
    assert found["serial_phase"].status.value == "not_applicable"
    body = scaling_document.body(study)
    assert body.growth.work == pytest.approx([1, 2**0.5, 2])
    assert body.growth.kind == "uneven"
