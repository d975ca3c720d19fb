"""Which messages are told: those alike that cost most, with their own number, size and place."""

import pytest

from perfscope.findings.core.finding import Finding
from perfscope.findings.facts.cpu_waits import moving_share
from perfscope.metrics.compute import compute
from perfscope.schema.enums import Status
from perfscope.trace.model import PEER_PROC_NULL, Trace
from tests.findings.analyzed import analyze_trace
from tests.support.trace_builder import RankBuilder, TraceBuilder

STEPS, DOTS, ROW = 50, 4, 3216
APPLY = [("apply", "/job/heat.py", 17)]
DOT = [("dot", "/job/heat.py", 26)]


def solver(*, halo_s: float, dot_s: float, queued: float = 0.0, fast: int = 1) -> Trace:
    """Two ranks that work 10 ms a step, exchange rows of 3.1 KiB, and add up four numbers.

    A row goes to the only neighbor, another to nobody. Each main thread waits for a CPU for a share
    `queued` of all time, on two CPUs. One step in 25 moves its data so many times as fast.
    """
    builder, at = TraceBuilder(2, end_s=1e6), 1.0
    for step in range(STEPS):
        begin, faster = at + 0.01, 1 if step % 25 else fast
        for number in range(2):
            _halo(builder.rank(number), 1 - number, step, begin, halo_s / faster)
        begin += halo_s / faster
        for dot in range(DOTS):
            _dot(builder.rank(0), builder.rank(1), DOTS * step + dot, begin, dot_s / faster)
            begin += dot_s / faster
        for number in range(2):
            builder.rank(number).step(step, at, begin)
        at = begin
    for number in range(2):
        rank = builder.rank(number).set(cpu_count_allowed=2, cpus_allowed="0-1")
        for tick in range(int(20 * at) + 3):
            now = tick / 20
            rank.main_sample(now, cpu_s=now * (1 - queued), queue_delay_s=now * queued)
            rank.process_sample(now, cpu_s=0.7 * now, queue_delay_s=min(queued, 0.3) * now)
    return builder.ended(at, init_s=1.0, after_s=0.1)


def _halo(rank: RankBuilder, peer: int, step: int, at: float, took_s: float) -> None:
    end, first = at + took_s, 3 * step + 1
    rank.op("MPI_Irecv", at, at + 1e-6, peer=peer, tag=step, request=first)
    rank.op("MPI_Isend", at + 1e-6, at + 2e-6, peer=peer, tag=step, sent=ROW, request=first + 1)
    rank.op("MPI_Isend", at + 2e-6, at + 3e-6, peer=PEER_PROC_NULL, sent=ROW, request=first + 2)
    rank.op("MPI_Waitall", at + 3e-6, end, request=3)
    rank.completion("MPI_Irecv", end, first, peer=peer, tag=step, received=ROW)
    rank.completion("MPI_Isend", end, first + 1, peer=peer, tag=step)
    rank.completion("MPI_Isend", end, first + 2, peer=PEER_PROC_NULL)
    rank.stack(at + took_s / 2, APPLY)


def _dot(sender: RankBuilder, taker: RankBuilder, tag: int, at: float, took_s: float) -> None:
    sender.op("MPI_Send", at, at + took_s, peer=1, tag=1000 + tag, sent=8)
    taker.op("MPI_Recv", at, at + took_s, peer=0, tag=1000 + tag, received=8)
    for rank in (sender, taker):
        rank.stack(at + took_s / 2, DOT)


def judged(trace: Trace) -> Finding:
    return analyze_trace(trace).findings["network_bound"]


@pytest.mark.parametrize(
    ("halo_s", "dot_s", "told"),
    [
        (0.002, 0.005, "200 messages of about 8 B are slowing the run, mainly in dot()"),
        (0.02, 0.001, "100 messages of about 3.14 KiB are slowing the run, mainly in apply()"),
    ],
)
def test_messages_of_other_sizes_are_not_among_those_that_cost_most(
    halo_s: float, dot_s: float, told: str
) -> None:
    """Of 2 and 4 times 5 ms a step the small ones take most, of 20 and 4 times 1 ms the rows."""
    finding = judged(solver(halo_s=halo_s, dot_s=dot_s))
    assert finding.status is Status.FAIL
    assert finding.title.startswith(f"{told} (heat.py:")
    many = told.split(" are ", maxsplit=1)[0].split(" of about ")
    assert f"messages of about {many[1]}: {many[0]} in " in finding.actions[0]


@pytest.mark.parametrize("queued", [0.0, 0.25, 0.8])
def test_data_moves_while_both_ends_have_a_cpu(queued: float) -> None:
    """Of 32 ms a step 22 are transfer; both ends have a CPU for the square of one's share."""
    results = compute(solver(halo_s=0.002, dot_s=0.005, queued=queued))
    own = 0.022 / 0.032 * (1 - queued) ** 2 / (1 - queued)
    assert moving_share(results) == pytest.approx(own, rel=0.01)


@pytest.mark.parametrize(("queued", "status"), [(0.5, Status.WARN), (0.9, Status.INFO)])
def test_what_ranks_without_cpus_explain_is_a_note(queued: float, status: Status) -> None:
    """With a tenth of a CPU at either end a hundredth of 22 ms is moved: 7 % of what is left.

    The few fast calls tell that the others may be long for want of CPUs.
    """
    finding = judged(solver(halo_s=0.002, dot_s=0.005, queued=queued, fast=500))
    assert (finding.status, finding.gain_s is None) == (status, status is Status.INFO)
    assert "wait for CPUs" in finding.summary
