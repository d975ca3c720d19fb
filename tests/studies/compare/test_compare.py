"""Comparisons of runs made from formulas, so that every number of the answer is known."""

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from benchmarks.compare.noise import QUIET, run_values
from perfscope.schema.write import as_json
from perfscope.studies.common import document
from perfscope.studies.common.measures import STEP, THROUGHPUT, WALL, Measure, choose, solution
from perfscope.studies.common.run import StudyRun
from perfscope.studies.compare import labels as compare_words
from perfscope.studies.compare.compare import FACTOR, body, judge_all
from perfscope.studies.compare.sides import Side, make_side
from tests.support.study_runs import made_run

SPREAD = (1.000, 1.004, 0.997, 1.007, 0.995)  # of five repeats


def runs(
    name: str, step_s: float, *, ranks: int = 2, spread: Sequence[float] = SPREAD, **more: Any
) -> list[StudyRun]:
    """Repeats with 100 steps whose medians are spread around `step_s`."""
    return [
        made_run(
            f"{name}-{n}",
            focus_s=100 * step_s * factor,
            work_s=[80 * step_s * factor] * ranks,
            step_s=step_s * factor,
            steps=100,
            **more,
        )
        for n, factor in enumerate(spread)
    ]


def side(name: str, step_s: float, **more: Any) -> Side:
    return make_side(name, runs(name, step_s, **more))


def compared(
    *sides: Side, measure: Measure | None = STEP, factor: float = FACTOR
) -> dict[str, Any]:
    """study.json of some sides."""
    found = body(sides, measure=measure, factor=factor)
    every = [run for one in sides for run in one.all_runs]
    verdict = compare_words.verdict(found)
    return as_json(document.build("compare", every, verdict=verdict, body=found))


def answer(found: dict[str, Any], place: int = 0) -> str:
    return str(found["compare"]["comparisons"][place]["answer"])


@pytest.mark.parametrize(
    ("slower", "said", "status"),
    [
        (1.05, "slower", "fail"),
        (0.95, "faster", "pass"),
        (1.0, "same", "pass"),
        (1.015, "unclear", "info"),  # certain, and below the factor: its interval reaches beyond
    ],
)
def test_known_differences_are_called_by_their_names(slower: float, said: str, status: str) -> None:
    found = compared(side("A", 0.1), side("B", 0.1 * slower))
    assert answer(found) == said
    assert found["verdict"]["status"] == status
    row = found["compare"]["comparisons"][0]
    assert row["ratio"] == pytest.approx(slower, rel=1e-6)
    assert row["slowdown"] == row["ratio"]
    assert row["p"] == pytest.approx(2 / 252) or said in ("same", "unclear")


def test_a_certain_difference_below_the_factor_is_none() -> None:
    tight = (1.0, 1.0001, 0.9999, 1.0002, 0.9998)
    found = compared(side("A", 0.1, spread=tight), side("B", 0.1 * 1.01, spread=tight))
    assert found["compare"]["comparisons"][0]["p"] <= 0.05
    assert answer(found) == "same"
    strict = compared(
        side("A", 0.1, spread=tight), side("B", 0.1 * 1.01, spread=tight), factor=1.005
    )
    assert answer(strict) == "slower"


def test_more_throughput_is_faster() -> None:
    before = [made_run(f"a{n}", focus_s=1, work_s=[1.0], samples_per_s=100.0 + n) for n in range(4)]
    after = [made_run(f"b{n}", focus_s=1, work_s=[1.0], samples_per_s=120.0 + n) for n in range(4)]
    found = compared(make_side("A", before), make_side("B", after), measure=None)
    assert found["compare"]["unit"]["id"] == "throughput"
    assert answer(found) == "faster"
    assert found["compare"]["comparisons"][0]["slowdown"] < 1
    assert "samples/s" in found["verdict"]["sentence"]


def test_a_single_run_cannot_tell_and_says_what_its_steps_say() -> None:
    random = np.random.default_rng(4)
    sides = []
    for name, step_s in (("A", 0.1), ("B", 0.2)):
        steps = (step_s * (1 + 0.01 * random.standard_normal(200))).tolist()
        more = {"steps": {"max_seconds": steps}}
        sides.append(side(name, step_s, spread=(1.0,), more=more))
    found = compared(*sides)
    row = found["compare"]["comparisons"][0]
    assert row["answer"] == "unknown"
    assert row["p"] is None
    assert "single run" in found["verdict"]["sentence"]
    assert row["within_runs"]["interval"][0] < 2 < row["within_runs"]["interval"][1]
    assert row["within_runs"]["steps"] == [200, 200]


def test_several_sides_are_each_compared_with_the_first_and_corrected() -> None:
    found = compared(side("A", 0.1), side("B", 0.1), side("C", 0.15))
    assert [row["against"] for row in found["compare"]["comparisons"]] == ["A", "A"]
    assert [answer(found, n) for n in (0, 1)] == ["same", "slower"]
    assert found["compare"]["comparisons"][1]["p"] == pytest.approx(2 * 2 / 252)
    said = found["verdict"]["sentence"]
    assert said.startswith("C is slower than A: ")
    assert re.search(r"B is as fast as A \([^()]* 95 % confidence interval [^()]*\)\.$", said)
    # of what is faster beside what cannot be told, the first is the answer
    better = compared(side("A", 0.1), side("B", 0.1, spread=(0.8, 1.0, 1.3)), side("C", 0.05))
    assert better["verdict"]["status"] == "pass"


@pytest.mark.parametrize(
    ("more", "word"),
    [({"ranks": 4}, "ranks"), ({"batch_size": 64}, "batch size"), ({"hosts": 2}, "hosts")],
)
def test_what_is_not_alike_is_said_loudly(more: dict[str, Any], word: str) -> None:
    batch = {"batch_size": 32} if "batch_size" in more else {}
    found = compared(side("A", 0.1, **batch), side("B", 0.1, **more))
    assert found["verdict"]["sentence"].startswith("Not like with like")
    assert found["verdict"]["status"] == "warn"
    assert word in found["compare"]["unlike"][0]


def test_failed_runs_and_copies_do_not_count() -> None:
    good, failed, copied = runs("A", 0.1, spread=(1.0, 1.01, 1.02))
    for run in (good, failed, copied):
        run.document["run"]["start_unix_s"] = 1.0e9
    copied.document["run"]["wall_s"] = good.document["run"]["wall_s"]
    failed.document["run"]["exit_code"] = 137
    killed = runs("K", 0.1, spread=(1.0,))[0]
    killed.document["run"] |= {
        "incomplete_ranks": [1],
        "endings": [{"rank": 1, "text": "killed by signal 9"}],
    }
    found = make_side("A", [good, failed, copied, killed])
    assert [run.label for run in found.runs] == ["A-0"]
    reasons = [reason for _, reason in found.left_out]
    assert "exit code 137" in reasons[0]
    assert "copy of A-0" in reasons[1]
    assert "killed by signal 9" in reasons[2]


def test_a_side_whose_runs_all_failed_has_no_answer() -> None:
    failed = runs("B", 0.1)
    for run in failed:
        run.document["run"]["exit_code"] = 1
    found = compared(side("A", 0.1), make_side("B", failed))
    assert answer(found) == "unknown"
    assert "cannot be compared" in found["verdict"]["sentence"]
    assert found["compare"]["waterfall"]["reason"]


def test_the_waterfall_adds_up_exactly() -> None:
    ledgers = [
        {"training": [6.0, 6.0], "evaluation": [2.0, 0.0], "communication_wait": [0.0, 2.0]},
        {"training": [6.2, 6.2], "evaluation": [0.5, 0.5], "communication_wait": [0.01, 0.01]},
        {"training": [3.0, 3.0], "evaluation": [0.5, 0.5], "communication_wait": [0.1, 0.1]},
    ]
    sides = [
        make_side(
            name, [made_run(name, focus_s=8, work_s=[6.0, 6.0], ledger_s=of, steps=10, step_s=0.8)]
        )
        for name, of in zip("ABC", ledgers, strict=True)
    ]
    found = compared(*sides)["compare"]["waterfall"]
    assert found["totals_s"] == pytest.approx([8.0, 6.71, 3.6])
    assert found["speedups"] == pytest.approx([1.0, 8.0 / 6.71, 8.0 / 3.6])
    for step in found["steps"]:
        change = sum(part["delta_s"] for part in step["parts"])
        expected = found["totals_s"][step["to"]] - found["totals_s"][step["from"]]
        assert change == pytest.approx(expected)
    first = {part["id"]: part["delta_s"] for part in found["steps"][0]["parts"]}
    assert first == pytest.approx(
        {"communication_wait": -0.99, "evaluation": -0.5, "training": 0.2}
    )


def test_different_numbers_of_steps_are_compared_by_the_step() -> None:
    before = [made_run("a", focus_s=10, work_s=[8.0], steps=100, step_s=0.1)]
    after = [made_run("b", focus_s=20, work_s=[16.0], steps=200, step_s=0.1)]
    sides = (make_side("A", before), make_side("B", after))
    found = compared(*sides)["compare"]["waterfall"]
    assert found["per_step"]
    assert found["totals_s"] == pytest.approx([0.1, 0.1])
    assert choose([*before, *after])[0] is STEP
    assert choose(before)[0] is WALL
    assert any(
        "numbers of steps" in text for text in compared(*sides, measure=WALL)["compare"]["unlike"]
    )


def test_what_happens_once_is_no_part_of_a_step() -> None:
    sides = [
        make_side(
            name,
            [
                made_run(
                    name,
                    focus_s=steps / 10,
                    work_s=[steps / 10],
                    ledger_s={"start_up": [20.0], "training": [steps / 10], "shutdown": [5.0]},
                    steps=steps,
                )
            ],
        )
        for name, steps in (("A", 100), ("B", 200))
    ]
    found = compared(*sides)["compare"]["waterfall"]
    assert found["totals_s"] == pytest.approx([0.1, 0.1])
    assert found["speedups"] == pytest.approx([1.0, 1.0])
    assert {part["id"] for part in found["steps"][0]["parts"]} <= {"training", "rest"}


def gain(value: float, *, name: str = "slow_input", basis: str = "replay") -> dict[str, Any]:
    return {
        "id": name,
        "status": "fail",
        "title": f"{name} costs",
        "gain_s": value,
        "gain_interval_s": [value * 0.9, value * 1.1],
        "gain_basis": basis,
    }


def test_a_prediction_stands_beside_what_was_obtained() -> None:
    before = side("A", 0.1, spread=(1.0,), findings=[gain(2.0)])
    after = side("B", 0.079, spread=(1.0,))
    found = compared(before, after)["compare"]
    kept = found["comparisons"][0]["prediction"]
    assert kept["predicted_s"] == 2.0
    assert kept["predicted_interval_s"] == [1.8, 2.2]
    assert kept["obtained_s"] == pytest.approx(2.1)
    assert kept["relative_error"] == pytest.approx(-0.1 / 2.1)
    assert found["finding_changes"][0]["change"] == "gone"


@pytest.mark.parametrize(
    ("gains", "combined", "predicted", "reason"),
    [
        ([gain(2.0), gain(1.0, name="other")], 2.5, 2.5, None),
        ([gain(2.0), gain(1.0, name="other")], None, None, "overlap"),
        ([gain(2.0, basis="upper_bound")], None, None, "upper bound"),
    ],
)
def test_gains_of_several_findings_are_not_added_up(
    gains: list[dict[str, Any]], combined: float | None, predicted: float | None, reason: str | None
) -> None:
    verdict = {"verdict": {"top": [row["id"] for row in gains], "combined_gain_s": combined}}
    before = side("A", 0.1, spread=(1.0,), findings=gains, more=verdict)
    kept = compared(before, side("B", 0.08, spread=(1.0,)))["compare"]["comparisons"][0][
        "prediction"
    ]
    assert kept["predicted_s"] == predicted
    assert (reason or "") in (kept["reason"] or "")


def test_findings_come_stay_and_need_half_of_the_runs() -> None:
    before = [*runs("A", 0.1, findings=[gain(1.0)])]
    before[0].document["findings"].append(gain(1.0, name="chance"))
    after = side("B", 0.1, findings=[gain(1.0), gain(1.0, name="fresh")])
    found = compared(make_side("A", before), after)["compare"]["finding_changes"]
    assert {row["id"]: row["change"] for row in found} == {"slow_input": "stayed", "fresh": "new"}


def test_differences_name_what_changed_and_repeats_that_are_none() -> None:
    before, after = runs("A", 0.1), runs("B", 0.1)
    for run in (*before, *after):
        run.document["run"]["environment"] = {"OMP_NUM_THREADS": "1", "PMI_RANK": run.label}
    for run in after:
        run.document["run"]["environment"]["OMP_NUM_THREADS"] = "2"
        run.document["run"]["versions"] = {"numpy": "2.0"}
    after[0].document["run"]["versions"] = {"numpy": "2.1"}
    found = compared(make_side("A", before), make_side("B", after))["compare"]["differences"]
    rows = {row["name"]: row for row in found}
    assert set(rows) == {"OMP_NUM_THREADS", "numpy"}
    assert rows["OMP_NUM_THREADS"]["values"] == ["1", "2"]
    assert rows["numpy"]["values"] == [None, "2.0 | 2.1"]
    assert rows["numpy"]["varies_within"]
    assert not rows["OMP_NUM_THREADS"]["varies_within"]


def test_the_time_to_a_target_is_when_the_program_first_reported_it() -> None:
    series = {"steps": {"series": {"loss": [[1.0, 0.9], [2.0, 0.2], [3.0, 0.1], [4.0, 0.3]]}}}
    run = made_run("a", focus_s=5, work_s=[1.0], more=series)
    at_most = solution("loss<=0.2", series="loss", at_most=True, value=0.2)
    assert at_most.read(run).value == 2.0
    never = solution("loss<=0", series="loss", at_most=True, value=0).read(run)
    assert never.reason == "the run did not reach loss<=0"
    absent = solution("x>=1", series="x", at_most=False, value=1).read(run)
    assert absent.reason == "the run did not report x"


def test_equal_pairs_are_seldom_called_different_and_a_twentieth_is_found() -> None:
    """The rates that docs/compare.md states, on throughput too, where less is worse."""
    random = np.random.default_rng(21)

    def rated(name: str, slower: float) -> Side:
        values = run_values(random, 5, QUIET, slower=slower)
        made = [
            made_run(f"{name}{n}", focus_s=1, work_s=[1.0], samples_per_s=1 / v)
            for n, v in enumerate(values)
        ]
        return make_side(name, made)

    false = found = 0
    for _ in range(200):
        base = rated("A", 1.0)
        [equal] = judge_all([base, rated("B", 1.0)], THROUGHPUT, factor=FACTOR)
        [slower] = judge_all([base, rated("C", 1.05)], THROUGHPUT, factor=FACTOR)
        false += equal.answer.value in ("slower", "faster")
        found += slower.answer.value == "slower"
    assert false <= 10
    assert found >= 180


def test_different_programs_are_said_first_and_promise_nothing() -> None:
    def of(program: str, step_s: float) -> Side:
        run = runs(program, step_s)
        for one in run:
            one.document["run"]["command"] = ["python", program]
        return make_side(program, run)

    found = compared(of("train_ddp.py", 1.0), of("sgan.py", 0.5))
    assert found["verdict"]["status"] == "warn"
    assert found["verdict"]["sentence"].startswith(
        "Not like with like: The sides are different programs: train_ddp.py ran train_ddp.py; "
    )
    assert found["compare"]["comparisons"][0]["prediction"] is None
    same = compared(of("train_ddp.py", 1.0), of("train_ddp.py", 0.5))
    assert "different programs" not in same["verdict"]["sentence"]
