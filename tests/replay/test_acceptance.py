"""The runs with a known fault: what the replay promises for the fix is what the fixed run takes."""

from functools import cache

import pytest

from perfscope.metrics.compute import compute
from perfscope.metrics.results import Options
from perfscope.replay.edit_parser import parse_edit
from perfscope.replay.model import Edit, Level
from perfscope.replay.segments import SegmentReplay
from tests.findings.training_runs import Plan, training_run

NEAR = 0.02
HEALTHY = Plan()


@cache
def analyzed(plan: Plan) -> tuple[SegmentReplay, float]:
    """The replay of a run, and its length in seconds."""
    results = compute(training_run(plan), Options())
    return SegmentReplay(results), results.focus.length_ns * 1e-9


def gain_s(plan: Plan, *edits: Edit) -> float:
    prediction = analyzed(plan)[0].predict(edits)
    assert prediction is not None
    return prediction.gain_s


def saved_s(before: Plan, after: Plan) -> float:
    return analyzed(before)[1] - analyzed(after)[1]


def named(text: str) -> Edit:
    phases = ("input", "forward", "backward", "optimizer", "evaluate")
    return parse_edit(text, ranks=range(4), phases=phases).edit


FIXES = {
    "slow forward": (Plan(slow_rank=1, slow_forward_s=0.1), HEALTHY, "straggler@1"),
    "slow backward": (Plan(slow_rank=1, slow_backward_s=0.1), HEALTHY, "straggler@1"),
    "evaluation removed": (Plan(evaluate_s=4.0), HEALTHY, "remove:evaluation@0"),
    "evaluation by phase": (Plan(evaluate_s=4.0), HEALTHY, "remove:evaluate"),
    "evaluation every 2nd time": (
        Plan(evaluate_s=4.0),
        Plan(evaluate_s=4.0, evaluate_every=40),
        "every:2:evaluation",
    ),
    "evaluation shared": (
        Plan(evaluate_s=4.0),
        Plan(evaluate_s=1.0, evaluators=4),
        "share:evaluation",
    ),
    "evaluation twice as fast": (
        Plan(evaluate_s=4.0),
        Plan(evaluate_s=2.0),
        "scale:evaluation:0.5",
    ),
    "network 41 times as fast": (Plan(allreduce_s=0.205), HEALTHY, "network:41"),
    "network without time": (Plan(allreduce_s=0.205), Plan(allreduce_s=0.0), "network:inf"),
    "never starved": (Plan(starved_rank=2, starved_s=0.05), Plan(input_s=0.0), "never-starved"),
}


@pytest.mark.parametrize("case", FIXES)
def test_predicted_gain_is_that_of_the_fixed_run(case: str) -> None:
    faulty, fixed, edit = FIXES[case]
    assert gain_s(faulty, named(edit)) == pytest.approx(saved_s(faulty, fixed), rel=NEAR)


def test_another_rank_each_step() -> None:
    faulty = Plan(unlucky_s=0.1)
    gain = gain_s(faulty, Edit(level=Level.USUAL))
    assert gain == pytest.approx(saved_s(faulty, HEALTHY), rel=NEAR)


def test_combined_fixes_give_what_the_run_without_both_faults_does() -> None:
    faulty = Plan(evaluate_s=4.0, slow_rank=1, slow_forward_s=0.1)
    both = (named("remove:evaluation@0"), named("straggler@1"))
    assert gain_s(faulty, *both) == pytest.approx(saved_s(faulty, HEALTHY), rel=NEAR)


def test_nothing_to_fix_in_a_healthy_run() -> None:
    length_s = analyzed(HEALTHY)[1]
    for text in ("balance", "straggler@1", "remove:evaluation", "network:inf"):
        assert gain_s(HEALTHY, named(text)) < 0.03 * length_s


def test_evaluation_in_the_background_leaves_only_the_last_one() -> None:
    """It ends 4 s after its step, which is the last of the run."""
    faulty = Plan(evaluate_s=4.0)
    gain = gain_s(faulty, named("background:evaluation@0"))
    assert gain == pytest.approx(saved_s(faulty, HEALTHY) - 4.0, rel=NEAR)
