"""What studies recommend, from what they hold: the knee of a series, the cheapest of a tie."""

import json
from dataclasses import replace
from typing import Any

from perfscope.report.studies.recommended import recommended
from perfscope.schema.read import known
from perfscope.schema.study import Study
from tests.support.environments import REPOSITORY


def kept(name: str) -> Study:
    path = REPOSITORY / "reports" / "studies" / name / "study.json"
    document: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return known(document, Study)


def test_a_series_names_its_knee_with_what_it_costs() -> None:
    """Speed-up times efficiency is 1, 1.22 and 0.69 at 1, 2 and 4 ranks."""
    size, steps = recommended(kept("trainer_evaluates_more_often"))
    assert size.startswith("Recommended: 2 ranks, 1.57 times as fast as 1 rank for 1.28 times")
    assert "4 ranks: 1.66 times as fast as 1 rank for 2.42 times" in size
    assert "the steps run 3.81 times as fast, the whole run 1.66 times" in steps


def test_where_nothing_is_gained_the_smallest_size_is_named() -> None:
    assert recommended(kept("kmeans_weak"))[0].startswith("Recommended: 1 rank. 4 ranks: 0.875")


def test_one_size_decides_nothing() -> None:
    study = kept("kmeans_weak")
    assert study.scaling is not None
    one = replace(study.scaling, points=study.scaling.points[:1])
    assert recommended(replace(study, scaling=one)) == ()


def test_the_cheapest_of_those_that_noise_does_not_tell_apart() -> None:
    [told] = recommended(kept("ranks_and_threads"))
    assert told.startswith("Recommended: OMP_NUM_THREADS=4, ranks=1, the cheapest of the 5")


def test_a_saving_below_a_twentieth_is_none() -> None:
    [told] = recommended(kept("mpi_libraries"))
    assert told.startswith("Recommended: MPICH, at ")


def test_no_best_is_no_recommendation() -> None:
    study = kept("ranks_and_threads")
    assert study.sweep is not None
    assert recommended(replace(study, sweep=replace(study.sweep, best_reason="two units"))) == ()
