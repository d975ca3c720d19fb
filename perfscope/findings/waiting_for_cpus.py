"""What ranks that wait for CPUs explain, so that no other finding takes it for its own."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from perfscope.findings.finding import Finding, Status
from perfscope.findings.threads_over_cores import waits_for_cpus

if TYPE_CHECKING:
    from perfscope.metrics.results import Results


def explained_by_waiting(results: Results, seconds: float) -> bool:
    """Whether ranks wait for CPUs for at least so long, so that chance may have cost as much."""
    waited = max((rank.queue_delay_s for rank in results.resources.threads), default=0.0)
    return waits_for_cpus(results) and waited >= seconds


def told_only(finding: Finding) -> Finding:
    """The finding, which claims no seconds where it is only told of (info)."""
    if finding.status is not Status.INFO:
        return finding
    return replace(
        finding, gain_s=None, gain_interval_s=None, gain_share=None, gain_basis=None, edits=()
    )
