"""Random traces with everything that an export has to hold: hostile names, messages, odd times."""

from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

from perfscope.schema.enums import PhaseKind
from perfscope.trace.devices import DEVICE_DTYPE, LAUNCH_UNKNOWN, DeviceActivity, DeviceKind
from perfscope.trace.model import RowFlag, Table, Trace
from tests.support.trace_builder import RankBuilder, TraceBuilder

HOSTILE = (
    "plain",
    'quote " and \\ back',
    "line\nbreak\r",
    "comma, semicolon; tab\t",
    "</script><b>&amp;",
    "naïve Ωmega 漢字 🚀",
    "=1+1",
    "nul \0 inside",
    "lone \udc80 surrogate",
    "x" * 300,
    " ",
)
COLLECTIVES = ("MPI_Allreduce", "MPI_Bcast", "MPI_Reduce", "MPI_Barrier", "MPI_Alltoall")
ROOTED = ("MPI_Bcast", "MPI_Reduce")
LATEST_NS = 2_000_000_000
names = st.sampled_from(HOSTILE)
moments = st.integers(-1_000_000, LATEST_NS)
lengths = st.integers(0, 500_000_000)


@dataclass
class _Clock:
    """When each rank is free again, in ns."""

    free: list[int]

    def take(self, rank: int, gap: int, length: int) -> tuple[float, float]:
        start = self.free[rank] + gap
        self.free[rank] = start + length
        return start / 1e9, (start + length) / 1e9


@st.composite
def traces(draw: st.DrawFn) -> Trace:
    """A job of up to three ranks; its operations are in order, its phases overlap as they like."""
    ranks = draw(st.integers(1, 3))
    builder = TraceBuilder(ranks, end_s=10.0, hosts=[draw(names) for _ in range(2)])
    clock = _Clock([draw(st.integers(0, 1000)) for _ in range(ranks)])
    for _ in range(draw(st.integers(0, 12))):
        kind = draw(st.sampled_from(("collective", "message", "posted", "other")))
        _communicate(draw, builder, clock, kind)
    for rank in builder.ranks:
        _surroundings(draw, rank)
    return builder.build()


def _gap(draw: st.DrawFn) -> int:
    return draw(st.sampled_from((0, 1, 999, 1_000_001)))


def _communicate(draw: st.DrawFn, builder: TraceBuilder, clock: _Clock, kind: str) -> None:
    ranks = len(builder.ranks)
    size = draw(st.integers(0, 1 << 40))
    if kind == "collective":
        name = draw(st.sampled_from(COLLECTIVES))
        root = draw(st.integers(0, ranks - 1)) if name in ROOTED else -1
        for number, rank in enumerate(builder.ranks):
            start, end = clock.take(number, _gap(draw), draw(lengths))
            rank.op(name, start, end, peer=root, sent=size, received=size // 2)
        return
    source, target = draw(st.integers(0, ranks - 1)), draw(st.integers(0, ranks - 1))
    tag = draw(st.integers(0, 1 << 30))
    if kind == "other" or source == target:
        start, end = clock.take(source, _gap(draw), draw(lengths))
        builder.rank(source).op(
            "MPI_Test", start, end, request=draw(st.integers(1, 99)), flags=RowFlag.COALESCED
        )
        return
    start, end = clock.take(source, _gap(draw), draw(lengths))
    builder.rank(source).op("MPI_Send", start, end, peer=target, tag=tag, sent=size)
    receiver = builder.rank(target)
    start, end = clock.take(target, _gap(draw), draw(lengths))
    if kind == "message":
        receiver.op("MPI_Recv", start, end, peer=source, tag=tag, received=size)
        return
    request = 1 + draw(st.integers(0, 1 << 20)) + (len(receiver._rows.get("operations", [])) << 21)
    receiver.op("MPI_Irecv", start, end, peer=source, tag=tag, received=size, request=request)
    start, end = clock.take(target, _gap(draw), draw(lengths))
    receiver.op("MPI_Wait", start, end, request=1)
    at = draw(st.sampled_from((start, end)))
    receiver.completion("MPI_Irecv", at, request, peer=source, tag=tag, received=size)


def _surroundings(draw: st.DrawFn, rank: RankBuilder) -> None:
    for _ in range(draw(st.integers(0, 6))):
        start, length = draw(moments), draw(lengths)
        rank.phase(
            draw(st.sampled_from(list(PhaseKind))),
            start / 1e9,
            (start + length) / 1e9,
            name=draw(names),
            step=draw(st.integers(-1, 5)),
            epoch=draw(st.integers(-1, 5)),
            tid=draw(st.sampled_from((None, 77))),
        )
    for number in range(draw(st.integers(0, 3))):
        start = draw(moments)
        rank.step(number, start / 1e9, start / 1e9 + 0.5, epoch=number, samples=number)
    for _ in range(draw(st.integers(0, 4))):
        at = draw(moments) / 1e9
        rank.metric(draw(names), at, draw(st.floats(width=64)), step=1)
        rank.process_sample(at, rss_bytes=draw(st.integers(0, 1 << 50)), cpu_s=1.5)
        rank.stack(at, [(draw(names), draw(names), draw(st.integers(0, 9999)))])
    if draw(st.booleans()):
        rank.thread(draw(names), tid=4242, cpu_s=0.5)


def device_rows(count: int, *, name: int) -> Table:
    """Rows of a device of which nothing else is known yet."""
    rows = np.zeros(count, DEVICE_DTYPE)
    rows["name"], rows["launch"] = name, LAUNCH_UNKNOWN
    for column in ("correlation", "bytes", "seq", "comm", "op"):
        rows[column] = -1
    return rows


def kernel_and_copy() -> Trace:
    """A rank with a kernel and a copy at the same time, each on a stream of its own."""
    builder = TraceBuilder(1, end_s=1.0)
    name = builder.name("gemm")
    rows = device_rows(2, name=name)
    rows["t0"], rows["t1"], rows["launch"] = (5_000, 6_000), (9_001, 9_500), (4_000, 4_500)
    rows["correlation"], rows["bytes"], rows["stream"] = (7, 8), (-1, 64), (13, 7)
    rows["kind"] = (DeviceKind.COMPUTE, DeviceKind.MEMCPY)
    builder.rank(0).set(devices=DeviceActivity(rows=rows))
    return builder.build()
