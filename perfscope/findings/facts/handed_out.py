"""Ranks that get their work from one that does none of it: a pool, and who hands its tasks out."""

import numpy as np

from perfscope.findings.facts.imbalance_facts import ImbalanceFacts
from perfscope.metrics.results import Results
from perfscope.trace.operations import IS_COLLECTIVE


def hands_out(results: Results, facts: ImbalanceFacts) -> bool:
    """Whether the overloaded ranks get their work from the only other one, which does none of it.

    Their messages then are with that one alone, from which they receive, and not with each other.
    """
    rest = {rank for rank in facts.ranks if rank not in facts.overloaded}
    top = facts.excess[0] if facts.excess else None
    if len(rest) != 1 or len(facts.overloaded) < 2 or top is None or top.ratio is not None:
        return False
    ranks = (rank for rank in results.trace.ranks if rank.number in facts.overloaded)
    tables = (rank.operations[~IS_COLLECTIVE[rank.operations["op"]]] for rank in ranks)
    return all(
        {peer for peer in np.unique(one["peer"]).tolist() if peer >= 0} == rest
        and bool(one["received"].any())
        for one in tables
    )
