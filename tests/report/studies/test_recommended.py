"""What studies recommend, from what they hold: the knee of a series, the cheapest of a tie."""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from perfscope.report.studies.recommended import recommended
from perfscope.schema.read import known
from perfscope.schema.scaling import Spread
from perfscope.schema.study import Study
from tests.support.environments import REPOSITORY


def kept(name: str) -> Study:
    path = REPOSITORY / "reports" / "studies" / name / "study.json"
    document: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return known(document, Study)


def series(
    seconds: Sequence[float], *, ranks: Sequence[int] = (1, 2, 4), cores: int | None = None
) -> Study:
    """A series of so many seconds for the same work, with at most so many cores for its ranks."""
    study = kept("trainer_evaluates_more_often")
    assert study.scaling is not None
    points = tuple(
        replace(
            point,
            size=size,
            cores=cores and min(size, cores),
            time_s=Spread(time_s, time_s, time_s, 2),
            speedup=seconds[0] / time_s,
            efficiency=seconds[0] / time_s / size,
        )
        for point, size, time_s in zip(study.scaling.points, ranks, seconds, strict=True)
    )
    return replace(study, scaling=replace(study.scaling, points=points))


def test_a_series_names_its_knee_with_what_it_costs() -> None:
    """Speed-up times efficiency is 1, 1.28 and 0.69 at 1, 2 and 4 ranks."""
    [told] = recommended(series((16.0, 10.0, 9.6)))
    assert told == (
        "Recommended: 2 ranks, 1.60 times as fast as 1 rank, at 20 rank-seconds instead of 16 for "
        "the same work. 4 ranks: 1.67 times as fast as 1 rank, at 38.4 rank-seconds."
    )


def test_cost_is_in_cores_where_these_are_known_and_cores_that_are_shared_cost_once() -> None:
    [told] = recommended(series((16.0, 10.0, 9.6), cores=2))
    assert told == (
        "Recommended: 4 ranks, 1.67 times as fast as 1 rank, at 19.2 core-seconds on 2 cores "
        "instead of 16 for the same work."
    )


def test_where_nothing_is_gained_the_smallest_size_is_named() -> None:
    """The fastest is not the knee, and the largest is slower than the smallest."""
    [told] = recommended(series((1.0, 0.8, 1.25)))
    assert told == (
        "Recommended: 1 rank, at 1 rank-second. 2 ranks: 1.25 times as fast as 1 rank, at 1.6 "
        "rank-seconds. 4 ranks: slower than 1 rank (1.25 times the time for the same work), at 5 "
        "rank-seconds."
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


def test_no_best_is_no_recommendation() -> None:
    study = kept("ranks_and_threads")
    assert study.sweep is not None
    assert recommended(replace(study, sweep=replace(study.sweep, best_reason="two units"))) == ()
