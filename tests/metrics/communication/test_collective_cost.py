"""Bandwidth and cost of collectives: known lines are found, formulas add up."""

from itertools import pairwise

import numpy as np
import pytest

from perfscope.arrays import Floats
from perfscope.metrics.communication import collective_algorithms as algorithms
from perfscope.metrics.communication.collective_cost import NOT_SPREAD, CollectiveCost
from perfscope.metrics.communication.collective_fit import Line, fit_curve
from perfscope.metrics.compute import compute
from perfscope.metrics.results import Options
from perfscope.trace.model import Trace
from tests.support.trace_builder import TraceBuilder

ALPHA_S, BETA_S = 50e-6, 1e-9
LINK = algorithms.Link(ALPHA_S, BETA_S)
SIZES = (1 << 10, 1 << 13, 1 << 16, 1 << 20, 1 << 22)


def recorded(name: str, sizes: tuple[int, ...], *, ranks: int = 4, calls: int = 20) -> Trace:
    """Calls that take ALPHA_S + 2 (p - 1) / p size BETA_S after the last arrival."""
    builder = TraceBuilder(ranks, end_s=1000.0)
    for number in range(ranks):
        builder.rank(number).init(0.5)
    at = 1.0
    for turn in range(calls):
        for size in sizes:
            end = at + 0.01 * ranks + ALPHA_S + 2 * (ranks - 1) / ranks * size * BETA_S
            for number in range(ranks):
                enter = at + 0.01 * ((number + turn) % ranks + 1)
                builder.rank(number).op(name, enter, end, peer=0, sent=size, received=size)
            at = end + 0.01
    for number in range(ranks):
        builder.rank(number).finalize(at)
    return builder.build()


def cost(name: str, sizes: tuple[int, ...]) -> CollectiveCost:
    found = compute(recorded(name, sizes), Options()).collective_cost
    assert found is not None
    return found


def test_bandwidth_is_taken_from_the_last_arrival_on() -> None:
    found = cost("MPI_Allreduce", (1 << 22,))
    (item,) = found.classes
    seconds = ALPHA_S + 1.5 * (1 << 22) * BETA_S
    assert (item.name, item.ranks, item.calls, item.size_bytes) == ("MPI_Allreduce", 4, 20, 1 << 22)
    assert item.seconds == pytest.approx(seconds, abs=2e-9)
    assert item.algorithm_bytes_per_s == pytest.approx((1 << 22) / seconds, rel=1e-5)
    assert item.bus_bytes_per_s == pytest.approx(1.5 * (1 << 22) / seconds, rel=1e-5)
    assert found.reason == NOT_SPREAD
    assert found.predictions == ()


@pytest.mark.parametrize(
    ("name", "factor"),
    [("MPI_Allreduce", 1.5), ("MPI_Allgather", 0.75), ("MPI_Alltoall", 0.75), ("MPI_Bcast", 1.0)],
)
def test_bus_factors_are_those_of_nccl_tests(name: str, factor: float) -> None:
    (item,) = cost(name, (1 << 22,)).classes
    assert item.bus_bytes_per_s / item.algorithm_bytes_per_s == pytest.approx(factor)


def test_latency_and_bandwidth_are_found() -> None:
    found = cost("MPI_Allreduce", SIZES)
    (fit,) = found.fits
    assert (fit.least_bytes, fit.most_bytes, fit.calls) == (SIZES[0], SIZES[-1], 100)
    assert fit.line.latency_s == pytest.approx(ALPHA_S, rel=0.03)
    assert fit.line.bytes_per_s == pytest.approx(1 / BETA_S, rel=0.03)
    first = found.predictions[0]
    assert first.ranks == 4
    assert first.size_bytes == SIZES[-1]
    assert found.measured_s == pytest.approx(ALPHA_S + 1.5 * SIZES[-1] * BETA_S, rel=1e-4)
    assert [item.ranks for item in found.predictions] == [4, 8, 16, 32, 64, 128, 256]


def one_line(x: Floats, seconds: Floats) -> Line:
    """The fit of times that follow a single line."""
    curve = fit_curve(x, seconds)
    assert curve is not None
    (line,) = curve.lines
    return line


def test_a_heavy_tail_moves_the_fit_little() -> None:
    """One call in ten takes up to a hundred times as long, as on a busy machine."""
    random = np.random.default_rng(3)
    x = np.repeat(np.array(SIZES, float), 60)
    seconds = (ALPHA_S + BETA_S * x) * (1 + 0.05 * random.standard_normal(len(x)))
    late = random.random(len(x)) < 0.1
    seconds[late] *= 1 + random.pareto(1.0, int(late.sum())).clip(0, 100)
    line = one_line(x, seconds)
    assert line.latency_s == pytest.approx(ALPHA_S, rel=0.05)
    assert line.bytes_per_s == pytest.approx(1 / BETA_S, rel=0.05)
    low, high = line.latency_interval_s
    assert low <= line.latency_s <= high
    assert line.bytes_per_s_interval[0] <= line.bytes_per_s <= line.bytes_per_s_interval[1]


def test_pure_latency_and_pure_bandwidth() -> None:
    x = np.repeat(np.array(SIZES, float), 10)
    flat, steep = one_line(x, np.full(len(x), 1e-3)), one_line(x, 2e-9 * x)
    assert flat.latency_s == pytest.approx(1e-3)
    assert flat.bytes_per_s == np.inf
    assert steep.latency_s == 0.0
    assert steep.bytes_per_s == pytest.approx(5e8)


@pytest.mark.parametrize("meets", [1, 2, 3])
def test_as_many_pieces_as_the_library_has_ways(meets: int) -> None:
    """Every way has a tenth of the bandwidth of the one before, each from a larger size on."""
    random = np.random.default_rng(meets)
    x = np.repeat(np.logspace(2, 8, 13), 19)
    edges = [2e5, 5e6][: meets - 1]
    slopes = BETA_S * 10.0 ** np.arange(meets)
    way = np.searchsorted(edges, x, side="right")
    seconds = (ALPHA_S + slopes[way] * x) * (1 + 0.03 * random.standard_normal(len(x)))
    curve = fit_curve(x, seconds)
    assert curve is not None
    assert len(curve.bounds) == len(edges)
    for found, true in zip(curve.bounds, edges, strict=True):
        assert true / 4 < found < true * 4
    last = curve.lines[-1]
    assert last.bytes_per_s == pytest.approx(1 / slopes[-1], rel=0.05)
    assert last.bytes_per_s_interval[0] <= last.bytes_per_s <= last.bytes_per_s_interval[1]
    far = np.array([1e9])
    assert curve.seconds(far) == pytest.approx(last.latency_s + far * slopes[-1], rel=0.05)


def test_fusing_small_allreduces_saves_their_latencies() -> None:
    """20 turns of 30 calls of 1 KiB in a row and one of 4 MiB after a pause."""
    builder = TraceBuilder(4, end_s=1000.0)
    for number in range(4):
        builder.rank(number).init(0.5)
    at = 1.0
    for _ in range(20):
        for size in (*[1 << 10] * 30, 1 << 22):
            at += 10e-6 if size == 1 << 10 else 0.1
            end = at + ALPHA_S + 1.5 * size * BETA_S
            for number in range(4):
                builder.rank(number).op("MPI_Allreduce", at, end, sent=size, received=size)
            at = end
        at += 0.1
    for number in range(4):
        builder.rank(number).finalize(at)
    fusion = compute(builder.build(), Options()).collective_cost
    assert fusion is not None
    assert fusion.fusion is not None
    found = fusion.fusion
    assert (found.calls, found.groups) == (600, 20)
    assert found.saved_s == pytest.approx(20 * 29 * ALPHA_S, rel=0.03)
    assert found.latency_s == pytest.approx(600 * ALPHA_S, rel=0.03)
    assert found.is_dominant


def test_sizes_too_alike_give_no_line() -> None:
    x = np.repeat(np.array([1000.0, 7000.0]), 50)
    assert fit_curve(x, 1e-3 + 1e-9 * x) is None
    assert fit_curve(x[:5], x[:5]) is None


def rounds(sizes: list[float]) -> float:
    """Messages one after the other, each of its size."""
    return sum(ALPHA_S + size * BETA_S for size in sizes)


@pytest.mark.parametrize("ranks", [2, 4, 8, 64])
@pytest.mark.parametrize("size", [1000.0, 1e8])
def test_formulas_are_the_sums_of_their_rounds(ranks: int, size: float) -> None:
    steps = ranks.bit_length() - 1
    ring = rounds([size / ranks] * 2 * (ranks - 1))
    halving = rounds([size / 2**k for k in range(1, steps + 1)] * 2)
    assert LINK.ring_s(size, ranks) == pytest.approx(ring)
    assert algorithms.recursive_doubling_s(size, ranks, LINK) == pytest.approx(
        rounds([size] * steps)
    )
    assert algorithms.rabenseifner_s(size, ranks, LINK) == pytest.approx(halving)
    assert algorithms.tree_s(size, ranks, LINK) == pytest.approx(rounds([size] * 2 * steps))


def test_hierarchies_are_rings_inside_and_between() -> None:
    inside = LINK.ring_s(1e8, 4)
    between = LINK.ring_s(1e8 / 4, 8)
    both = inside + between
    assert algorithms.hierarchical_s(1e8, 32, LINK, per_node=4) == pytest.approx(both)
    assert algorithms.hierarchical_s(1e8, 30, LINK, per_node=4) is None
    tori = algorithms.tori_s(1e8, 32, LINK)
    assert [(x, y) for _, x, y in tori] == [(2, 16), (4, 8), (8, 4), (16, 2)]
    assert tori[1][0] == pytest.approx(both)


def test_puts_save_the_latencies_of_an_allgather() -> None:
    """Reduce-scatter in nodes of 4, rings of quarters between 8 nodes, 3 puts started together."""
    reduced = rounds([1e8 / 4] * 3)
    between = LINK.ring_s(1e8 / 4, 8)
    put = ALPHA_S + 3 * 1e8 / 4 * BETA_S
    found = algorithms.hierarchical_put_s(1e8, 32, LINK, per_node=4)
    assert found is not None
    assert found == pytest.approx(reduced + between + put)
    allgather = algorithms.hierarchical_s(1e8, 32, LINK, per_node=4)
    assert allgather == pytest.approx(found + 2 * ALPHA_S)
    assert algorithms.hierarchical_put_s(1e8, 30, LINK, per_node=4) is None


def test_ways_that_do_not_fit_are_absent() -> None:
    assert algorithms.rabenseifner_s(1e6, 6, LINK) is None
    assert algorithms.tori_s(1e6, 7, LINK) == ()
    many = [LINK.ring_s(1e3, ranks) for ranks in (4, 8, 16)]
    assert all(a < b for a, b in pairwise(many))
