"""What an allreduce costs by the way it is done, at the ranks of the run and at more.

The formulas stand in docs/metrics.md, section 11.

Sources: Thakur, Rabenseifner, Gropp: "Optimization of Collective Communication Operations in MPICH"
(2005) for ring, recursive doubling, Rabenseifner and tree; arXiv 1811.05233 for the 2D torus.
"""

from collections import Counter
from math import ceil, log2

from perfscope.metrics.communication.collective_fit import Curve
from perfscope.schema.communication import AllreduceModel, Torus
from perfscope.structures import dataclass
from perfscope.trace.model import Trace

SCALES = (1, 2, 4, 8, 16, 32, 64)
MOST_RANKS = 1 << 16


@dataclass(frozen=True)
class Link:
    """What a message costs: seconds to start it, and seconds a byte, additions included."""

    alpha_s: float
    beta_s: float

    def ring_s(self, size_bytes: float, ranks: int) -> float:
        """Seconds of an allreduce around a ring: reduce-scatter, then allgather."""
        return 2 * self.half_ring_s(size_bytes, ranks)

    def half_ring_s(self, size_bytes: float, ranks: int) -> float:
        """Seconds of a reduce-scatter or an allgather around a ring."""
        return (ranks - 1) * (self.alpha_s + size_bytes / ranks * self.beta_s)


def recursive_doubling_s(size_bytes: float, ranks: int, link: Link) -> float:
    """Seconds of an allreduce in which partners exchange everything, ever further apart."""
    return ceil(log2(ranks)) * (link.alpha_s + size_bytes * link.beta_s)


def rabenseifner_s(size_bytes: float, ranks: int, link: Link) -> float | None:
    """Seconds of a recursive halving and doubling; None unless the ranks are a power of two."""
    if ranks & (ranks - 1):
        return None
    moved = 2 * (ranks - 1) / ranks * size_bytes
    return 2 * log2(ranks) * link.alpha_s + moved * link.beta_s


def tree_s(size_bytes: float, ranks: int, link: Link) -> float:
    """Seconds of a reduction to one rank over a binomial tree, and a broadcast back."""
    return 2 * ceil(log2(ranks)) * (link.alpha_s + size_bytes * link.beta_s)


def hierarchical_s(size_bytes: float, ranks: int, link: Link, *, per_node: int) -> float | None:
    """Seconds of rings inside the nodes and between them; None unless the nodes are full.

    In each node a reduce-scatter, then an allreduce of each part between the nodes, then an
    allgather.
    """
    if not _is_full(ranks, per_node):
        return None
    between = link.ring_s(size_bytes / per_node, ranks // per_node)
    return link.ring_s(size_bytes, per_node) + between


def hierarchical_put_s(size_bytes: float, ranks: int, link: Link, *, per_node: int) -> float | None:
    """The same with one-sided puts instead of the allgather; None unless the nodes are full.

    Each rank writes its part straight into the memory of the others of its node: the puts are
    started together, so that one latency counts and not one for each.
    """
    if not _is_full(ranks, per_node):
        return None
    between = link.ring_s(size_bytes / per_node, ranks // per_node)
    put = link.alpha_s + (per_node - 1) / per_node * size_bytes * link.beta_s
    return link.half_ring_s(size_bytes, per_node) + between + put


def _is_full(ranks: int, per_node: int) -> bool:
    return per_node >= 2 and ranks % per_node == 0 and ranks > per_node


def tori_s(size_bytes: float, ranks: int, link: Link) -> tuple[tuple[float, int, int], ...]:
    """Every 2D torus of so many ranks: seconds, X and Y, both at least 2, by X."""
    return tuple(
        (link.ring_s(size_bytes, x) + link.ring_s(size_bytes / x, ranks // x), x, ranks // x)
        for x in range(2, ranks // 2 + 1)
        if ranks % x == 0
    )


def predictions(trace: Trace, curve: Curve, *, ranks: int, size: int) -> tuple[AllreduceModel, ...]:
    """One for each number of ranks: those of the run, and more.

    A message's latency is taken from the smallest sizes, where libraries double recursively, and
    its time per byte from the size that is asked for.
    """
    moved = 2 * (ranks - 1) / ranks * size
    link = Link(
        alpha_s=curve.lines[0].latency_s / ceil(log2(ranks)),
        beta_s=1.0 / curve.line_at(moved).bytes_per_s,
    )
    hosts = Counter(rank.host for rank in trace.ranks)
    per_node = max(hosts.values())
    counts = [ranks * scale for scale in SCALES if ranks * scale <= MOST_RANKS]
    return tuple(_cost(size, count, link, per_node) for count in counts)


def _cost(size: int, ranks: int, link: Link, per_node: int) -> AllreduceModel:
    tori = tori_s(size, ranks, link)
    return AllreduceModel(
        size_bytes=size,
        ranks=ranks,
        ring_s=link.ring_s(size, ranks),
        recursive_doubling_s=recursive_doubling_s(size, ranks, link),
        rabenseifner_s=rabenseifner_s(size, ranks, link),
        tree_s=tree_s(size, ranks, link),
        hierarchical_s=hierarchical_s(size, ranks, link, per_node=per_node),
        hierarchical_put_s=hierarchical_put_s(size, ranks, link, per_node=per_node),
        torus=Torus(*min(tori)) if tori else None,
        tori=tuple(Torus(*shape) for shape in tori),
    )
