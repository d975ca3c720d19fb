"""What an allreduce costs by the way it is done (docs/metrics.md, section 11).

Sources: Thakur, Rabenseifner, Gropp: "Optimization of Collective Communication Operations in MPICH"
(2005) for ring, recursive doubling, Rabenseifner and tree; arXiv 1811.05233 for the 2D torus.
"""

from math import ceil, log2

from perfscope.structures import dataclass


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


def ring_s(size_bytes: float, ranks: int, link: Link) -> float:
    """Seconds of an allreduce around a ring: reduce-scatter, then allgather."""
    return link.ring_s(size_bytes, ranks)


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
