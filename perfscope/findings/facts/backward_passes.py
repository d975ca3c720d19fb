"""Whether backward passes of PyTorch are known."""

from perfscope.metrics.results import Results
from perfscope.schema.enums import PhaseKind


def has_passes(results: Results) -> bool:
    """Whether backward passes of PyTorch are told apart."""
    kinds = {phase.kind for phase in results.phases}
    return PhaseKind.BACKWARD in kinds and any(
        "torch" in one.frameworks for one in results.trace.ranks
    )
