"""Whether backward passes of PyTorch are known, and how long they take."""

from perfscope.metrics.results import Results
from perfscope.schema.enums import PhaseKind


def has_passes(results: Results) -> bool:
    """Whether backward passes of PyTorch are told apart."""
    kinds = {phase.kind for phase in results.phases}
    return PhaseKind.BACKWARD in kinds and any(
        "torch" in one.frameworks for one in results.trace.ranks
    )


def backward_s(results: Results, number: int) -> float:
    """Seconds that a rank, by its number, is in backward passes."""
    return sum(
        seconds
        for phase in results.phases
        if phase.kind is PhaseKind.BACKWARD
        for rank, seconds in zip(phase.ranks, phase.seconds_by_rank, strict=True)
        if rank == number
    )
