"""Sizes with more threads than CPUs: named, and in no law."""

from dataclasses import replace
from typing import Any

import pytest

from perfscope.schema.scaling import Amdahl, NotFitted, ScaledLoss
from perfscope.studies.common.run import StudyRun
from perfscope.studies.findings.catalog import judge_study
from perfscope.studies.scaling import document as scaling_document
from perfscope.studies.scaling.laws import LEFT_OUT, SHARED_FIRST
from perfscope.studies.scaling.models import Model
from perfscope.studies.scaling.oversubscription import oversubscription
from perfscope.studies.scaling.scaling import scaling
from tests.support.scaling_series import trained

CPUS = 4


def on_cpus(
    runs: list[StudyRun], *, cpus: int = CPUS, wanting: float | None = None, threads: str = ""
) -> list[StudyRun]:
    """The same runs on one node, whose ranks all want a CPU unless `wanting` says otherwise."""
    found = []
    for run in runs:
        node = {
            "host": "node00",
            "ranks": list(range(run.ranks)),
            "cpus": float(cpus),
            "runnable_mean": float(run.ranks) if wanting is None else wanting,
        }
        told = {"OMP_NUM_THREADS": threads} if threads else {}
        changed = {
            "threads": {"ranks": [], "nodes": [node]},
            "run": run.document["run"] | {"environment": told},
        }
        found.append(replace(run, document=run.document | changed))
    return found


@pytest.mark.parametrize(
    ("ranks", "facts", "words"),
    [
        (4, {}, ""),
        (8, {}, "8 ranks on 4 CPUs"),
        (8, {"wanting": 4.7}, ""),  # they sleep
        (8, {"wanting": 4.9}, "8 ranks on 4 CPUs"),
        (2, {"threads": "2"}, ""),
        (2, {"threads": "4,2", "wanting": 7.5}, "2 ranks × 4 threads on 4 CPUs"),
        (1, {"threads": "2", "cpus": 1, "wanting": 2.0}, "1 rank × 2 threads on 1 CPU"),
        (4, {"threads": "none"}, ""),
    ],
)
def test_ranks_times_threads_against_cpus(ranks: int, facts: dict[str, Any], words: str) -> None:
    [run] = on_cpus(trained((ranks,)), **facts)
    assert oversubscription(run) == words


def test_where_nothing_was_sampled_nothing_is_said() -> None:
    assert oversubscription(trained((64,))[0]) == ""


def slowed_above(cpus: int, sizes: tuple[int, ...]) -> list[StudyRun]:
    """10 + 80/p seconds with p ranks, and as long with more ranks than CPUs as with all of them."""
    return on_cpus(
        trained(sizes, step=lambda p: 80.0 / min(p, cpus), evaluation=lambda _: 10.0), cpus=cpus
    )


def test_amdahl_is_of_the_sizes_that_had_a_cpu_for_each_rank() -> None:
    """Of 90 s at one rank 10 are serial: 1/9, which sizes on shared CPUs would raise."""
    study = scaling(slowed_above(4, (1, 2, 4, 8, 16)))
    law = study.whole.amdahl
    assert isinstance(law, Amdahl)
    assert law.serial_share == pytest.approx(1 / 9)
    assert [forecast.size for forecast in law.forecasts] == [32, 64]
    assert law.forecasts[0].value == pytest.approx(10 + 80 / 32)
    notes = " ".join(scaling_document.notes(study))
    assert "With 8 ranks threads shared CPUs: 8 ranks on 4 CPUs" in notes
    assert "With 4 ranks threads" not in notes
    points = scaling_document.body(study).points
    assert [point.shared_cpus for point in points] == [
        *(None, None, None),
        "8 ranks on 4 CPUs",
        "16 ranks on 4 CPUs",
    ]


def test_a_model_is_drawn_through_all_sizes_and_told_from_those_with_cpus() -> None:
    study = scaling(slowed_above(16, (1, 2, 4, 8, 16, 32)))
    found = study.whole.model
    assert isinstance(found, Model)
    assert found.text == "10 + 80 p^(-1)"
    assert found.fitted == pytest.approx([90, 50, 30, 20, 15, 12.5])
    assert [forecast.size for forecast in found.forecasts] == [64, 128]


def test_too_few_sizes_with_cpus_give_no_law_and_say_why() -> None:
    study = scaling(slowed_above(2, (1, 2, 4)))
    assert study.whole.amdahl == (f"Amdahl's law needs runs of 3 sizes, and 2 are there{LEFT_OUT}")
    assert study.fitting == (0, 1)
    first = scaling(slowed_above(2, (4, 8, 16)))
    assert first.whole.amdahl == first.whole.model == SHARED_FIRST


def test_what_shares_cpus_is_no_serial_phase() -> None:
    """Four ranks train as long as two, on two CPUs; evaluation alone is serial, and with two."""
    oversubscribed = on_cpus(trained(step=lambda p: 80.0 / min(p, 2)), cpus=2)
    found = {f.id: f for f in judge_study("scaling", scaling(oversubscribed))}
    assert found["serial_phase"].status.value == "pass"
    evaluating = {f.id: f for f in judge_study("scaling", scaling(slowed_above(2, (1, 2, 4))))}
    assert evaluating["serial_phase"].status.value == "warn"
    assert evaluating["serial_phase"].evidence[0].label == "Share of the run with 2 ranks"
    assert evaluating["serial_phase"].evidence[0].value == pytest.approx(10 / 50)
    alone = {f.id: f for f in judge_study("scaling", scaling(slowed_above(1, (1, 2, 4))))}
    assert alone["serial_phase"].status.value == "not_measured"


def test_transfers_among_ranks_that_share_cpus_are_not_judged() -> None:
    """A message takes long where its other end is not running: half of the time on 4 ranks."""
    runs = trained((1, 2, 4), transfer=lambda p: 60.0 if p > 2 else 0.0)
    loud = {f.id: f.status.value for f in judge_study("scaling", scaling(runs))}
    assert loud["communication_at_scale"] == "fail"
    for cpus, told in ((2, "pass"), (1, "not_measured")):
        found = {f.id: f for f in judge_study("scaling", scaling(on_cpus(runs, cpus=cpus)))}
        assert found["communication_at_scale"].status.value == told


def test_a_largest_size_without_a_cpu_for_each_rank_is_a_finding() -> None:
    study = scaling(slowed_above(2, (1, 2, 4)))
    found = {own.id: own for own in judge_study("scaling", study)}["shared_cpus"]
    assert found.status.value == "warn"
    assert "4 ranks on 2 CPUs" in found.title
    assert "2 ranks" in found.summary
    assert "threads share CPUs there, 4 ranks on 2 CPUs" in scaling_document.verdict(study, ())[1]
    enough = scaling(slowed_above(4, (1, 2, 4)))
    assert {own.id: own.status.value for own in judge_study("scaling", enough)}[
        "shared_cpus"
    ] == "pass"


@pytest.mark.parametrize(
    ("strong", "seconds", "told"),
    [
        (True, ((8.0, 2.0), (0.0, 1.0)), "“waiting”: 1.00 s per rank"),
        (True, ((8.0, 5.0), (0.0, 1.0)), "“training”: 3.00 s per rank"),
        (False, ((8.0, 8.5), (1.0, 2.0)), "“waiting”: 1.00 s per rank"),
        (True, ((8.0, 3.0), (0.0, 1.0)), ""),  # no one of them has most of it
        (True, ((8.0, 2.0),), ""),
    ],
)
def test_the_verdict_names_what_takes_the_time_beyond_the_ideal(
    strong: bool, seconds: tuple[tuple[float, float], ...], told: str
) -> None:
    """Of 8 s of work at one rank, 2 s are ideal on 4 in strong scaling, and 8 s in weak."""
    found = scaling_document.body(scaling(slowed_above(4, (1, 4)), weak=not strong))
    labels = ("training", "waiting")
    losses = tuple(
        ScaledLoss(label, label, own, own, NotFitted(None, ""))
        for label, own in zip(labels, seconds, strict=False)
    )
    _, sentence = scaling_document.scaled(replace(found, losses=losses), ())
    assert ("beyond the ideal" in sentence) == bool(told)
    assert told in sentence
