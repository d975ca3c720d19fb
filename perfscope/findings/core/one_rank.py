"""What is said of a comparison between ranks where there is one rank alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from perfscope.findings.core.finding import Confidence, Finding, Status

if TYPE_CHECKING:
    from perfscope.metrics.results import Results


def alone(results: Results, id: str, title: str, text: str) -> Finding | None:  # noqa: A002
    """`text` where the run has one rank; that others are missing where one of several was opened.

    None where there are several ranks.
    """
    trace = results.trace
    if len(trace.ranks) > 1:
        return None
    if trace.world_size > 1:
        text = (
            f"{len(trace.ranks)} of {trace.world_size:,} ranks was opened: give perfscope analyze "
            "all of them."
        )
        return Finding(id, Status.NOT_MEASURED, title, text, confidence=Confidence.HIGH)
    return Finding(id, Status.NOT_APPLICABLE, title, text, confidence=Confidence.HIGH)
