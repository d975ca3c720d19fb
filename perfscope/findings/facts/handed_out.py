"""Work that one rank hands out and the others do: a pool, its manager and its workers."""

from collections.abc import Collection

from perfscope.findings.facts.imbalance_facts import ImbalanceFacts
from perfscope.findings.facts.imbalance_words import is_alone
from perfscope.metrics.results import Results


def hands_out(results: Results, facts: ImbalanceFacts) -> bool:
    """Whether the overloaded ranks get their work from the only other one, which does none of it.

    Their messages then are with that one alone, from which they receive, and not with each other.
    """
    rest = facts.others
    top = facts.excess[0] if facts.excess else None
    if len(rest) != 1 or len(facts.overloaded) < 2 or top is None or top.ratio is not None:
        return False
    return _received(results, facts.overloaded, rest[0]) > 0


def pieces_handed_out(results: Results, facts: ImbalanceFacts) -> int:
    """How many messages the one overloaded rank has sent to the ranks that wait for it.

    0 where it is no manager that falls behind its workers: what it does longer is work of all
    ranks, or came once, or these, two or more, have messages with each other as well.
    """
    rest = facts.others
    if len(facts.overloaded) != 1 or len(rest) < 2 or not is_alone(facts):
        return 0
    if facts.is_single or facts.is_shifting:
        return 0
    return _received(results, rest, facts.overloaded[0])


def _received(results: Results, workers: Collection[int], manager: int) -> int:
    """How many messages workers have from the manager; 0 where one has none, or other peers."""
    peers = dict(
        zip((rank.number for rank in results.trace.ranks), results.only_peers, strict=False)
    )
    counts = [
        peer.received if peer is not None and peer.number == manager else 0
        for peer in map(peers.get, workers)
    ]
    return sum(counts) if all(counts) else 0
