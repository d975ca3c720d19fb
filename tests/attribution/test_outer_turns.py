"""Loops around repeated exchange: which of them are the steps of a program."""

import random
from typing import Any

import pytest

from perfscope.metrics.compute import compute
from perfscope.metrics.efficiency.steps import StepsResult
from perfscope.trace.loops import loops_of
from perfscope.trace.model import Trace
from tests.support.trace_builder import RankBuilder, TraceBuilder

FILE = "/job/program.py"
APART = 0.02
MAIN = {"place": f"main\x1f{FILE}\x1f10", "lines": [[20, 40], [30, 35]]}
"""A loop of steps in `main`, and one of rounds in it."""


class Program:
    """Two ranks that do the same, with samples of the lines that they are at."""

    def __init__(self, *, loops: Any = (MAIN,)) -> None:
        self.builder = TraceBuilder(2, end_s=1e3)
        self.ranks: list[RankBuilder] = []
        for number in (0, 1):
            rank = self.builder.rank(number).init(1.0)
            self.ranks.append(rank.set(metadata={"loops": list(loops)} if loops else {}))
        self.now, self.tick = 1.0, 0

    def work(self, seconds: float, line: int, *more: tuple[str, int]) -> None:
        """Works in a line of main, and in what that calls."""
        self.now += seconds
        frames = [(name, FILE, at) for name, at in (("main", line), *more)]
        while 1.0 + self.tick * APART < self.now:
            for rank in self.ranks:
                rank.stack(1.0 + self.tick * APART, frames)
            self.tick += 1

    def call(self, name: str, line: int, *, seconds: float = 0.004, **more: Any) -> None:
        """An exchange, in which the samples show the same line."""
        begin = self.now
        self.work(seconds, line, ("exchange", 90))
        for place, rank in enumerate(self.ranks):
            peer = {} if "All" in name else {"peer": 1 - place}
            rank.op(name, begin, self.now, **{"sent": 800, **peer, **more})

    def built(self) -> Trace:
        for rank in self.ranks:
            rank.finalize(self.now + 0.1).end_s = self.now + 0.2
        return self.builder.build()

    def steps(self) -> StepsResult:
        return compute(self.built()).steps


def rounds(*, line: int, loops: Any = (MAIN,), name: str = "MPI_Allgather") -> StepsResult:
    """60 times four exchanges; 50 ms of work in a line with each fourth of them."""
    program = Program(loops=loops)
    for _ in range(60):
        program.work(0.05, line)
        for _part in range(4):
            program.work(0.004, 31)
            program.call(name, 32)
    return program.steps()


@pytest.mark.parametrize("name", ["MPI_Allgather", "MPI_Sendrecv"])
def test_rounds_of_exchange_in_each_step(name: str) -> None:
    """The long stretch is before the loop of rounds: a step has four of them."""
    assert rounds(line=25, name=name).count == 60


@pytest.mark.parametrize("name", ["MPI_Allgather", "MPI_Sendrecv"])
def test_work_in_every_fourth_turn_of_the_same_loop_makes_no_step(name: str) -> None:
    """What an `if` has done now and then in the loop is a part of some steps."""
    assert rounds(line=34, name=name).count == 240


def test_nothing_is_guessed_where_the_loops_are_not_known() -> None:
    assert rounds(line=25, loops=()).count == 240


def test_turns_that_add_up_over_the_ranks_stay_steps() -> None:
    """An epoch of four batches with an evaluation behind them."""
    assert rounds(line=38, name="MPI_Allreduce").count == 240


@pytest.mark.parametrize(("lines", "steps"), [((32, 33, 34), 60), ((32, 32, 32), 180)])
def test_calls_at_lines_of_their_own_are_of_one_turn(lines: tuple[int, ...], steps: int) -> None:
    """Three exchanges of the same size, with work between them, and more before the first."""
    program = Program()
    for _ in range(60):
        program.work(0.03, 31)
        for line in lines:
            program.work(0.008, 31)
            program.call("MPI_Sendrecv", line)
    assert program.steps().count == steps


@pytest.mark.parametrize("line", [0, 31], ids=["at other lines", "at one line"])
@pytest.mark.parametrize("fields", [("momentum", "continuity"), ("u", "v", "pressure", "heat")])
def test_fields_that_are_updated_one_after_the_other_are_of_one_step(
    fields: tuple[str, ...], line: int
) -> None:
    """Each is exchanged by a call of the same kind, that takes next to no time."""
    program = Program()
    for _ in range(150):
        for place, field in enumerate(fields):
            program.work(0.013, line or 31 + place, (field, 60))
            program.call("MPI_Sendrecv", 80, seconds=1e-5)
    assert program.steps().count == 150


def test_what_is_done_in_every_second_turn_makes_it_no_part() -> None:
    program = Program()
    for step in range(200):
        program.work(0.03, 31, ("update", 60))
        if step % 2:
            program.work(0.02, 34, ("write", 70))
        program.call("MPI_Sendrecv", 80, seconds=1e-5)
    assert program.steps().count == 200


def test_there_and_back_is_one_exchange() -> None:
    """Both messages look the same where there are two ranks."""
    program = Program()
    for _ in range(50):
        program.work(0.03, 25)
        program.call("MPI_Sendrecv", 32)
        program.call("MPI_Sendrecv", 32)
    assert program.steps().count == 50


def test_rare_collectives_are_not_the_steps_of_what_exchanges_messages() -> None:
    """Nine sums in a run of 540 exchanges."""
    program = Program()
    for step in range(540):
        program.work(0.02, 25)
        program.call("MPI_Sendrecv", 28)
        if step % 60 == 59:
            program.call("MPI_Allreduce", 38, sent=24)
    found = program.steps()
    assert (found.source, found.count) == ("communication", 540)


def test_messages_inside_of_many_collectives_are_parts_of_a_step() -> None:
    """300 sums, with eight messages in front of each."""
    program = Program()
    for _ in range(300):
        for _part in range(8):
            program.work(0.005, 31)
            program.call("MPI_Sendrecv", 32)
        program.call("MPI_Allreduce", 38, sent=24)
    found = program.steps()
    assert (found.source, found.count) == ("collectives", 300)


@pytest.mark.parametrize("seed", range(12))
def test_random_programs(seed: int) -> None:
    """Steps of some rounds, each of some exchanges; reports now and then; work of varying length.

    The program's own loops say what is a step: those of `main`, where it works outside its rounds.
    """
    draw = random.Random(seed)
    steps, parts = draw.randint(60, 120), draw.randint(2, 6)
    name = draw.choice(["MPI_Allgather", "MPI_Sendrecv", "MPI_Alltoall"])
    is_around, report = draw.random() < 0.6, draw.randint(15, 30)
    line = draw.choice([22, 25, 28]) if is_around else draw.choice([31, 33, 34])
    own = draw.uniform(0.04, 0.08)
    program = Program()
    for step in range(steps):
        program.work(own * draw.uniform(0.8, 1.2), line)
        for _ in range(parts):
            program.work(0.005 * draw.uniform(0.5, 1.5), 31)
            program.call(name, 32)
        if step % report == 0:
            program.call("MPI_Gather", 38, peer=0)
    expected = steps if is_around else steps * parts
    assert abs(program.steps().count - expected) <= 1


@pytest.mark.parametrize("seed", range(6))
def test_long_turns_by_lot_have_no_period(seed: int) -> None:
    draw, program = random.Random(seed), Program()
    for _ in range(240):
        program.work(0.05 if draw.random() < 0.25 else 0.01, 25)
        program.call("MPI_Allgather", 32)
    assert program.steps().count == 240


@pytest.mark.parametrize(
    "told",
    [
        7,
        [3],
        [{"place": 4}],
        [{"place": "f\x1fa.py\x1f1", "lines": 5}],
        [{"place": "f\x1fa.py\x1f1", "lines": [[1], [3, 2], ["a", 4], [0, 9], 6]}],
    ],
)
def test_odd_metadata_tells_no_loops(told: Any) -> None:
    program = Program()
    program.ranks[0].set(metadata={"loops": told})
    program.ranks[1].set(metadata={})
    program.work(0.1, 25)
    assert loops_of(program.built().ranks) == {}
