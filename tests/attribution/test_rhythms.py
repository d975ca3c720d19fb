"""Work that recurs every few steps: found whatever it is called, named by its outermost part."""

import random
from typing import Any

import pytest

from perfscope.attribution.stack_rules import EVALUATION_LIKE
from perfscope.findings.balance import frequent_evaluation, rank_zero_evaluation
from perfscope.findings.core.finding import Finding
from perfscope.findings.facts.facts import Facts
from perfscope.metrics.compute import compute
from perfscope.metrics.results import Results
from perfscope.replay.segments import SegmentReplay
from perfscope.schema.enums import PhaseKind, Status
from tests.support.trace_builder import FrameLike, TraceBuilder

MAIN = ("main", "/job/go.py", 20)
MODEL = (("Net.apply", "/job/net.py", 5), ("Block.apply", "/job/net.py", 88))
TRAIN = (MAIN, ("advance", "/job/go.py", 30), *MODEL)
STRANGE = (MAIN, ("wobble", "/job/go.py", 60), *MODEL)
SAVE = (MAIN, ("wobble", "/job/go.py", 60), ("dump", "/usr/lib/python3.11/json/__init__.py", 9))


def record(
    does: set[int],
    *,
    ranks: tuple[int, ...] = (0, 1),
    stack: tuple[FrameLike, ...] = STRANGE,
    reduced: int = 0,
    looks_at: float = 1.0,
    first: tuple[FrameLike, ...] = (),
    metadata: dict[str, Any] | None = None,
) -> Results:
    """Two ranks, 200 steps of 0.1 s with an allreduce each; some ranks do more in some steps.

    `reduced` bytes of what they do then are added up in a call of its own, 0 none; `looks_at` is
    the share of the looks that happen.
    """
    lot = random.Random(5)
    builder, clock = TraceBuilder(2, end_s=1e3), 1.0
    for number in (0, 1):
        builder.rank(number).set(metadata=metadata or {})
    for step in range(200):
        for number in (0, 1):
            own = 0.5 if step in does and number in ranks else 0.0
            rank = builder.rank(number)
            here = first if first and step == min(does) else stack
            for spent, frames, begin in ((own, here, clock), (0.1, TRAIN, clock + own)):
                for tick in range(round(spent * 20)):
                    if lot.random() < looks_at:
                        rank.stack(begin + 0.01 + tick / 20, frames)
            end = clock + 0.1 + (0.5 if step in does else 0.0)
            if step in does and reduced:
                at = clock + own
                rank.op("MPI_Allreduce", at, at + 0.001, sent=reduced, received=reduced)
            rank.op("MPI_Allreduce", clock + own + 0.1, end + 0.002, sent=4096, received=4096)
        clock = end + 0.002
    return compute(builder.ended(clock, init_s=1.0))


def test_all_ranks_every_tenth_step() -> None:
    results = record(set(range(5, 200, 10)))
    phase = next(phase for phase in results.phases if phase.id == EVALUATION_LIKE)
    assert (phase.where[0].function, phase.where[0].file) == ("wobble", "/job/go.py")
    assert sum(phase.seconds_by_rank) == pytest.approx(2 * 20 * 0.5, rel=0.1)
    finding = frequent_evaluation.judge(Facts(results, SegmentReplay(results)))
    assert isinstance(finding, Finding)
    assert finding.status is not Status.PASS
    assert finding.title == (
        "Each rank seems to run all of what looks like an evaluation in wobble() (go.py:60), "
        "20 times"
    )


def test_one_rank_every_tenth_step() -> None:
    results = record(set(range(5, 200, 10)), ranks=(0,))
    finding = rank_zero_evaluation.judge(Facts(results, SegmentReplay(results)))
    assert isinstance(finding, Finding)
    assert finding.title.startswith(
        "Rank 0 runs what looks like an evaluation alone in wobble() (go.py:60)"
    )
    assert finding.gain is not None
    assert finding.gain.seconds == pytest.approx(10.0, rel=0.1)


def with_passed(*passed: list[int]) -> Results:
    """The same with what main() was read to pass on: it calls wobble() at line 19."""
    told = {"place": "\x1f".join((MAIN[0], MAIN[1], "1")), "lines": [[18, 22]], "passed": [*passed]}
    acts = (("main", "/job/go.py", 19), *STRANGE[1:])
    first = (("main", "/job/go.py", 17), *STRANGE[1:])
    return record(set(range(5, 200, 10)), stack=acts, first=first, metadata={"loops": [told]})


@pytest.mark.parametrize(
    ("passed", "is_evaluation"),
    [
        ([19, 20], False),  # to what trains
        ([19, 21], True),  # to what writes it down
        ([18, 20], True),  # of something else
        ([17, 20], True),  # of the first time
        ([20, 19], True),  # the other way round
    ],
)
def test_what_training_takes_the_result_of_is_no_evaluation(
    passed: list[int], *, is_evaluation: bool
) -> None:
    """Acting applies the model every few steps, too, and the updates between are made of it."""
    phases = {phase.id for phase in with_passed(passed).phases}
    assert (EVALUATION_LIKE in phases) is is_evaluation


@pytest.mark.parametrize(
    ("first", "is_evaluation"),
    [(0, False), (5, True)],  # before anything was trained, or after
)
def test_what_is_kept_and_comes_first_may_be_acting(first: int, *, is_evaluation: bool) -> None:
    """What is put where training may look is an evaluation where training could do without it."""
    place = "\x1f".join((MAIN[0], MAIN[1], "1"))
    told = {"place": place, "passed": [[19, "?buffer"], ["buffer", 20]]}
    acts = (("main", "/job/go.py", 19), *STRANGE[1:])
    run = record(set(range(first, 200, 10)), stack=acts, metadata={"loops": [told]})
    assert (EVALUATION_LIKE in {phase.id for phase in run.phases}) is is_evaluation


@pytest.mark.parametrize(
    "does",
    [
        set(range(200)),  # each step
        set(range(60, 120)),  # for a while
        {50, 150},  # twice
        set(random.Random(3).sample(range(200), 20)),  # by chance
    ],
)
def test_what_has_no_rhythm_is_not_told(does: set[int]) -> None:
    assert EVALUATION_LIKE not in {phase.id for phase in record(does).phases}


@pytest.mark.parametrize(
    ("every", "reduced", "is_told"),
    [
        (3, 8, True),  # a figure
        (2, 8, True),
        (3, 0, False),  # a part of each k-th step
        (4, 0, False),  # most of what the program does
        (6, 0, True),
        (3, 2048, False),  # gradients of another model
        (10, 2048, False),
        (10, 8, True),
    ],
)
def test_what_is_exchanged_tells_a_check_from_training(
    every: int, reduced: int, is_told: bool
) -> None:
    results = record(set(range(5, 200, every)), reduced=reduced)
    assert (EVALUATION_LIKE in {phase.id for phase in results.phases}) is is_told


@pytest.mark.parametrize("every", [3, 7])
def test_what_is_seen_in_some_of_its_times_recurs_as_well(every: int) -> None:
    does = set(range(5, 200, every))
    results = record(does, reduced=8, looks_at=0.08)
    finding = frequent_evaluation.judge(Facts(results, SegmentReplay(results)))
    assert isinstance(finding, Finding)
    assert f"wobble() (go.py:60), {len(does)} times" in finding.title
    phase = next(phase for phase in results.phases if phase.id == EVALUATION_LIKE)
    assert sum(phase.seconds_by_rank) == pytest.approx(2 * len(does) * 0.5, rel=0.25)


def test_an_evaluation_of_which_few_looks_tell_is_judged_by_its_period() -> None:
    """Nothing names what the program does as training."""
    stack = (MAIN, ("evaluate", "/job/go.py", 60), *MODEL)
    results = record(set(range(5, 200, 7)), stack=stack, reduced=8, looks_at=0.15)
    finding = frequent_evaluation.judge(Facts(results, SegmentReplay(results)))
    assert isinstance(finding, Finding)
    assert finding.status is Status.FAIL
    assert "evaluate() (go.py:60), 28 times" in finding.title


def test_looks_that_keep_time_with_the_steps_are_no_rhythm() -> None:
    builder = TraceBuilder(2, end_s=1e3)
    for step in range(200):
        for number in (0, 1):
            rank, end = builder.rank(number), 1.0 + 0.1 * (step + 1)
            if step % 5 == 0:
                rank.stack(end - 0.05, STRANGE if step % 10 else TRAIN)
            rank.op("MPI_Allreduce", end - 0.001, end, sent=4096, received=4096)
    for number in (0, 1):
        builder.rank(number).init(1.0).finalize(21.0).end_s = 21.5
    results = compute(builder.set(wall_ns=21_500_000_000).build())
    assert EVALUATION_LIKE not in {phase.id for phase in results.phases}


def test_what_writes_files_is_no_evaluation() -> None:
    results = record(set(range(5, 200, 10)), stack=SAVE)
    assert EVALUATION_LIKE not in {phase.id for phase in results.phases}


def test_a_marked_evaluation_is_named_by_its_outermost_function() -> None:
    """A framework marks the phase; the layer in which it is seen belongs to the training, too."""
    builder, clock = TraceBuilder(1, end_s=1e3), 1.0
    rank = builder.rank(0)
    for step in range(100):
        for tick in range(4):
            rank.stack(clock + 0.01 + tick / 20, TRAIN)
        rank.step(step, clock, clock + 0.2)
        clock += 0.2
        if step % 10 == 9:
            for tick in range(10):
                rank.stack(clock + 0.01 + tick / 20, STRANGE)
            rank.phase(PhaseKind.EVALUATE, clock, clock + 0.5)
            clock += 0.5
    rank.end_s = clock + 0.1
    phases = {phase.id: phase for phase in compute(builder.build()).phases}
    assert EVALUATION_LIKE not in phases
    assert phases["evaluate"].where[0].function == "wobble"


@pytest.mark.parametrize(("below", "is_told"), [(MODEL, True), ((), False)])
def test_what_shares_nothing_with_training_and_tells_nobody_is_no_check(
    below: tuple[FrameLike, ...], *, is_told: bool
) -> None:
    """A preconditioner that is worked out anew every tenth step, say."""
    stack = (MAIN, ("wobble", "/job/go.py", 60), *below)
    results = record(set(range(5, 200, 10)), stack=stack)
    assert (EVALUATION_LIKE in {phase.id for phase in results.phases}) is is_told


def test_functions_that_run_outside_steps_alone_have_no_rhythm() -> None:
    builder = TraceBuilder(1, end_s=30.0)
    rank = builder.rank(0)
    library, prepare = ("send", "/usr/lib/python3.11/socket.py", 3), ("prepare", "train.py", 3)
    for number in range(20):
        rank.step(number, 2.0 + number, 3.0 + number).stack(2.5 + number, [library])
    rank.stack(1.0, [prepare])
    results = compute(builder.build())
    assert results.steps.count == 20
