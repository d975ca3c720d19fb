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
    [size] = recommended(kept("trainer_evaluates_more_often"))
    assert size.startswith("Recommended: 2 ranks, 1.57 times as fast as 1 rank, at 22.7 ")
    assert "-seconds instead of 17.8 for the same work. " in size
    assert "4 ranks: 1.66 times as fast as 1 rank, at 42.9 " in size


def test_cost_is_in_cores_where_these_are_known_and_cores_that_are_shared_cost_once() -> None:
    study = kept("trainer_evaluates_more_often")
    assert study.scaling is not None
    points = tuple(replace(one, cores=min(one.ranks, 2)) for one in study.scaling.points)
    [size] = recommended(replace(study, scaling=replace(study.scaling, points=points)))
    assert "at 22.7 core-seconds instead of 17.8 for the same work" in size
    assert "4 ranks: 1.66 times as fast as 1 rank, at 21.4 core-seconds" in size


def test_where_nothing_is_gained_the_smallest_size_is_named() -> None:
    [told] = recommended(kept("kmeans_weak"))
    assert told.startswith(
        "Recommended: 1 rank, at 1 rank-second. 2 ranks: 1.37 times as fast as 1 rank, at 1.46 "
        "rank-seconds. 4 ranks: slower than 1 rank (1.14"
    )


def test_one_size_decides_nothing() -> None:
    study = kept("kmeans_weak")
    assert study.scaling is not None
    one = replace(study.scaling, points=study.scaling.points[:1])
    assert recommended(replace(study, scaling=one)) == ()


def test_the_cheapest_of_those_that_noise_does_not_tell_apart() -> None:
    [told] = recommended(kept("ranks_and_threads"))
    assert told.startswith("Recommended: OMP_NUM_THREADS=1, ranks=1, the cheapest of the 5")


def test_a_saving_below_a_twentieth_is_none() -> None:
    study = kept("mpi_libraries")
    assert recommended(study) == ("Any of the 3: none is measurably faster or cheaper.",)
    assert study.sweep is not None
    first, second, third = study.sweep.configurations
    slower = replace(third, may_be_best=False)
    sweep = replace(study.sweep, configurations=(first, second, slower))
    [told] = recommended(replace(study, sweep=sweep))
    assert told.startswith("Recommended: “MPICH”, at 20.2 core-seconds per thousand steps")


def test_what_was_run_once_is_to_be_repeated() -> None:
    [told] = recommended(kept("inter_and_intra_op_threads"))
    assert told == (
        "Repeat the sweep before you rely on the fastest: inter=2, intra=1, at 2.3 core-seconds "
        "per thousand samples."
    )


def test_the_fastest_is_named_also_where_it_is_not_the_knee() -> None:
    [told] = recommended(kept("trainer_strong"))
    assert told.startswith("Recommended: 1 rank, at 2.99 rank-seconds. 2 ranks: 1.16 times as fast")


def test_no_best_is_no_recommendation() -> None:
    study = kept("ranks_and_threads")
    assert study.sweep is not None
    assert recommended(replace(study, sweep=replace(study.sweep, best_reason="two units"))) == ()
