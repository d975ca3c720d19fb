"""What a sweep measured: the best, the noise around it, why it wins, on what it ran."""

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from perfscope.schema.check import problems
from perfscope.schema.enums import Status
from perfscope.schema.study import Study
from perfscope.studies.findings import best_at_grid_edge, noise_over_differences
from perfscope.sweep.study import fabric, quality, why
from perfscope.sweep.study.model import measure
from perfscope.sweep.study.noise import contenders
from perfscope.sweep.study.runs import load_one
from perfscope.sweep.study.stored import Axis, StoredRun
from tests.support.environments import REPOSITORY
from tests.support.study_runs import made_run
from tests.support.sweeps import (
    failed_run,
    judged,
    made_plan,
    made_sweep,
    made_sweep_run,
    one_and_two_ranks,
)

STORED = REPOSITORY / "reports" / "sgan_evaluation" / "analysis.json"
THREADS = Axis("threads", "variable", ("1", "2", "4"))
RANKS = Axis("ranks", "variable", ("1", "2"))


def test_the_best_is_that_of_the_medians() -> None:
    sweep = made_sweep([THREADS], {("1",): [10, 11, 12], ("2",): [20, 30, 21], ("4",): [5, 6, 50]})
    assert [result.number for result in sweep.measured] == [2, 1, 3]
    assert [result.speed for result in sweep.results] == [11, 21, 6]
    one = made_sweep([THREADS], {("1",): [10, 11]})
    assert one.results[1].status == "missing"


def test_what_is_compared_is_what_every_run_measured() -> None:
    plan = made_plan([RANKS])
    with_samples = made_sweep_run(plan, ("1",), 100.0)
    steps = made_run("b", focus_s=2.0, work_s=[1.0], step_s=0.5, steps=4)
    without = replace(made_sweep_run(plan, ("2",), 1.0), run=steps)
    assert measure(plan, [with_samples]).objective.id == "samples_per_s"
    sweep = measure(plan, [replace(with_samples, run=steps), without])
    assert (sweep.objective.id, sweep.results[0].speed) == ("steps_per_s", 2.0)
    assert "samples/s" in sweep.objective_reason
    mixed = measure(plan, [with_samples, without])
    assert mixed.objective.id == "runs_per_h"


def test_steps_of_different_ranks_are_not_compared() -> None:
    plan = made_plan([RANKS])
    document = judged(measure(plan, one_and_two_ranks(plan)))
    assert document["sweep"]["objective"]["id"] == "runs_per_h"
    assert "perfscope.step(samples=...)" in document["sweep"]["objective"]["reason"]
    assert document["verdict"]["status"] == "warn"
    assert "different numbers of steps × ranks" in document["verdict"]["sentence"]


def test_a_killed_rank_wins_nothing_where_the_launcher_says_all_is_well(tmp_path: Path) -> None:
    document = json.loads(STORED.read_text(encoding="utf-8"))
    place = tmp_path / "recording"
    place.mkdir()
    stored = StoredRun("001-r1", 1, 1, "finished", "finished", 1.0, place)
    plan = replace(made_plan([RANKS]), place=tmp_path)
    (place / "analysis.json").write_text(json.dumps(document), encoding="utf-8")
    assert load_one(plan, stored).is_measured
    document["run"] |= {
        "incomplete_ranks": [1],
        "endings": [{"rank": 1, "text": "was killed by signal 9", "is_first": True}],
    }
    (place / "analysis.json").write_text(json.dumps(document), encoding="utf-8")
    found = load_one(plan, stored)
    assert found.failure == "it did not end by itself: rank 1 was killed by signal 9"
    assert found.row().end == "killed"
    assert measure(plan, [found]).results[0].status == "failed"


def test_printed_throughput_counts_before_recorded() -> None:
    plan = made_plan([RANKS])
    runs = [
        replace(made_sweep_run(plan, (ranks,), 1.0), printed=quality.Quality("img_per_s", value))
        for ranks, value in (("1", 5.0), ("2", 4.0))
    ]
    sweep = measure(plan, runs)
    assert sweep.objective.unit == "img_per_s"
    assert sweep.best is not None
    assert sweep.best.speed == 5.0


def test_configurations_within_the_noise_may_be_the_best() -> None:
    clear = contenders({1: [100, 101, 99], 2: [50, 51, 49], 3: [80, 81, 79]})
    assert clear.numbers == (1,)
    assert clear.noise == pytest.approx(0.0141, abs=0.002)
    assert clear.span == pytest.approx(1.0, rel=0.01)
    near = contenders({1: [100, 110, 90], 2: [98, 108, 88], 3: [50, 55, 45]})
    assert near.numbers == (1, 2)
    assert near.repeats_needed is None
    assert contenders({1: [100], 2: [50]}).reason == "each configuration was run once"
    assert contenders({}).numbers == ()
    assert contenders({7: [1.0, 2.0]}).numbers == (7,)
    assert contenders({1: [2.0, 2.0], 2: [1.0, 1.0]}).noise == 0.0


def test_intervals_reach_that_of_the_best_exactly_where_noise_explains_the_difference() -> None:
    """The repeats of 2 and 3 are as near to each other as can be; it is 1 that is noisy."""
    speeds = {1: [100.0, 140.0, 75.0], 2: [70.0, 70.1], 3: [36.0, 36.1], 4: [90.0]}
    found = contenders(speeds)
    low, high = found.intervals[1]
    assert low < 100 < high
    reached = {n for n, (_, top) in found.intervals.items() if top >= low}
    assert reached == set(found.numbers) == {1, 2, 4}
    alone = contenders({1: [9.0, 10.0, 11.0]})
    low, high = alone.intervals[1]
    assert low < 9.0
    assert high > 11.0
    assert contenders({1: [100], 2: [50]}).intervals == {}


def test_one_bad_repeat_does_not_take_the_fastest_out() -> None:
    sweep = made_sweep([THREADS], {("1",): [10, 10.1, 10.2], ("2",): [11, 11.1, 1]})
    assert sweep.best is not None
    assert sweep.best.number == sweep.noise.numbers[0] == 2


def test_repeats_needed_are_few_when_the_gap_is_large() -> None:
    found = contenders({1: [100, 108], 2: [90, 97]})
    assert found.numbers == (1, 2)
    assert found.repeats_needed is not None
    assert 2 < found.repeats_needed < 20


def test_the_true_best_is_left_out_at_most_as_often_as_the_level_says() -> None:
    random, rounds, lost = np.random.default_rng(1), 100, 0
    for _ in range(rounds):
        speeds = {n: list(100 * np.exp(0.05 * random.standard_normal(3))) for n in range(6)}
        speeds[0] = [1.01 * value for value in speeds[0]]
        lost += 0 not in contenders(speeds).numbers
    assert lost <= 0.05 * rounds + 3 * math.sqrt(0.05 * rounds)


def test_the_ratio_of_speeds_is_the_product_of_its_factors() -> None:
    plan = made_plan([RANKS])
    runs = [
        made_sweep_run(plan, ("1",), 100.0, work_s=[0.9]),
        made_sweep_run(plan, ("2",), 150.0, work_s=[0.9, 0.6]),
    ]
    (against,) = why.explanations(measure(plan, runs))
    ratios = {part.id: part.ratio for part in against.factors}
    assert ratios["ranks"] == 2.0
    assert ratios["parallel_efficiency"] == pytest.approx(0.75 / 0.9)
    assert math.prod(ratios.values()) == pytest.approx(against.ratio) == pytest.approx(1.5)
    assert "1.50 times the samples/s = 2.00 (ranks)" in against.sentence


def test_the_sentence_is_a_true_equation_over_repeats() -> None:
    plan = made_plan([RANKS], repeat=3)
    runs = [
        made_sweep_run(plan, ("1",), speed, repeat=n, work_s=[work])
        for n, (speed, work) in enumerate(((100.0, 0.5), (110.0, 0.9), (90.0, 0.7)), start=1)
    ]
    runs += [
        made_sweep_run(plan, ("2",), speed, repeat=n, work_s=[work] * 2)
        for n, (speed, work) in enumerate(((210.0, 0.72), (190.0, 0.5), (250.0, 0.9)), start=1)
    ]
    (against,) = why.explanations(measure(plan, runs))
    ratios = [part.ratio for part in against.factors]
    assert math.prod(ratios) == pytest.approx(against.ratio) == pytest.approx(2.1)
    # 2.1 is not 2 × nothing else: both factors near one are shown too
    assert against.sentence.count(" × ") == 2
    assert "2.10 times the samples/s = 2.00 (ranks)" in against.sentence


def test_ranks_that_share_their_cpus_are_pinned_otherwise() -> None:
    plan = made_plan([Axis("bind", "environment", ("a", "b"))])
    runs = []
    for value, cpus in (("a", ("0", "1")), ("b", ("0", "0"))):
        rows = [
            {"rank": rank, "host": "node00", "cpus_allowed": allowed}
            for rank, allowed in enumerate(cpus)
        ]
        more = {"threads": {"ranks": rows}}
        runs.append(made_sweep_run(plan, (value,), 1.0, work_s=[1.0, 1.0], more=more))
    told = fabric.comparison(measure(plan, runs)).pinning
    assert "Pinning differs" in told
    assert "1 CPU, 2 of a host in total" in told
    assert "1 CPU, 1 of a host in total" in told


def edge(speeds: dict[tuple[str, ...], list[float]], **plan: Any) -> Any:
    return best_at_grid_edge.judge(made_sweep([THREADS], speeds, **plan))


def test_best_at_the_upper_edge_names_the_next_value() -> None:
    found = edge({("1",): [10, 10.1], ("2",): [20, 20.1], ("4",): [30, 30.1]})
    assert found.status is Status.WARN
    assert "threads=8" in found.actions[0]
    assert found.evidence[0].value == pytest.approx(0.5, abs=0.01)


def test_best_inside_or_where_nothing_is_beyond_is_no_finding() -> None:
    inside = edge({("1",): [10], ("2",): [30], ("4",): [20]})
    assert inside.status is Status.PASS
    one = edge({("1",): [30], ("2",): [20], ("4",): [10]})
    assert one.status is Status.PASS
    assert "no smaller number" in one.summary
    asks = {(value,): (1, int(value)) for value in THREADS.values}
    full = edge({("1",): [10], ("2",): [20], ("4",): [30]}, asks=asks, cpus=4)
    assert full.status is Status.PASS
    assert "4 CPUs" in full.summary
    room = edge({("1",): [10], ("2",): [20], ("4",): [30]}, asks=asks, cpus=16)
    assert room.status is Status.WARN


@pytest.mark.parametrize(
    ("values", "best", "word"),
    [
        (("0", "200"), "0", "no smaller number"),
        (("0", "1"), "1", "only two values"),
        (("0", "1"), "0", "no smaller number"),
    ],
)
def test_zero_has_nothing_below_and_a_switch_nothing_beyond(
    values: tuple[str, ...], best: str, word: str
) -> None:
    speeds: dict[tuple[str, ...], list[float]] = {
        (value,): [30.0 if value == best else 10.0] for value in values
    }
    found = best_at_grid_edge.judge(made_sweep([Axis("blocktime", "environment", values)], speeds))
    assert found.status is Status.PASS
    assert word in found.summary


def test_an_edge_within_the_noise_is_only_noted() -> None:
    found = edge({("1",): [10, 11], ("2",): [20, 28], ("4",): [21, 29]})
    assert found.status is Status.INFO


def test_names_have_no_edge() -> None:
    names = Axis("set", "set", ("a", "b"))
    found = best_at_grid_edge.judge(made_sweep([names], {("a",): [1], ("b",): [2]}))
    assert found.status is Status.NOT_APPLICABLE


@pytest.mark.parametrize(
    ("speeds", "status"),
    [
        ({("1",): [100, 101, 99], ("2",): [50, 51, 49]}, Status.PASS),
        ({("1",): [100, 120, 80], ("2",): [98, 125, 77]}, Status.WARN),
        ({("1",): [100, 99], ("2",): [99, 100], ("4",): [10, 10.1]}, Status.INFO),
        ({("1",): [100], ("2",): [50]}, Status.NOT_MEASURED),
        ({("1",): [100, 90]}, Status.NOT_APPLICABLE),
        ({}, Status.NOT_APPLICABLE),
    ],
)
def test_noise_against_differences(speeds: Any, status: Status) -> None:
    assert noise_over_differences.judge(made_sweep([THREADS], speeds)).status is status


def with_environment(plan: Any, values: tuple[str, ...], mpi: str, hosts: int, **set_: str) -> Any:
    more = {"run": {"versions": {"MPI": mpi}, "environment": set_}}
    run = made_sweep_run(plan, values, 1.0, more=more)
    assert run.run is not None
    listed = [{"name": f"node{n}", "ranks": [n]} for n in range(hosts)]
    document = {**run.run.document}
    document["run"] = {
        **document["run"],
        "versions": {"MPI": mpi},
        "environment": set_,
        "hosts": listed,
    }
    return replace(run, run=replace(run.run, document=document))


@pytest.mark.parametrize(
    ("first", "second", "comparable", "word"),
    [
        (("MPICH 5", 1, {}), ("Open MPI 5", 1, {}), True, "one host"),
        (("MPICH 5", 2, {}), ("Open MPI 5", 2, {}), None, "nothing that was recorded"),
        (("MPICH 5", 2, {}), ("MPICH 5", 2, {}), True, "MPICH 5"),
        (("MPICH 5", 1, {}), ("Open MPI 5", 2, {}), False, "1 and 2 hosts"),
        (
            ("MPICH 5", 2, {"FI_PROVIDER": "tcp"}),
            ("Open MPI 5", 2, {"OMPI_MCA_btl": "tcp,self"}),
            True,
            "TCP",
        ),
        (
            ("MPICH 5", 2, {"FI_PROVIDER": "verbs"}),
            ("Open MPI 5", 2, {"OMPI_MCA_btl": "tcp,self"}),
            False,
            "InfiniBand",
        ),
        (
            ("Intel MPI 2021", 1, {"I_MPI_FABRICS": "shm"}),
            ("Intel MPI 2021", 1, {"I_MPI_FABRICS": "ofi", "FI_PROVIDER": "tcp"}),
            False,
            "not compared on the same fabric",
        ),
        (("", 1, {}), ("", 1, {}), True, "No run used MPI"),
    ],
)
def test_whether_runs_were_on_the_same_fabric(
    first: Any, second: Any, comparable: bool | None, word: str
) -> None:
    plan = made_plan([RANKS])
    runs = [
        with_environment(plan, (values,), mpi, hosts, **variables)
        for values, (mpi, hosts, variables) in (("1", first), ("2", second))
    ]
    found = fabric.comparison(measure(plan, runs))
    assert found.comparable is comparable
    assert word in found.sentence


def test_the_last_value_in_the_output_is_the_final_one(tmp_path: Path) -> None:
    place = tmp_path / "runs" / "001-r1"
    place.mkdir(parents=True)
    (place / "stdout.txt").write_bytes(b"acc 10\n\xff\xfe acc nan\nacc 1,234.5%\nacc x\n")
    plan = replace(made_plan([RANKS]), place=tmp_path, metric=r"(?P<top1>(?<=acc )\S+)")
    stored = StoredRun("001-r1", 1, 1, "finished", "", 1.0, None)
    assert quality.final_value(plan, stored, None) == quality.Quality("top1", 1234.5)
    none = replace(plan, metric=r"loss (\S+)")
    assert quality.final_value(none, stored, None) is None
    assert quality.printed_throughput(plan, stored) is None


def test_of_a_long_output_the_end_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quality, "MOST_BYTES", 64)
    place = tmp_path / "runs" / "001-r1"
    place.mkdir(parents=True)
    (place / "stdout.txt").write_bytes(b"".join(b"acc %d\n" % n for n in range(1000)))
    plan = replace(made_plan([RANKS]), place=tmp_path, metric=r"acc (\S+)")
    stored = StoredRun("001-r1", 1, 1, "finished", "", 1.0, None)
    assert quality.final_value(plan, stored, None) == quality.Quality("metric", 999.0)


def test_without_a_pattern_the_recorded_accuracy_counts() -> None:
    series = {"loss": [[0, 2.0], [1, 1.0]], "train/accuracy": [[0, 0.1], [1, 0.9]], "lr": [[0, 1]]}
    run = made_run("a", focus_s=1.0, work_s=[1.0], more={"steps": {"series": series}})
    plan = made_plan([RANKS])
    stored = StoredRun("a", 1, 1, "finished", "", 1.0, None)
    assert quality.final_value(plan, stored, run) == quality.Quality("train/accuracy", 0.9)


def test_the_verdict_counts_what_was_not_measured() -> None:
    plan = made_plan([THREADS], refused={("4",): "4 threads on 2 CPUs"})
    runs = [made_sweep_run(plan, ("1",), 10.0), failed_run(plan, ("2",), "killed", "killed by X")]
    document = judged(measure(plan, runs))
    sentence = document["verdict"]["sentence"]
    assert "1 of 3 failed; 1 of 3 not run (too few CPUs)" in sentence
    statuses = [row["status"] for row in document["sweep"]["configurations"]]
    assert statuses == ["measured", "failed", "refused"]
    assert list(problems(document, Study)) == []
    assert json.dumps(document) == json.dumps(judged(measure(plan, runs)))
    empty = judged(measure(plan, []))
    assert empty["verdict"]["status"] == "info"
