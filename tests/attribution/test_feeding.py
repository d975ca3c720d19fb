"""What becomes of what some work yields, by what the program's lines were read to pass on."""

from typing import Any

import numpy as np
import pytest

from perfscope.attribution.acting import BY_BATCHES, BY_MODE, DOUBTFUL_ID
from perfscope.attribution.feeding import Fate, Feeding, looks
from perfscope.findings.balance import frequent_evaluation
from perfscope.findings.core.diagnosis import Outcome
from perfscope.findings.facts.facts import Facts
from perfscope.metrics.compute import compute
from perfscope.metrics.results import Results
from perfscope.replay.segments import SegmentReplay
from perfscope.schema.enums import Confidence, PhaseKind, Status
from perfscope.trace.model import Trace
from tests.support.trace_builder import FrameLike, TraceBuilder

FILE = "/job/agent.py"
MAIN, ACT, LEARN = (("main", FILE, line) for line in (20, 21, 22))
NET = ("Net.forward", FILE, 5)
ACTS = (ACT, ("Agent.act", FILE, 31), NET)
LEARNS = (LEARN, ("Agent.learn", FILE, 42), NET)
NAME = ": act (agent.py:30)"


def told(function: str, *passed: list[int | str]) -> dict[str, Any]:
    return {"place": f"{function}\x1f{FILE}\x1f1", "lines": [], "passed": [*passed]}


def metadata(*loops: dict[str, Any], outer: tuple[tuple[str, str, int], ...]) -> dict[str, Any]:
    lines = (*outer, *LEARNS[:2])
    updates = [f"{function}\x1f{FILE}\x1f{line}" for function, _, line in lines]
    return {"loops": [*loops], "updates": updates}


def trace(
    *loops: dict[str, Any],
    name: str = BY_MODE + NAME,
    acts_first: bool = True,
    acts: tuple[FrameLike, ...] = ACTS,
    outer: tuple[tuple[str, str, int], ...] = (),
) -> Trace:
    """Ten times 0.6 s of acting, seen each 0.1 s, and 0.4 s of a training step.

    `outer` is what calls main().
    """
    builder = TraceBuilder(1, end_s=1e3)
    rank, clock = builder.rank(0).set(metadata=metadata(*loops, outer=outer)), 1.0
    for turn in range(10):
        first, then = (0.0, 0.6) if acts_first else (0.4, 0.0)
        begin = clock + first
        rank.phase(PhaseKind.EVALUATE, begin, begin + 0.6, name=name)
        for look in range(6):
            rank.stack(begin + 0.05 + look / 10, (*outer, *acts))
        begin = clock + then
        rank.phase(PhaseKind.BACKWARD, begin + 0.2, begin + 0.3)
        for look in range(4):
            rank.stack(begin + 0.05 + look / 10, (*outer, *LEARNS))
        rank.step(turn, begin, begin + 0.4)
        clock += 1.0
    return builder.ended(clock, init_s=1.0)


THROUGH_A_BUFFER = (
    told("main", [21, "store()"]),  # agent.store(state, agent.act(state))
    told("Agent.store", ["store()", 51], [51, "Agent.memory"]),  # self.memory.append(...)
    told("Agent.learn", ["Agent.memory", 41], [41, 42]),  # batch = sample(self.memory)
)
KEPT = (told("main", [21, "?memory"], ["memory", 22]), told("Agent.act", [31, "<returned>"]))
FIGURE = (told("main", [21, 23]), told("Agent.act", [31, "<returned>"]))
"""main() prints it."""


@pytest.mark.parametrize(
    ("loops", "expected"),
    [
        (THROUGH_A_BUFFER, Fate.FEEDS),
        ((told("main", [21, 22]),), Fate.FEEDS),
        ((told("main", [21, 24], [24, 22]),), Fate.FEEDS),  # by way of another call
        ((told("Agent.act", [31, "<returned>"]), told("main", [21, 22])), Fate.FEEDS),
        ((told("main", [22, 21]),), Fate.TOLD),  # the other way round
        (THROUGH_A_BUFFER[:2], Fate.TOLD),  # nobody reads it
        (KEPT, Fate.KEPT),
        (FIGURE, Fate.TOLD),
        ((told("elsewhere", [1, 2]),), Fate.UNKNOWN),
        ((), Fate.UNKNOWN),
    ],
)
def test_what_becomes_of_it(loops: tuple[dict[str, Any], ...], expected: Fate) -> None:
    run = trace(*loops)
    inside = looks(run) * np.array([run.frames[stack[0]].line == ACT[2] for stack in run.stacks])
    assert Feeding(run).fate(inside) is expected


RETURNS = told("main", [21, 24], [24, "<returned>"])
"""losses.append(evaluate()), and `return losses` behind the loop."""


@pytest.mark.parametrize(
    ("outer", "expected"),
    [
        (told("run", [10, 11]), Fate.TOLD),  # plot(main())
        (told("run", [10, 10], [10, 11]), Fate.TOLD),  # plot(main(Adam(...)))
        (told("run", [10, 11], [11, 10]), Fate.FEEDS),  # each round takes what the last one gave
        (told("run", [10, "main()"]), Fate.TOLD),  # for each round: main(trial)
    ],
)
def test_what_the_training_returns_is_not_trained_on(outer: dict[str, Any], expected: Fate) -> None:
    """The line that calls the training gets its history of losses after the last update."""
    learns = told("main", ["main()", 19], [19, 22])
    run = trace(
        {**RETURNS, "passed": RETURNS["passed"] + learns["passed"]},
        outer,
        outer=(("run", FILE, 10),),
    )
    lines = [[run.frames[one].line for one in stack] for stack in run.stacks]
    inside = looks(run) * np.array([ACT[2] in one for one in lines])
    assert Feeding(run).fate(inside) is expected


@pytest.mark.parametrize(("reader", "expected"), [("<module>", Fate.TOLD), ("remember", Fate.KEPT)])
def test_a_script_that_reads_its_own_variable_keeps_it_for_nobody(
    reader: str, expected: Fate
) -> None:
    """logits = model(held_back); print(score(logits)): in a script both are global."""
    script: tuple[FrameLike, ...] = (("<module>", FILE, 21), *ACTS[1:])
    passed = [[21, "=logits"], ["=logits", 23], [21, 23]]
    loops = [{**told("<module>"), "passed": passed}]
    loops += [] if reader == "<module>" else [{**told(reader), "passed": [["=logits", 61]]}]
    run = trace(*loops, acts=script)
    inside = looks(run) * np.array([run.frames[stack[0]].line == 21 for stack in run.stacks])
    assert Feeding(run).fate(inside) is expected


def test_a_line_of_the_model_is_no_place_of_its_own() -> None:
    """Each look of one place may be inside by chance, where the model is applied outside too."""
    run = trace(told("Net.forward", [5, 22]), told("main", [21, 23]))
    inside = looks(run) * np.array([run.frames[stack[0]].line == ACT[2] for stack in run.stacks])
    assert Feeding(run).fate(inside) is Fate.TOLD


def judged(run: Trace) -> tuple[Results, Outcome]:
    results = compute(run)
    return results, frequent_evaluation.judge(Facts(results, SegmentReplay(results)))


def test_acting_that_training_takes_is_no_evaluation() -> None:
    results, finding = judged(trace(*THROUGH_A_BUFFER))
    assert {phase.id for phase in results.phases} == {"backward"}
    assert finding.status is Status.PASS


def test_batches_that_are_chosen_for_the_next_training_are_no_evaluation() -> None:
    """Active learning reads all of its pool after each round."""
    results, finding = judged(trace(*THROUGH_A_BUFFER, name=BY_BATCHES + NAME, acts_first=False))
    assert "evaluate" not in {phase.id for phase in results.phases}
    assert finding.status is Status.PASS


@pytest.mark.parametrize("loops", [KEPT, ()])
def test_what_may_be_either_is_told_as_such(loops: tuple[dict[str, Any], ...]) -> None:
    """It comes before all training, and what becomes of it is not known."""
    results, finding = judged(trace(*loops))
    phase = next(one for one in results.phases if one.id == DOUBTFUL_ID)
    assert sum(phase.seconds_by_rank) == pytest.approx(6.0)
    assert (finding.status, finding.confidence) == (Status.PASS, Confidence.LOW)
    assert "10 times" in finding.summary
    assert "or collecting of experience" in finding.summary
    assert finding.actions == ()


@pytest.mark.parametrize(
    ("loops", "name", "acts_first"),
    [
        (FIGURE, BY_MODE, True),  # a figure before training begins
        (KEPT, BY_MODE, False),  # what has been trained without it first
        (KEPT, BY_BATCHES, True),  # on a loader's batches
        (THROUGH_A_BUFFER, "mine", True),  # the user says so
    ],
)
def test_an_evaluation_is_named(
    loops: tuple[dict[str, Any], ...], name: str, *, acts_first: bool
) -> None:
    results, finding = judged(trace(*loops, name=name + NAME, acts_first=acts_first))
    phase = next(one for one in results.phases if one.id == "evaluate")
    assert sum(phase.seconds_by_rank) == pytest.approx(6.0)
    assert finding.status is not Status.PASS


@pytest.mark.parametrize(
    ("passed", "is_evaluation"), [([31, "<returned>"], True), ([31, 42], False)]
)
def test_a_name_tells_no_evaluation_of_what_the_loss_is_made_of(
    passed: list[int | str], *, is_evaluation: bool
) -> None:
    """`evaluate_actions` of A2C returns what the line that calls it adds up for the loss."""
    acts = (LEARN, ("Agent.learn", FILE, 41), ("Agent.evaluate_actions", FILE, 31), NET)
    named = told("Agent.evaluate_actions", passed)
    run = trace(
        named, told("Agent.learn", [41, 42 if not is_evaluation else 43]), name="x", acts=acts
    )
    run.ranks[0].phases = run.ranks[0].phases[run.ranks[0].phases["kind"] != PhaseKind.EVALUATE]
    results = compute(run)
    assert ("evaluate" in {phase.id for phase in results.phases}) is is_evaluation
