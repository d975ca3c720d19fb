"""Training runs that exchange much, made by hand, and which of the findings about it fire."""

from collections.abc import Mapping, Sequence
from typing import Any

from perfscope.findings.core.finding import Finding
from perfscope.schema.enums import PhaseKind, Status
from perfscope.trace.model import Trace
from tests.support.trace_builder import FrameLike, TraceBuilder

CAUSES = (
    "wrong_transport",
    "small_allreduces",
    "exposed_exchange",
    "communication_per_step",
    "horovod_control",
    "network_bound",
)
FAULTS = {Status.FAIL, Status.WARN}


def exchanges(
    *,
    size: int,
    count: int,
    each_s: float,
    environment: Mapping[str, str] | None = None,
    hosts: Sequence[str] = ("node0",),
    samples: int = 0,
    topology: Mapping[str, Any] | None = None,
    library: str = "",
    steps: int = 50,
    operation: str = "MPI_Allreduce",
    stacks: Sequence[Sequence[FrameLike]] = (),
) -> Trace:
    """Two ranks train for 100 ms a step and then do some allreduces, all of one size.

    Stacks are those of rank 0 in the first exchanges of the steps, one in each.
    """
    builder = TraceBuilder(2, end_s=1e6, hosts=hosts)
    clock = 1.0
    for step in range(steps):
        end = clock + 0.1
        if step < len(stacks):
            builder.rank(0).stack(end + each_s / 2, stacks[step])
        for number in (0, 1):
            builder.rank(number).phase(PhaseKind.TRAIN, clock, end)
            builder.rank(number).step(step, clock, end + count * each_s, samples=samples)
        for _ in range(count):
            for number in (0, 1):
                builder.rank(number).op(operation, end, end + each_s, sent=size, received=size)
            end += each_s
        clock = end
    metadata = {"environment": dict(environment or {})}
    if topology is not None:
        metadata["topology"] = dict(topology)
    for number in (0, 1):
        builder.rank(number).set(metadata=metadata, mpi_library=library)
    return builder.ended(clock, init_s=1.0)


def fired(findings: Mapping[str, Finding]) -> list[str]:
    """Ids of the findings about transfer that fail or warn."""
    return [name for name in CAUSES if name in findings and findings[name].status in FAULTS]
