"""Runs of short epochs whose loader starts workers for each of them, made by hand."""

from collections.abc import Mapping
from dataclasses import dataclass

from perfscope.schema.enums import PhaseKind
from perfscope.trace.model import Trace
from tests.support.trace_builder import RankBuilder, TraceBuilder

RANKS, WORK_S, MEET_S = 2, 0.1, 0.001


@dataclass(frozen=True)
class Epochs:
    """How many epochs there are, of how many batches, and how long each of them is waited for."""

    epochs: int = 6
    batches: int = 10
    start_s: float = 0.2
    first_s: float = 0.3
    usual_s: float = 0.01
    end_s: float = 0.05
    evaluation_s: float = 0.0
    """Waited for each batch of an evaluation behind each epoch."""
    starting: tuple[tuple[str, str, int], ...] = ()
    """Where workers are seen, ten times in each of their starts."""


def epochs_run(plan: Epochs, torch: Mapping[str, object] | None = None) -> Trace:
    """The run; its ranks do the same, with what PyTorch noted, and meet at the end of each step."""
    builder = TraceBuilder(RANKS, end_s=1e6)
    ranks = [builder.rank(number) for number in range(RANKS)]
    clock, number = 1.0, 0

    def waits(seconds: float) -> None:
        nonlocal clock
        for rank in ranks if seconds else ():
            rank.phase(PhaseKind.INPUT, clock, clock + seconds, name="DataLoader")
        clock += seconds

    for epoch in range(plan.epochs):
        _look_at_workers(ranks, plan, 100 + epoch, clock)
        waits(plan.start_s)
        for batch in range(plan.batches):
            begin = clock
            waits(plan.usual_s if batch else plan.first_s)
            for rank in ranks:
                rank.phase(PhaseKind.FORWARD, clock, clock + WORK_S)
                rank.op("MPI_Allreduce", clock + WORK_S, clock + WORK_S + MEET_S, sent=8)
                rank.step(number, begin, clock + WORK_S + MEET_S, epoch=epoch)
            clock, number = clock + WORK_S + MEET_S, number + 1
        waits(plan.end_s)
        if plan.evaluation_s:
            begin = clock
            waits(plan.evaluation_s)
            for rank in ranks:
                rank.phase(PhaseKind.EVALUATE, begin, clock)
    for rank in ranks:
        rank.set(metadata={"frameworks": {"torch": torch or {}}})
    return builder.ended(clock, init_s=1.0)


def _look_at_workers(ranks: list[RankBuilder], plan: Epochs, pid: int, begin_s: float) -> None:
    for rank in ranks if plan.starting else ():
        for look in range(10):
            rank.worker_stack(pid, begin_s + plan.start_s * look / 10, plan.starting)
