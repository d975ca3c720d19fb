"""Who waits for the ranks that a finding is about, and how long."""

from perfscope.findings.core.finding import Finding
from perfscope.metrics.results import Results
from perfscope.schema.findings import Waited
from perfscope.schema.losses import Losses
from perfscope.schema.replay import Waits
from perfscope.units import NS

LEAST_SHARE = 0.01
"""Of the analyzed window: a shorter wait is not told."""


def waited(finding: Finding, waits: Waits | None, lost: Losses, results: Results) -> Waited | None:
    """Who waits for its ranks; what the account of losses holds of it for the finding, no more.

    None where nobody does for long, where it is about all ranks, and of many pairs of ranks.
    """
    late = set(finding.ranks)
    if waits is None or waits.pairs_left_out or len(late) >= len(results.trace.ranks):
        return None
    pairs = [one for one in waits.pairs if one.cause in late and one.waiter not in late]
    claimed_s = sum(one.waiting_ns for one in lost.entries if finding.id in one.findings) * NS
    waited_s = min(sum(one.seconds for one in pairs), claimed_s)
    if not waited_s or waited_s < LEAST_SHARE * results.focus.length_ns * NS:
        return None
    ranks = sorted({one.waiter for one in pairs})
    return Waited(tuple(ranks), waited_s, waited_s / len(ranks))
