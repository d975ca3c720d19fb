"""What the replay told of a made-up run."""

from dataclasses import replace
from typing import Any

from perfscope.schema.common import CostLine, DelayCause
from perfscope.schema.communication import (
    AllreduceModel,
    CollectiveClass,
    CollectiveCost,
    CollectiveFit,
    Fusion,
    Torus,
    WaitedFor,
    WaitState,
)
from perfscope.schema.enums import WaitKind
from perfscope.schema.replay import (
    CriticalPath,
    DelayCosts,
    PathOfLine,
    PathOfOperation,
    PathOfPhase,
    PathOfRank,
    ReplayedSteps,
    WaitPair,
    Waits,
)
from tests.report.sample_parts import Shape


def causes(shape: Shape, window: float) -> dict[str, Any]:
    """Critical path, delay costs and who waited for whom."""
    ranks, size = shape.ranks, max(1, -(-shape.ranks // 16))
    blocks = -(-ranks // size)
    waits, work, transfer = window * 0.01, window * 0.9, window * 0.1
    waiting = waits * max(ranks - 1, 0)
    cause = DelayCause(0, "evaluate", waiting * 0.9, waiting * 0.1, share=1.0)
    steps = ReplayedSteps(0, shape.steps, work, transfer, 0.0, 0.0, 0.0, 0.0, cause=None)
    return {
        "critical_path": CriticalPath(
            window,
            work,
            transfer,
            tuple(PathOfRank(r, work / ranks, transfer / ranks) for r in range(min(ranks, 64))),
            ranks,
            (PathOfPhase("forward", window * 0.6), PathOfPhase("", window * 0.3)),
            (PathOfOperation("MPI_Allreduce", transfer),),
            (PathOfLine("examples/train.py", 212, "evaluate", window * 0.5),),
        ),
        "delay_costs": DelayCosts(waiting, waiting * 0.9, waiting * 0.1, 0.0, (cause,), 0),
        "waits": Waits(
            tuple(WaitPair(r, 0, waits) for r in range(1, min(ranks, 101))),
            pairs_left_out=max(0, ranks - 101),
            left_out_s=0.0,
            ranks_per_block=size,
            blocks_s=((waits * size, *[0.0] * (blocks - 1)),) * blocks,
        ),
        "by_step": [steps],
    }


def wait_states(waits: list[float]) -> list[WaitState]:
    """Kinds of waiting that add up to the waits of all ranks."""
    whole = sum(waits)
    shares = ((WaitKind.N_TO_N, 0.75, 0), (WaitKind.POLLING, 0.25, None))
    return [
        WaitState(kind, whole * share, (WaitedFor(rank, whole * share),), 0.0)
        for kind, share, rank in shares
        if whole
    ]


def collective_cost(shape: Shape) -> CollectiveCost:
    """Bandwidth and cost of allreduces."""
    name, ranks, calls, most = "MPI_Allreduce", shape.ranks, shape.steps, 1 << 22
    small = CostLine(2e-5, (1e-5, 3e-5), 3.5e9, (3.4e9, None), 0.05)
    large = CostLine(9e-5, (8e-5, 1e-4), 1.5e9, (1.4e9, 1.6e9), 0.07)
    whole = replace(large, latency_s=2e-5, latency_interval_s=(1e-5, 3e-5))
    torus = Torus(0.003, 2, 2)
    return CollectiveCost(
        (CollectiveClass(name, ranks, calls, most, 0.004, 1e9, 1.5e9, 1.0),),
        classes_left_out=3,
        fits=(
            CollectiveFit(
                name,
                ranks,
                calls,
                1 << 10,
                most,
                **vars(whole),
                pieces=(small, large),
                pieces_meet_at_bytes=(65536.0,),
            ),
        ),
        reason=None,
        allreduce=(
            AllreduceModel(most, ranks, 0.004, 0.006, None, 0.012, None, None, torus, (torus,)),
        ),
        allreduce_measured_s=0.0041,
        fusion=Fusion(400, 20, 64 << 20, 0.08, 0.06, is_dominant=True, saved_s=0.057),
        assumptions=("All links are as fast as those of this run.",),
    )
