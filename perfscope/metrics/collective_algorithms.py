"""What an allreduce costs by the way it is done (docs/metrics.md, section 9).

Sources: Thakur, Rabenseifner, Gropp: "Optimization of Collective Communication Operations in MPICH"
(2005) for ring, recursive doubling, Rabenseifner and tree; arXiv 1811.05233 for the 2D torus.
"""

from __future__ import annotations

from math import ceil, log2


def ring_s(size_bytes: float, ranks: int, alpha_s: float, beta_s: float) -> float:
    """Seconds of an allreduce around a ring: reduce-scatter, then allgather."""
    return 2 * (ranks - 1) * alpha_s + 2 * (ranks - 1) / ranks * size_bytes * beta_s


def recursive_doubling_s(size_bytes: float, ranks: int, alpha_s: float, beta_s: float) -> float:
    """Seconds of an allreduce in which partners exchange everything, ever further apart."""
    return ceil(log2(ranks)) * (alpha_s + size_bytes * beta_s)


def rabenseifner_s(size_bytes: float, ranks: int, alpha_s: float, beta_s: float) -> float | None:
    """Seconds of a recursive halving and doubling; None unless the ranks are a power of two."""
    if ranks & (ranks - 1):
        return None
    return 2 * log2(ranks) * alpha_s + 2 * (ranks - 1) / ranks * size_bytes * beta_s


def tree_s(size_bytes: float, ranks: int, alpha_s: float, beta_s: float) -> float:
    """Seconds of a reduction to one rank over a binomial tree, and a broadcast back."""
    return 2 * ceil(log2(ranks)) * (alpha_s + size_bytes * beta_s)


def hierarchical_s(
    size_bytes: float, ranks: int, alpha_s: float, beta_s: float, *, per_node: int
) -> float | None:
    """Seconds of rings inside the nodes and between them; None unless the nodes are full."""
    if per_node < 2 or ranks % per_node or ranks == per_node:
        return None
    nodes = ranks // per_node
    inside = 2 * (per_node - 1) * alpha_s + 2 * (per_node - 1) / per_node * size_bytes * beta_s
    part = size_bytes / per_node
    return inside + 2 * (nodes - 1) * alpha_s + 2 * (nodes - 1) / nodes * part * beta_s


def torus_s(
    size_bytes: float, ranks: int, alpha_s: float, beta_s: float
) -> tuple[float, int, int] | None:
    """The fastest 2D torus: seconds and its X and Y, both at least 2; None when there is none."""
    best: tuple[float, int, int] | None = None
    for x in (d for d in range(2, ranks // 2 + 1) if ranks % d == 0):
        y = ranks // x
        seconds = (
            2 * (x + y - 2) * alpha_s
            + 2 * (x - 1) / x * size_bytes * beta_s
            + 2 * (y - 1) / y * (size_bytes / x) * beta_s
        )
        if best is None or seconds < best[0]:
            best = (seconds, x, y)
    return best
