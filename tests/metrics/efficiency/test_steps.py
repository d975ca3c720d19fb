"""Steps, told or found, and throughput."""

import math

import pytest

from perfscope.attribution.ledger import INDEX
from perfscope.metrics.compute import compute
from perfscope.metrics.efficiency.steps import StepsResult
from perfscope.schema.enums import Account, PhaseKind
from tests.support.trace_builder import TraceBuilder


def steps_of(builder: TraceBuilder) -> StepsResult:
    return compute(builder.build()).steps


def told(*, samples: int = 0, global_batch: int = 0, numbers: bool = True) -> TraceBuilder:
    """Two ranks, T = 10 s, ten steps of 0.5 s on rank 0 and 0.6 s on rank 1."""
    builder = TraceBuilder(2, end_s=12.0)
    for rank in (0, 1):
        made = builder.rank(rank).init(1.0).finalize(11.0)
        for step in range(10):
            start = 1.0 + step * 0.9
            made.step(
                step if numbers else step % 5,
                start,
                start + 0.5 + 0.1 * rank,
                epoch=step // 5,
                samples=samples,
                global_batch=global_batch,
            )
    return builder


def test_steps_of_a_marker() -> None:
    steps = steps_of(told(samples=32))
    assert (steps.source, steps.count) == ("marker", 10)
    assert steps.samples == 2 * 10 * 32
    assert steps.samples_per_s.value == pytest.approx(2 * 32 / 0.9)
    assert steps.step_s_mean.value == pytest.approx(0.9)  # as the rate: nine, of nine steps' time
    assert steps.step_s_median.value == pytest.approx(0.6)
    assert steps.step_s_p95.value == pytest.approx(0.6)
    assert steps.max_seconds == pytest.approx((0.6,) * 10)
    assert steps.min_seconds == pytest.approx((0.5,) * 10)
    assert steps.epoch_s_median.value == pytest.approx(4 * 0.9 + 0.6)
    assert steps.time_to_solution_s.value == pytest.approx(12.0)


def test_samples_from_the_global_batch_or_the_agent() -> None:
    assert steps_of(told(global_batch=64)).samples_per_s.value == pytest.approx(64 / 0.9)
    builder = told()
    builder.rank(0).set(metadata={"batch_size": 8})
    builder.rank(1).set(metadata={"batch_size": 8, "frameworks": {"torch": {}}})
    steps = steps_of(builder)
    assert steps.source == "framework"
    assert steps.samples_per_s.value == pytest.approx(2 * 8 / 0.9)


def test_ranks_that_hold_parts_of_one_model_count_their_samples_once() -> None:
    builder = told(samples=32)
    for rank in (0, 1):
        facts = {"frameworks": {"torch.distributed": {"model_ranks": [0, 1]}}}
        builder.rank(rank).set(metadata=facts)
    steps = steps_of(builder)
    assert steps.samples == 10 * 32
    assert steps.samples_per_s.value == pytest.approx(32 / 0.9)


BATCHES = [11, 12, 13]


def divided(*digests: list[int], ranks: int = 2, others: int = 0) -> StepsResult:
    """Ranks that gave the half of what they loaded to their models, by digests of each rank."""
    builder = told(samples=32)
    for rank, own in enumerate(digests):
        seen = {"ranks": ranks, "steps": 10, "others": others if rank else 0, "digests": own}
        builder.rank(rank).set(metadata={"frameworks": {"torch": {"divided": seen}}})
    return steps_of(builder)


def test_ranks_that_divide_a_batch_that_all_of_them_loaded_count_its_samples_once() -> None:
    steps = divided(BATCHES, BATCHES)
    assert steps.samples == 10 * 32
    assert steps.samples_per_s.value == pytest.approx(32 / 0.9)


@pytest.mark.parametrize(
    "steps",
    [
        divided(BATCHES, [11, 12, 14]),  # each rank has batches of its own
        divided(BATCHES, BATCHES[:2]),
        divided([11, 11, 11], [11, 11, 11]),  # as where what comes first is the same everywhere
        divided([], []),
        divided(BATCHES),
        divided(BATCHES, BATCHES, others=1),  # as where several updates need one batch
        divided(BATCHES, BATCHES, ranks=4),  # the others of which were not recorded
        divided([0, 0], [0, 0]),
    ],
)
def test_what_loaders_tell_counts_on_each_rank_unless_all_loaded_the_same(
    steps: StepsResult,
) -> None:
    assert steps.samples == 2 * 10 * 32
    assert steps.samples_per_s.value == pytest.approx(2 * 32 / 0.9)


def test_a_function_between_two_optimizer_steps_is_what_its_name_tells() -> None:
    """Steps that a framework tells follow each other without a gap: not all in them is training."""
    builder = TraceBuilder(1, end_s=20.0)
    rank = builder.rank(0).set(metadata={"frameworks": {"torch": {}}})
    for step in range(20):
        rank.step(step, float(step), step + 1.0)
        rank.phase(PhaseKind.BACKWARD, step + 0.5, step + 1.0)
        rank.stack(step + 0.25, [("main", "/job/t.py", 9), ("validate", "/job/t.py", 5)])
        rank.stack(step + 0.75, [("main", "/job/t.py", 9), ("validate", "/job/t.py", 5)])
    results = compute(builder.build())
    spent = results.ledger.ns[[INDEX[Account.EVALUATION], INDEX[Account.TRAINING]], 0]
    assert spent.tolist() == pytest.approx([10e9, 10e9], rel=0.06)


def test_what_is_set_up_first_and_what_evaluates_is_no_training() -> None:
    builder = TraceBuilder(1, end_s=30.0)
    rank = builder.rank(0).step(0, 0.0, 9.0, samples=32)
    now = 9.0
    for step in range(1, 9):
        rank.step(step, now, now + 0.5, samples=32)
        now += 0.5
        if step % 4 == 0:
            rank.phase(PhaseKind.EVALUATE, now, now + 3.0)
            now += 3.0
    assert steps_of(builder).samples_per_s.value == pytest.approx(64.0)


@pytest.mark.parametrize("is_waited_for", [True, False])
def test_what_surrounds_batches_that_are_evaluated_one_by_one_is_no_training(
    is_waited_for: bool,
) -> None:
    """Five of 0.1 s in 3.2 s between steps, 0.2 s of which usually lie there, or are input."""
    builder = TraceBuilder(1, end_s=60.0)
    rank, now = builder.rank(0), 0.0
    for step in range(9):
        rank.step(step, now, now + 0.8, samples=32)
        now += 0.8
        if step and step % 4 == 0:
            for batch in range(5):
                rank.phase(PhaseKind.EVALUATE, now + 0.5 * batch + 0.3, now + 0.5 * batch + 0.4)
            now += 3.0
        if is_waited_for:
            rank.phase(PhaseKind.INPUT, now, now + 0.2)
        now += 0.2
    assert steps_of(builder).samples_per_s.value == pytest.approx(32.0)


@pytest.mark.parametrize(("function", "every"), [("validate", 4), ("report", 4), ("validate", 1)])
def test_what_samples_alone_tell_between_two_steps_is_no_training(
    function: str, every: int
) -> None:
    """Unless it is done in each: then it is a part of the step, whatever its name."""
    builder = TraceBuilder(1, end_s=50.0)
    rank = builder.rank(0).set(metadata={"frameworks": {"torch": {}}})
    now = 0.0
    for step in range(9):
        length = 3.5 if step % every == 0 else 0.5
        rank.step(step, now, now + length, samples=32)
        rank.phase(PhaseKind.BACKWARD, now, now + 0.5)
        for moment in range(50, int(length * 100), 10):
            at = now + moment / 100 + 0.05
            rank.stack(at, [("main", "/job/t.py", 9), (function, "/job/t.py", 5)])
        now += length
    expected = 32 / 3.5 if every == 1 else 64.0
    assert steps_of(builder).samples_per_s.value == pytest.approx(expected, rel=0.05)


def test_the_only_step_counts() -> None:
    builder = TraceBuilder(1, end_s=9.0)
    builder.rank(0).step(0, 1.0, 3.0, samples=8)
    assert steps_of(builder).samples_per_s.value == pytest.approx(4.0)


def test_unknown_samples_have_a_reason() -> None:
    rate = steps_of(told()).samples_per_s
    assert rate.value is None
    assert "perfscope.step" in (rate.reason or "")


def test_a_batch_that_all_steps_train_on_again_has_no_rate() -> None:
    """A loader told of it once, before the first step: that is not none a second."""
    builder = TraceBuilder(1, end_s=9.0)
    for step in range(6):
        builder.rank(0).step(step, 1.0 + step, 2.0 + step, samples=0 if step else 1000)
    steps = steps_of(builder)
    assert steps.samples == 1000
    assert steps.samples_per_s.value is None
    assert "only the first step" in (steps.samples_per_s.reason or "")


def test_numbers_that_repeat_become_ordinals() -> None:
    assert steps_of(told(numbers=False)).numbers == tuple(range(10))


def pattern(calls: list[list[tuple[str, int]]], *, work_s: float = 0.1) -> TraceBuilder:
    """One rank that works before the first call of each step."""
    builder = TraceBuilder(1, end_s=100.0)
    rank = builder.rank(0).init(0.0)
    now = 0.0
    for step in calls:
        now += work_s
        for name, sent in step:
            rank.op(name, now + 0.001, now + 0.002, sent=sent)
            now += 0.002
    rank.finalize(now + 0.1)
    return builder


GRADIENT, LOSS = ("MPI_Allreduce", 4000), ("MPI_Allreduce", 8)
EVALUATION = ("MPI_Allreduce", 16)
LAYER = ("MPI_Allreduce", 400)


@pytest.mark.parametrize(
    ("calls", "count"),
    [
        ([[GRADIENT]] * 50, 50),
        ([[GRADIENT, LOSS]] * 50, 50),
        (([[GRADIENT, LOSS]] * 4 + [[EVALUATION]]) * 12, 48),
        ([[LAYER] * 6 + [LOSS]] * 30, 30),
        (([[GRADIENT]] * 10 + [[("MPI_Barrier", 0)]]) * 5, 50),
        ([[GRADIENT]] * 50 + [[("MPI_Barrier", 0)]], 50),
        ([[("MPI_Barrier", 0)]] * 3, 0),
        ([[("MPI_Barrier", 0)], [GRADIENT], [LOSS], [EVALUATION], [LAYER]], 0),
    ],
)
def test_steps_found_in_the_pattern_of_collectives(
    calls: list[list[tuple[str, int]]], count: int
) -> None:
    steps = steps_of(pattern(calls))
    assert steps.count == count
    assert steps.source == ("collectives" if count else None)
    if count:
        assert steps.samples_per_s.value is None
        assert steps.step_s_median.value == pytest.approx(0.1 + 0.002 * len(calls[0]), rel=0.05)
    else:
        assert "no steps were detected" in (steps.step_s_median.reason or "")


def test_what_the_framework_reported() -> None:
    builder = TraceBuilder(1, end_s=5.0)
    builder.rank(0).metric("loss", 1.0, 0.5).metric("loss", 2.0, math.nan).metric("loss", 3.0, 0.25)
    assert steps_of(builder).metric_series == {"loss": ((1.0, 0.5), (3.0, 0.25))}


def test_epochs_from_phases() -> None:
    builder = TraceBuilder(1, end_s=9.0)
    builder.rank(0).phase(PhaseKind.TRAIN, 1.0, 3.0, epoch=0).phase(
        PhaseKind.TRAIN, 3.0, 7.0, epoch=1
    )
    assert steps_of(builder).epoch_s_median.value == pytest.approx(3.0)
