"""Training runs made by hand: 4 ranks, 200 steps, forward 80 ms, backward 160, input 4, "
"optimizer 10."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from perfscope.schema.enums import PhaseKind
from perfscope.trace.model import Trace
from tests.support.trace_builder import TraceBuilder

TRAINER = ("main", "/job/train.py", 300)
EVALUATOR = ("evaluate", "/job/train.py", 212)
SAMPLE_S = 0.1


@dataclass(frozen=True)
class Plan:
    """What a training run is like, and what is wrong with it."""

    ranks: int = 4
    steps: int = 200
    input_s: float = 0.004
    forward_s: float = 0.080
    backward_s: float = 0.160
    optimizer_s: float = 0.010
    allreduce_s: float = 0.005
    jitter: float = 0.02  # relative, of forward and backward
    noise: float = 0.0  # standard deviation of the logarithm of forward and backward
    tail: float = 0.0  # how often forward takes far longer, by chance, on any rank
    slow_rank: int | None = None
    slow_forward_s: float = 0.0
    slow_backward_s: float = 0.0
    slow_factor: float = 1.0  # of everything that the slow rank does
    starved_rank: int | None = None
    starved_s: float = 0.0  # more input wait of that rank in each step
    unlucky_s: float = 0.0  # forward of another rank each step
    evaluate_s: float = 0.0
    evaluate_every: int = 20
    evaluate_rank: int = 0
    evaluators: int = 1  # ranks that evaluate, beginning with evaluate_rank
    called: tuple[tuple[str, str, int], ...] = ()  # what evaluate() is seen in
    markers: bool = True  # without, only stack samples tell what the ranks do
    samples: tuple[int, ...] | None = None  # of each rank and step
    seed: int = 7


class _Run:
    """Builds one run, event by event."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.random = np.random.default_rng(plan.seed)
        self.builder = TraceBuilder(plan.ranks, end_s=1e6)
        self.clock = np.full(plan.ranks, 1.0)
        self.begins: dict[int, list[float]] = {}
        for rank in range(plan.ranks):
            self.builder.rank(rank).init(1.0)

    def phase(self, rank: int, kind: PhaseKind, length_s: float, step: int) -> None:
        start = float(self.clock[rank])
        self.clock[rank] += length_s
        if self.plan.markers:
            self.builder.rank(rank).phase(kind, start, float(self.clock[rank]), step=step)
        frames = [TRAINER]
        if kind is PhaseKind.EVALUATE:
            frames += [EVALUATOR, *self.plan.called]
        for tick in range(int(start / SAMPLE_S) + 1, int(self.clock[rank] / SAMPLE_S) + 1):
            self.builder.rank(rank).stack(tick * SAMPLE_S, frames)

    def step(self, number: int) -> None:
        plan = self.plan
        unlucky = int(self.random.integers(plan.ranks))
        for rank in range(plan.ranks):
            begin = float(self.clock[rank])
            slow = rank == plan.slow_rank
            factor = plan.slow_factor if slow else 1.0
            noise = 1.0 + plan.jitter * self.random.standard_normal(2)
            forward = plan.forward_s * noise[0] + (plan.slow_forward_s if slow else 0.0)
            backward = plan.backward_s * noise[1] + (plan.slow_backward_s if slow else 0.0)
            if plan.noise:
                forward *= float(np.exp(plan.noise * self.random.standard_normal()))
                backward *= float(np.exp(plan.noise * self.random.standard_normal()))
            if plan.tail and self.random.random() < plan.tail:
                forward *= 2.0 + float(self.random.pareto(2.0))
            forward += plan.unlucky_s if rank == unlucky else 0.0
            waits = plan.starved_s if rank == plan.starved_rank else 0.0
            self.phase(rank, PhaseKind.INPUT, plan.input_s * factor + waits, number)
            self.phase(rank, PhaseKind.FORWARD, forward * factor, number)
            self.phase(rank, PhaseKind.BACKWARD, backward * factor, number)
            self.begins.setdefault(number, []).append(begin)
        self.allreduce()
        for rank in range(plan.ranks):
            factor = plan.slow_factor if rank == plan.slow_rank else 1.0
            self.phase(rank, PhaseKind.OPTIMIZER, plan.optimizer_s * factor, number)
            if plan.markers:
                self.builder.rank(rank).step(
                    number,
                    self.begins[number][rank],
                    float(self.clock[rank]),
                    samples=plan.samples[rank] if plan.samples else 0,
                )

    def allreduce(self) -> None:
        end = float(self.clock.max()) + self.plan.allreduce_s
        for rank in range(self.plan.ranks):
            enter = float(self.clock[rank])
            self.builder.rank(rank).op("MPI_Allreduce", enter, end, sent=8, received=8)
        self.clock[:] = end

    def evaluate(self, number: int) -> None:
        plan = self.plan
        for rank in range(plan.evaluate_rank, plan.evaluate_rank + plan.evaluators):
            self.phase(rank, PhaseKind.EVALUATE, plan.evaluate_s, number)

    def finish(self) -> Trace:
        for rank in range(self.plan.ranks):
            self.builder.rank(rank).finalize(float(self.clock[rank]))
            self.builder.rank(rank).end_s = float(self.clock.max()) + 0.5
        return self.builder.set(wall_ns=round((self.clock.max() + 0.5) * 1e9)).build()


def training_run(plan: Plan, *, change: Callable[[TraceBuilder], None] | None = None) -> Trace:
    """The recording of a run as planned; `change` may add to it before it is built."""
    run = _Run(plan)
    for number in range(plan.steps):
        run.step(number)
        if plan.evaluate_s and (number + 1) % plan.evaluate_every == 0:
            run.evaluate(number)
    if change:
        change(run.builder)
    return run.finish()
