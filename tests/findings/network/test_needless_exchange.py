"""Exchanged gradients that nothing uses, with known costs: 100 ms of work, 20 ms of exchange."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from perfscope.findings.core.finding import Finding
from perfscope.schema.enums import Confidence, PhaseKind, Status
from perfscope.trace.model import PHASE_DTYPE, Trace
from perfscope.trace.samples import MAIN_SAMPLE_DTYPE
from tests.findings.analyzed import analyze_trace
from tests.findings.exchange_runs import exchanges

EXCHANGE = "torch.distributed.gradient_exchange"
STEPS = 50
MIB = 1 << 20
NO_SYNC = "model.no_sync()"


def exchanging(times: int, *, updates: int = 1, **noted: Any) -> Trace:
    """So many exchanges of 20 ms in each step, at whose end so many optimizers step."""
    trace = exchanges(size=0, count=times, each_s=0.02, operation=EXCHANGE, steps=STEPS)
    ranks = []
    for rank in trace.ranks:
        rows = np.zeros(updates * STEPS, PHASE_DTYPE)
        rows["kind"], rows["tid"] = PhaseKind.OPTIMIZER, rank.main_tid
        ends = np.sort(rank.steps["t1"])
        rows["t0"] = np.repeat(ends, updates) + 1_000 * np.tile(1 + np.arange(updates), STEPS)
        rows["t1"] = rows["t0"] + 500
        phases = np.sort(np.concatenate((rank.phases, rows)), order="t0")
        told = {"frameworks": {"torch.distributed": noted}}
        ranks.append(replace(rank, phases=phases, metadata={**rank.metadata, **told}))
    return replace(trace, ranks=ranks)


def judged(trace: Trace, name: str = "exposed_exchange") -> Finding:
    return analyze_trace(trace).findings[name]


def test_four_exchanges_before_the_optimizer_steps_are_three_too_many() -> None:
    """Of 80 ms in each step 60 ms: no_sync comes first, and is priced."""
    case = analyze_trace(exchanging(4))
    found = case.results.gradient_exchange
    assert found is not None
    assert found.per_update == 4
    finding = case.findings["exposed_exchange"]
    assert finding.title == "Gradients are exchanged 4 times per optimizer step"
    assert NO_SYNC in finding.actions[0]
    assert "run the first 3 of the 4 passes, forward and backward, inside" in finding.actions[0]
    assert finding.recommended is not None
    assert finding.recommended.seconds == pytest.approx(STEPS * 0.06, rel=0.02)
    rarer = case.findings["network_bound"].actions[-1]
    assert "now 4 times per optimizer step" in rarer


def without_cpus(trace: Trace, share: float = 0.5) -> Trace:
    """The same on ranks that wait for a CPU for such a share of the time."""
    rows = np.zeros(200, MAIN_SAMPLE_DTYPE)
    rows["t"] = np.linspace(0, trace.wall_ns, len(rows))
    rows["queue_delay_ns"] = rows["t"] * share
    rows["cpu_ns"] = rows["t"] - rows["queue_delay_ns"]
    return replace(trace, ranks=[replace(rank, main_samples=rows) for rank in trace.ranks])


def test_cpus_that_the_exchange_takes_from_the_work_beside_it_are_given_back() -> None:
    """Of 80 ms 60, and as large a part of the 10 ms in which a step has no CPU."""
    saving = judged(without_cpus(exchanging(4), 0.1)).recommended
    assert saving is not None
    assert saving.seconds == pytest.approx(STEPS * (0.06 + 0.75 * 0.01), rel=0.02)
    assert saving.interval_s is not None
    assert saving.interval_s[0] == pytest.approx(STEPS * 0.06, rel=0.05)
    assert saving.interval_s[1] >= saving.seconds
    assert saving.is_by_assumption


def test_exchanges_that_are_counted_are_certain_where_ranks_wait_for_cpus() -> None:
    """What cannot be hidden may only seem exposed there; that three of four are needless is so."""
    counted, seen = (judged(without_cpus(exchanging(times))) for times in (4, 1))
    assert (counted.status, counted.confidence) == (Status.FAIL, Confidence.HIGH)
    assert seen.confidence is not Confidence.HIGH


@pytest.mark.parametrize(
    ("times", "updates", "noted", "per_update"),
    [
        (1, 1, {}, 1.0),
        (4, 2, {}, 4.0),  # two optimizers of one model
        (2, 2, {"exchanges_apart": True}, None),  # two models, each with its own
    ],
)
def test_as_many_exchanges_as_are_used(
    times: int, updates: int, noted: dict[str, Any], per_update: float | None
) -> None:
    case = analyze_trace(exchanging(times, updates=updates, **noted))
    found = case.results.gradient_exchange
    assert found is not None
    assert found.per_update == per_update
    is_again = NO_SYNC in case.findings["exposed_exchange"].actions[0]
    assert is_again is (per_update == 4.0)
    first = case.findings["exposed_exchange"].recommended
    assert first is not None
    assert first.is_bound is not is_again  # exchanges that are left out save all that they take


def test_rows_of_zeros_are_to_be_sparse() -> None:
    told = {"bytes": 40 * MIB, "empty_bytes": 36 * MIB, "unheld_bytes": 0}
    table = {"empty_name": "users.weight", "empty_module": "Embedding"}
    finding = judged(exchanging(1, gradients={**told, **table}))
    assert finding.title.endswith("mostly rows of zeros, mainly of users.weight")
    assert "sparse=True" in finding.actions[0]
    assert finding.recommended is not None
    assert finding.recommended.seconds == pytest.approx(STEPS * 0.018, rel=0.02)
    other = {"empty_name": "users", "empty_module": "Model"}
    assert "sparse=True" not in judged(exchanging(1, gradients={**told, **other})).actions[0]
    little = {**told, **table, "empty_bytes": 4 * MIB}
    assert "cannot hide" in judged(exchanging(1, gradients=little)).title


def test_gradients_that_no_optimizer_uses() -> None:
    told = {"bytes": 40 * MIB, "empty_bytes": 0, "unheld_bytes": 30 * MIB}
    finding = judged(exchanging(1, gradients={**told, "unheld_name": "backbone.0.weight"}))
    assert "that no optimizer uses" in finding.title
    assert "requires_grad_(False) on backbone.0.weight" in finding.actions[0]
    assert "cannot hide" in judged(exchanging(1, gradients={**told, "unheld_bytes": 0})).title


def test_gradients_in_many_small_pieces() -> None:
    """40 in place of 1: 39 of 40 parts of the exchange are a bound."""
    told = {"bytes": 400 << 10, "empty_bytes": 0, "unheld_bytes": 0, "buckets": 40}
    finding = judged(exchanging(1, gradients=told))
    assert finding.title == "Gradients are exchanged in 40 pieces of 10.0 KiB"
    assert "bucket_cap_mb at its default" in finding.actions[0]
    assert not any("a smaller bucket_cap_mb" in action for action in finding.actions)
    assert finding.recommended is not None
    assert finding.recommended.is_bound
    assert finding.recommended.seconds == pytest.approx(STEPS * 0.02 * 39 / 40, rel=0.02)


@pytest.mark.parametrize(
    ("size", "buckets"),
    [
        (400 << 10, 1),
        (40 * MIB, 3),
        (40 * MIB, 30),
        (400 << 10, 0),
        (400 << 10, "many"),
        (float("nan"), 40),
        (float("inf"), 40),
        (10**400, 40),
    ],
)
def test_buckets_as_they_are_or_of_some_size(size: Any, buckets: Any) -> None:
    told = {"bytes": size, "empty_bytes": 0, "unheld_bytes": 0, "buckets": buckets}
    finding = judged(exchanging(1, gradients=told))
    assert "cannot hide" in finding.title
    assert any("a smaller bucket_cap_mb" in action for action in finding.actions)


def with_backward(trace: Trace, seconds: float, kind: PhaseKind = PhaseKind.BACKWARD) -> Trace:
    """So many seconds of backward pass, or of another phase, at the end of each step's work."""
    ranks = []
    for rank in trace.ranks:
        rows = rank.phases[rank.phases["kind"] == PhaseKind.TRAIN].copy()
        rows["kind"], rows["t0"] = kind, rows["t1"] - int(seconds * 1e9)
        phases = np.sort(np.concatenate((rank.phases, rows)), order="t0")
        ranks.append(replace(rank, phases=phases))
    return replace(trace, ranks=ranks)


def test_the_bound_counts_the_backward_pass_of_what_no_optimizer_uses() -> None:
    """Of each step 60 ms are backward, and 15 ms of the exchange are for nothing."""
    told = {"bytes": 40 * MIB, "empty_bytes": 0, "unheld_bytes": 30 * MIB, "unheld_name": "body"}
    finding = judged(with_backward(exchanging(1, gradients=told), 0.06))
    assert finding.recommended is not None
    assert finding.recommended.is_bound
    assert finding.recommended.seconds == pytest.approx(STEPS * 0.075, rel=0.02)
    assert finding.gain is not None
    assert finding.gain.seconds == finding.recommended.seconds
    assert finding.status is Status.FAIL
    few = {**told, "unheld_bytes": 10 * MIB}
    few_of_them = judged(with_backward(exchanging(1, gradients=few), 0.06)).recommended
    assert few_of_them is not None
    assert few_of_them.seconds == pytest.approx(STEPS * 0.005, rel=0.02)


def test_the_bound_counts_what_the_optimizer_does_to_rows_of_zeros() -> None:
    """Nine tenths of 60 ms of optimizer in each step, and of 20 ms of exchange."""
    told = {"bytes": 40 * MIB, "empty_bytes": 36 * MIB, "unheld_bytes": 0}
    table = {"empty_name": "users.weight", "empty_module": "Embedding"}
    run = with_backward(exchanging(1, gradients={**told, **table}), 0.06, PhaseKind.OPTIMIZER)
    finding = judged(run)
    assert finding.recommended is not None
    assert finding.recommended.is_bound
    assert finding.recommended.seconds == pytest.approx(STEPS * 0.9 * 0.08, rel=0.02)
    assert "that part of the optimizer's step" in finding.summary


def test_a_needless_backward_pass_is_told_where_its_exchange_is_quick() -> None:
    told = {"bytes": 40 * MIB, "empty_bytes": 0, "unheld_bytes": 30 * MIB, "unheld_name": "body"}
    quick = exchanges(size=0, count=1, each_s=0.0001, operation=EXCHANGE, steps=STEPS)
    noted = {"frameworks": {"torch.distributed": {"gradients": told}}}
    ranks = [replace(one, metadata={**one.metadata, **noted}) for one in quick.ranks]
    finding = judged(with_backward(replace(quick, ranks=ranks), 0.06))
    assert finding.status is Status.FAIL
    assert "that no optimizer uses" in finding.title


@pytest.mark.parametrize("told", [{}, {"bytes": 0}, {"bytes": "many", "empty_bytes": 3}, [], None])
def test_odd_notes_are_no_evidence(told: object) -> None:
    assert "cannot hide" in judged(exchanging(1, gradients=told)).title
