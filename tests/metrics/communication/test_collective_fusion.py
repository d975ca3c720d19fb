"""Which allreduces belong together, against a plain account of the rule, call by call."""

import random

import numpy as np
import pytest

from perfscope.metrics.communication.collective_fit import Curve, Line
from perfscope.metrics.communication.collective_fusion import CLOSE_NS, close_groups
from perfscope.metrics.compute import compute
from perfscope.metrics.results import Options
from tests.support.trace_builder import TraceBuilder

CLOSE_S, APART_S, CALL_S = 0.5e-9 * CLOSE_NS, 2e-9 * CLOSE_NS, 1e-4


def plain_groups(follows: list[bool], sizes: list[int], most_bytes: int) -> list[list[int]]:
    """Calls one after the other: each joins the group before it or begins another."""
    groups: list[list[int]] = []
    usable = False
    for place, size in enumerate(sizes):
        joins = usable and follows[place] and groups
        usable = 0 < size <= most_bytes
        if not usable:
            continue
        if joins and sum(sizes[other] for other in groups[-1]) + size <= most_bytes:
            groups[-1].append(place)
        else:
            groups.append([place])
    return [group for group in groups if len(group) > 1]


@pytest.mark.parametrize("seed", range(6))
def test_groups_are_those_of_the_rule(seed: int) -> None:
    chosen = random.Random(seed)
    count = 200
    follows = [chosen.random() < 0.9 for _ in range(count)]
    builder = TraceBuilder(2, end_s=100.0)
    at = 1.0
    for number in range(2):
        builder.rank(number).init(0.5)
    for close in follows:
        at += CLOSE_S if close else APART_S
        for number in range(2):
            builder.rank(number).op("MPI_Allreduce", at, at + CALL_S, sent=8, received=8)
        at += CALL_S
    for number in range(2):
        builder.rank(number).finalize(at)
    waits = compute(builder.build(), Options()).waits
    # sizes as a damaged recording has them: their sum is no number of 64 bits
    sizes = [chosen.choice([0, 8, 8, 1 << 10, 1 << 20, 1 << 59]) for _ in range(count)]
    for most_bytes in (16, 1 << 20, 1 << 60):
        found = close_groups(
            waits.pool, waits.instances, np.array(sizes, np.int64), most_bytes=most_bytes
        )
        parts = np.split(found.instances, found.starts[1:-1])
        told = [part.tolist() for part in parts if len(part)]
        assert told == plain_groups(follows, sizes, most_bytes)


def test_the_part_without_bytes_is_that_of_the_piece_that_holds_them() -> None:
    none = (0.0, 0.0)
    lines = tuple(Line(latency, none, 1e9, none, 0.0) for latency in (1e-5, 3e-5, 2e-5))
    curve = Curve(lines, (1e3, 1e6))
    x = np.array([1.0, 999.0, 1e3, 5e5, 1e6, 1e9])
    assert curve.latency_s(x).tolist() == [curve.line_at(float(one)).latency_s for one in x]
    assert curve.seconds(x) == pytest.approx(curve.latency_s(x) + x / 1e9)
