"""What is said of a comparison between ranks where there is one rank alone."""

from perfscope.findings.core.finding import Quiet, not_applicable, not_measured
from perfscope.metrics.results import Results


def alone(results: Results, text: str) -> Quiet | None:
    """`text` where the run has one rank; that others are missing where one of several was opened.

    None where there are several ranks.
    """
    trace = results.trace
    if len(trace.ranks) > 1:
        return None
    if trace.world_size > 1:
        return not_measured(
            f"{len(trace.ranks)} of {trace.world_size:,} ranks was opened: give perfscope analyze "
            "all of them."
        )
    return not_applicable(text)
