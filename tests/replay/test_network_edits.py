"""Edits of communication on runs made by hand: the gain is what the changed run takes less."""

from dataclasses import dataclass, replace
from functools import cache

import pytest

from perfscope.arrays import Floats
from perfscope.metrics.communication.collective_fit import Curve
from perfscope.metrics.compute import compute
from perfscope.metrics.results import Options
from perfscope.replay.assumptions import ESTIMATED
from perfscope.replay.edit_parser import parse_edit
from perfscope.replay.model import Edit, Prediction, RefusedEditError
from perfscope.replay.segments import SegmentReplay
from perfscope.schema.enums import PhaseKind
from perfscope.trace.model import Trace
from tests.support.trace_builder import TraceBuilder

ALPHA_S, BETA_S = 200e-6, 4e-9
CALL_S = 10e-6
SIZES = (1 << 10, 1 << 13, 1 << 16, 1 << 20)
NEAR = 0.01


@dataclass(frozen=True)
class Plan:
    """Steps of a forward and a backward pass, allreduces of these sizes, and an optimizer."""

    ranks: int = 4
    steps: int = 40
    sizes: tuple[int, ...] = SIZES
    backward_s: float = 0.02
    late_s: float = 0.004  # of another rank in each step
    between_s: float = CALL_S
    hidden_s: float = 0.0  # of the first allreduces, behind the backward pass
    marks_backward: bool = True
    broadcasts: bool = False  # between the allreduces
    operation: str = "MPI_Allreduce"
    hosts: int = 1


def seconds_of(size: int, ranks: int) -> float:
    return ALPHA_S + 2 * (ranks - 1) / ranks * size * BETA_S


def length_of(plan: Plan, builder: TraceBuilder | None = None) -> float:
    """Seconds of the run; with a builder, records it."""
    clock = [1.0] * plan.ranks
    for step in range(plan.steps):
        for rank in range(plan.ranks):
            forward = clock[rank] + 0.01
            late = plan.late_s if step % plan.ranks == rank else 0.0
            backward = forward + plan.backward_s + late
            if builder:
                made = builder.rank(rank).phase(PhaseKind.FORWARD, clock[rank], forward)
                if plan.marks_backward:
                    made.phase(PhaseKind.BACKWARD, forward, backward)
            clock[rank] = backward
        hidden = plan.hidden_s
        for place, size in enumerate(plan.sizes):
            enter = [at + (plan.between_s if place else 0.0) for at in clock]
            whole = seconds_of(size, plan.ranks)
            left = whole - min(hidden, whole)
            hidden -= whole - left
            end = max(enter) + left
            for rank in range(plan.ranks if builder else 0):
                assert builder is not None
                made = builder.rank(rank)
                made.op(plan.operation, enter[rank], end, sent=size, received=size)
                if plan.broadcasts:
                    made.op("MPI_Bcast", end, end, peer=0, sent=8, received=8)
            clock = [end] * plan.ranks
        for rank in range(plan.ranks):
            if builder:
                builder.rank(rank).phase(PhaseKind.OPTIMIZER, clock[rank], clock[rank] + 0.005)
            clock[rank] += 0.005
    return max(clock) - 1.0


def recorded(plan: Plan) -> Trace:
    builder = TraceBuilder(plan.ranks, end_s=1e3)
    for rank in range(plan.ranks):
        builder.rank(rank).host = f"n{rank % plan.hosts}"
    for rank in range(plan.ranks):
        builder.rank(rank).init(1.0)
    end = 1.0 + length_of(plan, builder)
    for rank in range(plan.ranks):
        builder.rank(rank).finalize(end)
    return builder.build()


@cache
def replayed(plan: Plan) -> SegmentReplay:
    found = SegmentReplay(compute(recorded(plan), Options()))
    assert found.available, found.reason
    return found


def told(plan: Plan, *texts: str) -> Prediction:
    phases = ("forward", "backward", "optimizer")
    edits = [parse_edit(text, ranks=range(4), phases=phases).edit for text in texts]
    prediction = replayed(plan).predict(edits)
    assert prediction is not None
    return prediction


@pytest.mark.parametrize("text", ["bytes:0.5", "bytes:0.5@allreduce", "bytes:0.5@MPI_Allreduce"])
def test_half_the_bytes_keep_their_latency(text: str) -> None:
    plan = Plan()
    halved = replace(plan, sizes=tuple(size // 2 for size in plan.sizes))
    found = told(plan, text)
    assert found.gain_s == pytest.approx(length_of(plan) - length_of(halved), rel=NEAR)
    assert found.interval_s is not None
    low, high = found.interval_s
    assert low <= found.gain_s <= high
    assert any("latency and bandwidth fitted" in sentence for sentence in found.assumptions)


def test_bytes_of_what_the_run_does_not_hold() -> None:
    with pytest.raises(RefusedEditError, match="no allgather of known size"):
        told(Plan(), "bytes:0.5@allgather")
    with pytest.raises(RefusedEditError, match="no operation 'lunch'"):
        told(Plan(), "bytes:0.5@lunch")


def test_one_size_does_not_tell_latency_from_bandwidth() -> None:
    plan = Plan(sizes=(1 << 20,))
    with pytest.raises(RefusedEditError, match=r"one size only.*50.0 % of its transfer"):
        told(plan, "bytes:0.5")
    with pytest.raises(RefusedEditError, match="no allreduces"):
        told(plan, "fuse:64M")


@pytest.mark.parametrize("ranks", [2, 4])
def test_fused_allreduces_are_one(ranks: int) -> None:
    plan = Plan(ranks=ranks, sizes=(*SIZES, *[1 << 10] * 20))
    one = replace(plan, sizes=(sum(plan.sizes),))
    found = told(plan, "fuse:64M")
    assert found.gain_s == pytest.approx(length_of(plan) - length_of(one), rel=NEAR)
    assert any("results of fused allreduces" in sentence for sentence in found.assumptions)


@pytest.mark.parametrize("operation", ["MPI_Allreduce", "torch.distributed.all_reduce"])
def test_small_allreduces_of_one_size_are_made_of_latency(operation: str) -> None:
    """No fit tells that, but inside a host nothing else takes a small call so long."""
    plan = Plan(sizes=(1 << 10,) * 20, operation=operation)
    one = replace(plan, sizes=(sum(plan.sizes),))
    found = told(plan, "fuse:64M")
    assert found.gain_s == pytest.approx(length_of(plan) - length_of(one), rel=0.05)
    assert ESTIMATED in found.assumptions
    assert ESTIMATED not in told(replace(plan, sizes=SIZES * 5), "fuse:64M").assumptions


@pytest.mark.parametrize(
    "plan",
    [
        Plan(sizes=(1 << 18,) * 20),
        Plan(sizes=(1 << 10, 1 << 12) * 10),
        Plan(sizes=(16, 16, 60 << 10), steps=5),
        Plan(sizes=(1 << 10,) * 3, steps=5),
        Plan(sizes=(1 << 10,) * 20, hosts=2),
    ],
    ids=["large", "several sizes", "few of far sizes", "few", "of hosts"],
)
def test_other_calls_without_a_fit_have_no_price(plan: Plan) -> None:
    """What they take is not latency for certain, or not known from so few."""
    with pytest.raises(RefusedEditError, match="does not tell latency"):
        told(plan, "fuse:64M")


def test_what_fusing_costs_does_not_grow_with_the_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run of a million steps has a million groups: the curve is asked for all of them at once."""
    asked: list[int] = []
    seconds = Curve.seconds

    def counted(curve: Curve, x: Floats) -> Floats:
        asked[-1] += 1
        return seconds(curve, x)

    monkeypatch.setattr(Curve, "seconds", counted)
    for steps in (20, 60):
        asked.append(0)
        results = compute(recorded(Plan(steps=steps, sizes=(*SIZES, *[1 << 10] * 4))), Options())
        replay = SegmentReplay(results)
        found = replay.predict([Edit(factor=1.0, fuse_bytes=1 << 26)])
        assert found is not None
        assert found.gain_s > 0
    assert asked[0] == asked[1] > 0


def test_fused_allreduces_of_pytorch_are_one() -> None:
    plan = Plan(sizes=(*SIZES, *[1 << 10] * 20), operation="torch.distributed.all_reduce")
    one = replace(plan, sizes=(sum(plan.sizes),))
    found = told(plan, "fuse:64M")
    assert found.gain_s == pytest.approx(length_of(plan) - length_of(one), rel=NEAR)


def test_fused_and_halved() -> None:
    plan = Plan(sizes=(*SIZES, *[1 << 10] * 20))
    one = replace(plan, sizes=(sum(plan.sizes) // 2,))
    found = told(plan, "bytes:0.5", "fuse:64M")
    assert found.gain_s == pytest.approx(length_of(plan) - length_of(one), rel=NEAR)


def test_fusion_ends_at_its_limit() -> None:
    """The largest stays by itself: 20 of 1 KiB and 2 of 8 KiB fit into 64 KiB."""
    small = [1 << 10] * 20
    plan = Plan(sizes=(1 << 20, 1 << 13, 1 << 13, *small))
    two = replace(plan, sizes=(1 << 20, (1 << 14) + (20 << 10)))
    found = told(plan, "fuse:64k")
    assert found.gain_s == pytest.approx(length_of(plan) - length_of(two), rel=0.02)


def test_what_lies_apart_is_not_fused() -> None:
    with pytest.raises(RefusedEditError, match="within a millisecond"):
        told(Plan(between_s=0.002), "fuse:64M")
    with pytest.raises(RefusedEditError, match="within a millisecond"):
        told(Plan(broadcasts=True), "fuse:64M")


def test_fusion_and_other_edits_combine() -> None:
    plan = Plan(sizes=(*SIZES, *[1 << 10] * 20))
    both = replace(plan, sizes=(sum(plan.sizes),), late_s=0.0)
    found = told(plan, "fuse:64M", "share:training")
    # of the late rank's work a quarter stays on each rank
    spread = plan.steps * plan.late_s / plan.ranks
    assert found.gain_s == pytest.approx(length_of(plan) - length_of(both) - spread, rel=NEAR)
    halved = told(plan, "fuse:64M", "network:2").gain_s
    alone = told(plan, "fuse:64M").gain_s
    left = length_of(replace(plan, sizes=(sum(plan.sizes),))) - length_of(
        replace(plan, sizes=(sum(plan.sizes),), hidden_s=10.0)
    )
    assert halved - alone == pytest.approx(left / 2, rel=NEAR)


@pytest.mark.parametrize(("text", "share"), [("overlap", 1.0), ("overlap:0.5", 0.5)])
def test_transfer_hides_behind_the_backward_pass(text: str, share: float) -> None:
    plan = Plan(sizes=(1 << 20,))
    hidden = replace(plan, hidden_s=share * seconds_of(1 << 20, 4))
    found = told(plan, text)
    assert found.gain_s == pytest.approx(length_of(plan) - length_of(hidden), rel=NEAR)


def test_no_more_is_hidden_than_the_backward_pass_is_long() -> None:
    plan = Plan(sizes=(1 << 22, 1 << 20), backward_s=0.008)
    hidden = replace(plan, hidden_s=0.008)
    found = told(plan, "overlap")
    assert found.gain_s == pytest.approx(length_of(plan) - length_of(hidden), rel=NEAR)


def test_without_a_backward_pass_nothing_overlaps() -> None:
    with pytest.raises(RefusedEditError, match="no backward pass"):
        told(Plan(marks_backward=False), "overlap")


def test_a_prediction_after_fusion_is_of_the_same_segments() -> None:
    plan = Plan(sizes=(*SIZES, *[1 << 10] * 20))
    replay = replayed(plan)
    fuse, balance = Edit(factor=1.0, fuse_bytes=1 << 26), Edit(factor=1.0, network=2.0)
    beyond = replay.predict([balance], after=[fuse])
    both = replay.predict([fuse, balance])
    alone = replay.predict([fuse])
    assert beyond is not None
    assert both is not None
    assert alone is not None
    assert beyond.gain_s == pytest.approx(both.gain_s - alone.gain_s)
