"""Turns of loops that a variable counts, in programs that exchange nothing."""

import random
from typing import Any

import pytest

from perfscope.metrics.compute import compute
from perfscope.metrics.efficiency.steps import StepsResult
from perfscope.trace.loops import values_seen
from tests.support.trace_builder import TraceBuilder, to_ns

FILE = "/job/program.py"
STEPS = {"place": f"main\x1f{FILE}\x1f10", "lines": [20, 40]}
PARTS = {"place": f"main\x1f{FILE}\x1f10", "lines": [30, 35]}
APART = 0.02


class Program:
    """One process, of which lines are sampled, and now and then the counts of its loops."""

    def __init__(self) -> None:
        self.builder = TraceBuilder(1, end_s=1e3)
        self.rank = self.builder.rank(0)
        self.now, self.tick, self.due = 1.0, 0, 1.0
        self.draw = random.Random(1)
        self.seen: list[tuple[list[int], list[int]]] = [([], []), ([], [])]

    def work(self, seconds: float, line: int, *counts: int | None, every: float = 0.1) -> None:
        self.now += seconds
        while 1.0 + self.tick * APART < self.now:
            self.rank.stack(1.0 + self.tick * APART, [("main", FILE, line)])
            self.tick += 1
        if self.now >= self.due:  # waits vary
            self.due = self.now + every * self.draw.uniform(0.5, 1.5)
            for (moments, values), count in zip(self.seen, counts, strict=False):
                if count is not None:
                    moments.append(to_ns(self.now))
                    values.append(count)

    def steps(self, lasts: tuple[int | None, int | None] = (None, None)) -> StepsResult:
        told = [
            {**loop, "at_ns": seen[0], "values": seen[1], "last": last}
            for loop, seen, last in zip((STEPS, PARTS), self.seen, lasts, strict=True)
        ]
        self.rank.end_s = self.now + 0.1
        loops = [{"place": STEPS["place"], "lines": [STEPS["lines"], PARTS["lines"]]}]
        return self.told({"loops": loops, "loop_turns": told})

    def told(self, metadata: dict[str, Any]) -> StepsResult:
        """With what the agent tells."""
        self.rank.set(metadata=metadata, loop_turns=values_seen(metadata, 0))
        return compute(self.builder.build()).steps


def test_turns_far_shorter_than_samples_are_apart() -> None:
    program = Program()
    program.work(0.5, 12)
    for turn in range(20_000):
        program.work(0.00014, 25, turn)
    found = program.steps(lasts=(19_999, None))
    assert (found.source, found.count) == ("samples", 20_000)
    assert found.step_s_median.value == pytest.approx(0.00014, rel=0.1)


@pytest.mark.parametrize("by", [1, 3, 200])
def test_without_a_last_value_the_rest_goes_on_as_before(by: int) -> None:
    program = Program()
    for turn in range(900):
        program.work(0.007, 25, by * turn)
    program.work(1.5, 50)
    assert abs(program.steps().count - 900) <= 9


def test_a_loop_inside_that_turns_less_often_is_a_part() -> None:
    program = Program()
    for turn in range(150):
        program.work(0.02, 22, turn)
        for part in range(8):
            program.work(0.01, 31, turn, part)
    assert abs(program.steps().count - 150) <= 2


@pytest.mark.parametrize("first", [0, 1990, 1_700_000_000])
def test_batches_of_few_epochs_are_the_steps(first: int) -> None:
    """Whatever a loop over years or seconds counts from, each time that it is entered."""
    program = Program()
    for epoch in range(6):
        for batch in range(first, first + 300):
            program.work(0.005, 31, epoch, batch)
    assert abs(program.steps().count - 1800) <= 36


def test_nothing_is_told_where_nobody_counts_an_inner_loop() -> None:
    """Nor where its turns are too short for looks to tell how often it was entered."""
    program = Program()
    for epoch in range(30):
        for _ in range(100):
            program.work(0.0005, 31, epoch)
    assert program.steps().source is None
    program = Program()
    for epoch in range(30):
        for batch in range(100):
            program.work(0.0007, 31, epoch, batch)
    assert program.steps().source is None


def test_a_variable_that_was_used_again_tells_no_end() -> None:
    program = Program()
    for turn in range(500):
        program.work(0.01, 25, turn)
    assert abs(program.steps(lasts=(1_000_000, None)).count - 500) <= 5


@pytest.mark.parametrize("seed", range(8))
def test_random_programs(seed: int) -> None:
    draw, program = random.Random(seed), Program()
    outer, inner, work = draw.randint(40, 90), draw.choice([0, 4, 20]), draw.uniform(0.03, 0.09)
    program.work(draw.uniform(0.1, 1.0), 12)
    for turn in range(outer):
        program.work(work * draw.uniform(0.7, 1.3), draw.choice([21, 38]), turn)
        for part in range(inner):
            program.work(work / 10, 32, turn, part, every=0.05)
    program.work(0.3, 60)
    assert abs(program.steps().count - outer) <= 2


@pytest.mark.parametrize(
    "told",
    [
        7,
        [3],
        [{"place": 4}],
        [{**STEPS, "at_ns": 5, "values": [1]}],
        [{**STEPS, "at_ns": [1 << 80, "a", 2], "values": [1, 2, None], "last": "9"}],
        [{**STEPS, "at_ns": [10**9, 10**9, 10**9 + 1], "values": [1, 1 << 61, 7]}],
        [{**STEPS, "at_ns": [10**9, 10**9, 10**9 + 1], "values": [1, -(1 << 61), 1 << 61]}],
        [{**STEPS, "lines": [4], "at_ns": [1, 2, 3], "values": [1, 2, 3]}],
    ],
)
def test_odd_metadata_tells_no_turns(told: Any) -> None:
    program = Program()
    program.work(1.0, 25)
    program.rank.end_s = 3.0
    loops = [{"place": STEPS["place"], "lines": [STEPS["lines"]]}]
    assert program.told({"loops": loops, "loop_turns": told}).source is None
