"""Connections between hosts: a slow pair, a slow host, and networks that are just like that."""

from itertools import combinations
from typing import Any

import numpy as np
import pytest

from perfscope.findings.core.finding import Finding
from perfscope.metrics.communication import host_pairs
from perfscope.schema.enums import Basis, Status
from perfscope.trace.model import Trace
from tests.findings.analyzed import analyze, analyze_trace
from tests.findings.training_runs import Plan
from tests.support.trace_builder import TraceBuilder

USUAL_S = 0.002


def talking(
    slow: dict[tuple[int, int], float] | None = None,
    *,
    hosts: int = 4,
    rounds: int = 30,
    noise: float = 0.1,
    seed: int = 1,
    offset_s: float = 0.0,
    by_pairs: bool = False,
) -> Trace:
    """One rank a host; all pairs send to each other in turn while the others compute.

    A receiver waits 5 ms before its message is sent. `offset_s` is how far the clock of host 1 is
    wrong; `by_pairs` has allreduces on communicators of two ranks instead of messages.
    """
    random = np.random.default_rng(seed)
    names = [f"node{number}" for number in range(hosts)]
    builder = TraceBuilder(hosts, end_s=1e3, hosts=names)
    pairs = list(combinations(range(hosts), 2))
    comms = {pair: builder.communicator(pair) for pair in pairs} if by_pairs else {}
    at = 1.0
    wrong = [offset_s if number == 1 else 0.0 for number in range(hosts)]
    for _ in range(rounds):
        for pair in pairs:
            for source, target in (pair, pair[::-1]):
                take_s = USUAL_S * (slow or {}).get(pair, 1.0)
                take_s *= float(np.exp(noise * random.standard_normal()))
                sent, here = at + 0.005 + wrong[source], wrong[target]
                if by_pairs:
                    end = at + 0.005 + take_s
                    for rank, enter in ((source, sent), (target, at + here)):
                        builder.rank(rank).op(
                            "MPI_Allreduce", enter, end, comm=comms[pair], sent=4096
                        )
                else:
                    builder.rank(source).op(
                        "MPI_Send", sent, sent + 1e-5, peer=target, tag=1, sent=4096
                    )
                    end = at + 0.005 + take_s + here
                    builder.rank(target).op(
                        "MPI_Recv", at + here, end, peer=source, tag=1, received=4096
                    )
                at += 0.012 + take_s
    for number in range(hosts):
        builder.rank(number).init(1.0).finalize(at + 0.01)
    return builder.build()


def judged(trace: Trace) -> Finding:
    return analyze_trace(trace).findings["slow_host_pair"]


@pytest.mark.parametrize("by_pairs", [False, True])
def test_one_slow_pair(by_pairs: bool) -> None:
    """Each of 30 messages either way takes 8 ms and not 2: the run is 0.36 s longer."""
    slow = analyze_trace(talking({(1, 3): 4.0}, noise=0.02, by_pairs=by_pairs))
    finding = slow.findings["slow_host_pair"]
    assert finding.title == "Messages between node1 and node3 take longer than between other hosts"
    assert finding.ranks == (1, 3)
    healthy = analyze_trace(talking(noise=0.02, by_pairs=by_pairs)).results.focus.length_ns
    truth_s = (slow.results.focus.length_ns - healthy) * 1e-9
    assert finding.gain_s == pytest.approx(truth_s, rel=0.05)
    assert finding.gain_s == pytest.approx(30 * 2 * 3 * USUAL_S, rel=0.05)
    assert (finding.status, finding.gain_basis) == (Status.FAIL, Basis.UPPER_BOUND)
    assert "one host" in finding.actions[0]
    assert any("osu_bw" in one for one in finding.actions)
    assert float(finding.evidence[0].value) == pytest.approx(4.0, rel=0.05)


@pytest.mark.parametrize("hosts", [3, 4, 6])
def test_all_pairs_of_one_host(hosts: int) -> None:
    slow = {pair: 3.0 for pair in combinations(range(hosts), 2) if 2 in pair}
    finding = judged(talking(slow, hosts=hosts))
    assert finding.title == "Messages from and to host node2 take longer than between other hosts"
    assert finding.ranks == (2,)
    assert finding.status in {Status.WARN, Status.FAIL}


def test_the_error_of_a_clock_cancels() -> None:
    """1 ms, half of a message: one direction looks 1.5 times as long, the other half as long."""
    assert judged(talking(offset_s=0.0009)).status is Status.PASS


def test_a_network_whose_pairs_differ_is_like_that() -> None:
    far = {pair: 2.5 for pair in combinations(range(6), 2) if (pair[0] < 3) != (pair[1] < 3)}
    assert judged(talking(far, hosts=6)).status is Status.PASS


@pytest.mark.parametrize("hosts", [3, 5])
def test_no_alarm_in_many_healthy_runs(hosts: int) -> None:
    found = [judged(talking(hosts=hosts, noise=0.3, seed=seed, rounds=12)) for seed in range(10)]
    assert {finding.status for finding in found} == {Status.PASS}


def test_not_measured() -> None:
    assert "one connection" in judged(talking(hosts=2)).summary
    assert judged(talking(hosts=2)).status is Status.NOT_MEASURED
    few = judged(talking({(1, 3): 4.0}, rounds=4))
    assert few.status is Status.NOT_MEASURED
    assert "10 messages" in few.summary


def test_one_host_is_not_listed() -> None:
    assert "slow_host_pair" not in analyze(Plan(steps=10)).findings


def test_ranks_of_a_host_receive_at_the_same_time() -> None:
    """Two ranks on each of three hosts: what both lose at once is lost once."""
    names = [f"node{number // 2}" for number in range(6)]
    builder, at = TraceBuilder(6, end_s=1e3, hosts=names), 1.0
    for _ in range(30):
        for a, b in combinations(range(3), 2):
            for source, target in ((a, b), (b, a)):
                take_s = USUAL_S * (4.0 if (a, b) == (0, 2) else 1.0)
                for lane in (0, 1):
                    sender, receiver = 2 * source + lane, 2 * target + lane
                    sent, end = at + 0.005, at + 0.005 + take_s
                    builder.rank(sender).op(
                        "MPI_Send", sent, sent + 1e-5, peer=receiver, tag=1, sent=4096
                    )
                    builder.rank(receiver).op(
                        "MPI_Recv", at, end, peer=sender, tag=1, received=4096
                    )
                at += 0.012 + take_s
    for number in range(6):
        builder.rank(number).init(1.0).finalize(at + 0.01)
    finding = judged(builder.build())
    assert finding.gain_s == pytest.approx(30 * 2 * 3 * USUAL_S, rel=0.01)


def test_each_message_is_looked_at_for_its_own_pair_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else the arithmetic takes pairs times messages: minutes between a hundred hosts."""
    hosts, each = 40, 12
    low, high = np.triu_indices(hosts, 1)
    pair = np.repeat(low * hosts + high, each).astype(np.int64)
    count = len(pair)
    found = host_pairs._Messages(
        pair=np.random.default_rng(1).permutation(pair),
        forward=np.ones(count, bool),
        size=np.full(count, 4096),
        seconds=np.full(count, USUAL_S),
        rank=np.zeros(count, np.int64),
    )
    size_class, names = np.full(count, 12), [f"node{number}" for number in range(hosts)]
    looked: list[int] = []
    make = host_pairs._pair

    def counted(*args: Any) -> host_pairs.HostPair:
        looked.append(sum(len(part) for part in args[1:3]))
        return make(*args)

    monkeypatch.setattr(host_pairs, "_pair", counted)
    ratios = host_pairs._ratios(found, size_class)
    pairs = host_pairs._pairs(found, size_class, ratios, names)
    assert [one.messages for one in pairs] == [each] * (hosts * (hosts - 1) // 2)
    assert {one.ratio for one in pairs} == {1.0}
    assert sum(looked) == 2 * count
