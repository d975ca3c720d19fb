"""Kinds of waiting, and what collectives cost: made up, as the samples' recording has few."""

from dataclasses import replace

from perfscope.schema.common import CostLine
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


def wait_states(waits: list[float]) -> list[WaitState]:
    """Kinds of waiting that add up to the waits of all ranks."""
    whole = sum(waits)
    shares = ((WaitKind.N_TO_N, 0.75, 0), (WaitKind.POLLING, 0.25, None))
    return [
        WaitState(kind, whole * share, (WaitedFor(rank, whole * share),), 0.0)
        for kind, share, rank in shares
        if whole
    ]


def collective_cost() -> CollectiveCost:
    """Bandwidth and cost of allreduces between two ranks."""
    name, ranks, calls, most = "MPI_Allreduce", 2, 240, 1 << 22
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
