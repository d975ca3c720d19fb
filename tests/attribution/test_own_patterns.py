"""Steps of programs that tell none, found in the calls or the samples of each rank."""

import random
from typing import Any

import pytest

from perfscope.metrics.compute import compute
from perfscope.metrics.efficiency.steps import StepsResult
from tests.support.trace_builder import RankBuilder, TraceBuilder

FILE = "/job/program.py"


class Writer:
    """Writes one rank's calls one after the other, each after some work."""

    def __init__(self, rank: RankBuilder) -> None:
        self.rank = rank.init(1.0)
        self.now = 1.0

    def call(self, name: str, *, work: float = 0.01, sent: int = 8, **more: Any) -> None:
        self.now += work
        self.rank.op(name, self.now, self.now + 0.001, sent=sent, **more)
        self.now += 0.001


def finish(builder: TraceBuilder, writers: list[Writer]) -> StepsResult:
    end = max(writer.now for writer in writers)
    for writer in writers:
        writer.rank.finalize(end + 0.1).end_s = end + 0.2
    return compute(builder.build()).steps


def stages(*, steps: int, parts: int = 1) -> StepsResult:
    """Two stages of two ranks: an allreduce in each stage, of other sizes, and messages between."""
    builder = TraceBuilder(4, end_s=1e3)
    first, second = builder.communicator((0, 1)), builder.communicator((2, 3))
    writers = [Writer(builder.rank(number)) for number in range(4)]
    for step in range(steps):
        for place, writer in enumerate(writers):
            for part in range(parts):
                name = "MPI_Send" if place < 2 else "MPI_Recv"
                writer.call(name, peer=(place + 2) % 4, tag=part)
            sent = 4096 if place < 2 else 9999
            writer.call("MPI_Allreduce", comm=first if place < 2 else second, sent=sent)
            if step % 10 == 9:
                writer.call("MPI_Allgather", comm=0, work=0.05)
    return finish(builder, writers)


def test_stages_with_their_own_communicators() -> None:
    steps = stages(steps=60)
    assert (steps.source, steps.count) == ("communication", 60)
    assert stages(steps=60, parts=4).count == 60


@pytest.mark.parametrize("parts", [1, 4])
def test_only_messages(parts: int) -> None:
    """A pipeline of two ranks: activations there, gradients back, in so many parts a step."""
    builder = TraceBuilder(2, end_s=1e3)
    writers = [Writer(builder.rank(number)) for number in (0, 1)]
    for _ in range(50):
        for names, writer in zip((("Send", "Recv"), ("Recv", "Send")), writers, strict=True):
            for name in names:
                for _part in range(parts):
                    writer.call(f"MPI_{name}", peer=1 - writer.rank.number)
            writer.now += 0.05
    steps = finish(builder, writers)
    assert steps.source == "communication"
    assert steps.count in {49, 50}


def test_a_master_and_its_workers() -> None:
    builder = TraceBuilder(4, end_s=1e3)
    writers = [Writer(builder.rank(number)) for number in range(4)]
    for step in range(40):
        for worker in (1, 2, 3):
            writers[0].call("MPI_Send", peer=worker, sent=100 + step, work=0.001)
            writers[worker].call("MPI_Recv", peer=0, work=0.001)
            writers[worker].call("MPI_Send", peer=0, sent=200 + step)
        for worker in (1, 2, 3):
            writers[0].call("MPI_Recv", peer=worker, work=0.001)
    steps = finish(builder, writers)
    assert (steps.source, steps.count) == ("communication", 40)


def test_another_number_of_calls_in_each_step() -> None:
    """Iterations end early at will: only the last call of each is always there."""
    builder, draw = TraceBuilder(2, end_s=1e3), random.Random(4)
    writers = [Writer(builder.rank(number)) for number in (0, 1)]
    half = [builder.communicator((0,)), builder.communicator((1,))]
    for _ in range(80):
        turns = draw.randint(1, 9)
        for writer in writers:
            for turn in range(turns):
                writer.call("MPI_Isend", peer=1 - writer.rank.number, tag=turn, sent=64)
                writer.call("MPI_Irecv", peer=1 - writer.rank.number, tag=turn, work=0.0)
            writer.call("MPI_Bcast", comm=half[writer.rank.number], work=0.02)
    steps = finish(builder, writers)
    assert (steps.source, steps.count) == ("communication", 80)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("world", [True, False])
def test_calls_by_lot_have_no_steps(seed: int, world: bool) -> None:
    builder, draw = TraceBuilder(2, end_s=1e3), random.Random(seed)
    writers = [Writer(builder.rank(number)) for number in (0, 1)]
    for _ in range(400):
        name = draw.choice(["MPI_Allreduce", "MPI_Alltoall", "MPI_Allgather"])
        message = draw.choice(["MPI_Isend", "MPI_Irecv", "MPI_Sendrecv"])
        work, size = draw.expovariate(100.0), draw.randint(1, 3)
        for writer in writers:
            if world:
                writer.call(name, work=work)
            else:
                writer.call(message, peer=1 - writer.rank.number, sent=size, work=work)
    assert finish(builder, writers).source is None


def sampled(loop: list[tuple[float, list[int]]], *, apart: float = 0.02) -> StepsResult:
    """One process that never communicates: (seconds, lines of the frames), one after the other."""
    builder = TraceBuilder(1, end_s=1e3)
    rank, now, tick = builder.rank(0), 1.0, 0
    for seconds, lines in loop:
        now += seconds
        while 1.0 + tick * apart < now:
            names = ("main", "turn", "part")
            frames = [(names[level], FILE, line) for level, line in enumerate(lines)]
            rank.stack(1.0 + tick * apart, frames)
            tick += 1
    rank.end_s = now
    rank.start_s = 0.9
    return compute(builder.build()).steps


def test_without_communication_the_lines_tell() -> None:
    turn = [(0.05, [10, 31]), (0.1, [10, 32]), (0.05, [10, 33])]
    steps = sampled([*[(0.5, [4])], *turn * 50, (0.3, [12])])
    assert (steps.source, steps.count) == ("samples", 50)


def test_epochs_around_and_layers_inside_are_no_steps() -> None:
    layers = [(0.06, [10, 31, 51]), (0.06, [10, 31, 52])] * 4
    epoch = [*([*layers, (0.06, [10, 33])] * 12), (0.4, [11])]
    assert abs(sampled(epoch * 6).count - 6 * 12) <= 6


@pytest.mark.parametrize("seed", range(5))
def test_lines_by_lot_have_no_steps(seed: int) -> None:
    draw = random.Random(seed)
    loop = [(draw.expovariate(10.0), [10, draw.randint(20, 40)]) for _ in range(300)]
    assert sampled(loop).source is None


@pytest.mark.parametrize("seed", [0, 1, 3, 4])
def test_turns_shorter_than_the_time_between_samples_have_no_steps(seed: int) -> None:
    """Of turns of 20 ms, seen every 20 ms somewhere, the lines come as if drawn by lot."""
    draw = random.Random(seed)
    turns = (
        [10, 61, draw.choice((51, 53))] if draw.random() < 0.12 else [10, 61] for _ in [0] * 500
    )
    assert sampled([(0.02, lines) for lines in turns]).source is None


@pytest.mark.parametrize("seed", range(4))
def test_lines_by_lot_in_a_part_of_the_run_have_no_steps(seed: int) -> None:
    """What follows tells nothing of how the lines came, and neither does what has none of them."""
    draw = random.Random(seed)
    lines = [
        [10, 61, draw.choice((51, 53))] if draw.random() < 0.2 else [10, 61] for _ in [0] * 300
    ]
    assert sampled([*((0.02, one) for one in lines), (12.0, [12])]).source is None


def test_turns_in_a_small_part_of_the_run_are_no_steps() -> None:
    turn = [(0.1, [10, 31]), (0.2, [10, 32]), (0.1, [10, 33])]
    assert sampled([*turn * 30, (12.0, [12])]).count == 30
    assert sampled([*turn * 9, (30.0, [12]), *turn * 9, (20.0, [12])]).source is None


def test_steps_that_are_at_other_times_on_each_rank_last_as_long_as_there_is_time() -> None:
    """Each rank takes long for every second step, and its neighbor for the others."""
    builder = TraceBuilder(2, end_s=1e3)
    writers = [Writer(builder.rank(number)) for number in range(2)]
    for step in range(100):
        for place, writer in enumerate(writers):
            writer.call("MPI_Send", peer=1 - place, work=0.029 if (step + place) % 2 else 0.009)
    steps = finish(builder, writers)
    assert (steps.source, steps.count) == ("communication", 100)
    assert steps.step_s_median.value == pytest.approx(0.02)
    assert steps.step_s_p95.value == pytest.approx(0.02)
    assert steps.max_seconds == pytest.approx((0.03,) * 99)


def test_few_long_turns_are_steps() -> None:
    turn = [(0.5, [10, 31]), (1.0, [10, 32]), (0.5, [10, 33])]
    steps = sampled(turn * 7)
    assert (steps.source, steps.count) == ("samples", 7)
