"""What an allreduce of the run would take, done in other ways, at this and at more ranks."""

from collections import Counter
from math import ceil, log2

from perfscope.metrics.communication import collective_algorithms as algorithms
from perfscope.metrics.communication.collective_fit import Curve
from perfscope.schema.communication import AllreduceModel, Torus
from perfscope.trace.model import Trace

SCALES = (1, 2, 4, 8, 16, 32, 64)
MOST_RANKS = 1 << 16


def predictions(trace: Trace, curve: Curve, *, ranks: int, size: int) -> tuple[AllreduceModel, ...]:
    """One for each number of ranks: those of the run, and more.

    A message's latency is taken from the smallest sizes, where libraries double recursively, and
    its time per byte from the size that is asked for.
    """
    moved = 2 * (ranks - 1) / ranks * size
    link = algorithms.Link(
        alpha_s=curve.lines[0].latency_s / ceil(log2(ranks)),
        beta_s=1.0 / curve.line_at(moved).bytes_per_s,
    )
    hosts = Counter(rank.host for rank in trace.ranks)
    per_node = max(hosts.values())
    counts = [ranks * scale for scale in SCALES if ranks * scale <= MOST_RANKS]
    return tuple(_cost(size, count, link, per_node) for count in counts)


def _cost(size: int, ranks: int, link: algorithms.Link, per_node: int) -> AllreduceModel:
    tori = algorithms.tori_s(size, ranks, link)
    return AllreduceModel(
        size_bytes=size,
        ranks=ranks,
        ring_s=algorithms.ring_s(size, ranks, link),
        recursive_doubling_s=algorithms.recursive_doubling_s(size, ranks, link),
        rabenseifner_s=algorithms.rabenseifner_s(size, ranks, link),
        tree_s=algorithms.tree_s(size, ranks, link),
        hierarchical_s=algorithms.hierarchical_s(size, ranks, link, per_node=per_node),
        hierarchical_put_s=algorithms.hierarchical_put_s(size, ranks, link, per_node=per_node),
        torus=Torus(*min(tori)) if tori else None,
        tori=tuple(Torus(*shape) for shape in tori),
    )
