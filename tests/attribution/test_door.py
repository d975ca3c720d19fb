"""What is seen of a call just before it is entered: its own beginning, or work in its own right."""

import pytest

from perfscope.attribution.preparation import CALL, with_bare_stacks
from perfscope.attribution.stack_rules import BUILT_IN
from tests.support.trace_builder import FrameLike, TraceBuilder

MAIN = ("<module>", "/home/user/train.py", 3)
SENDS = (MAIN, ("mpi4py.MPI.Comm.send", BUILT_IN, 0))
REDUCES = (MAIN, ("mpi4py.MPI.Comm.Allreduce", BUILT_IN, 0))
READS = (MAIN, ("load", "/home/user/train.py", 9), ("pickle.load", BUILT_IN, 0))


def seen_as_calls(gap_s: float, samples: dict[float, tuple[FrameLike, ...]]) -> list[bool]:
    """Of samples, by their seconds before a call that ends a gap, which only show that call."""
    begin = 1.0
    builder = TraceBuilder(1, end_s=2.0 + gap_s)
    rank = builder.rank(0)
    rank.op("MPI_Barrier", 0.5, begin)
    rank.op("MPI_Send", begin + gap_s, begin + gap_s + 0.1)
    for before_s, stack in sorted(samples.items(), reverse=True):
        rank.stack(begin + gap_s - before_s, stack)
    trace, _ = with_bare_stacks(builder.build())
    leaves = [trace.frames[trace.stacks[stack][-1]] for stack in trace.ranks[0].stacks["stack"]]
    return [leaf == CALL for leaf in leaves]


@pytest.mark.parametrize("stack", [SENDS, REDUCES])
def test_a_call_seen_alone_at_the_end_of_other_work_is_not_that_work(
    stack: tuple[FrameLike, ...],
) -> None:
    assert seen_as_calls(0.02, {0.0002: stack}) == [True]


def test_what_converts_for_longer_is_seen_where_it_does() -> None:
    assert seen_as_calls(0.02, {0.01: SENDS, 0.0002: SENDS}) == [False, False]
    assert seen_as_calls(0.02, {0.01: READS, 0.0002: SENDS}) == [False, True]


def test_all_that_is_between_two_calls_may_be_the_conversion() -> None:
    assert seen_as_calls(0.0004, {0.0002: SENDS}) == [False]
    assert seen_as_calls(0.0004, {0.0002: REDUCES}) == [True]


def test_inside_a_call_nothing_is_seen_but_the_call() -> None:
    assert seen_as_calls(0.02, {-0.05: SENDS}) == [True]


def test_work_around_a_call_is_what_was_seen_next_to_it_only_where_that_computes() -> None:
    """What else is called, as sleep, was seen at its own moment and is no work elsewhere."""
    multiplies = (MAIN, ("numpy.ndarray.operator", BUILT_IN, 0))
    sleeps = (MAIN, ("time.sleep", BUILT_IN, 0))
    builder = TraceBuilder(1, end_s=3.0)
    builder.rank(0).stack(1.0, multiplies).stack(2.0, sleeps)
    trace, around = with_bare_stacks(builder.build())
    stacks = trace.ranks[0].stacks["stack"]
    leaves = [trace.frames[trace.stacks[around[stack]][-1]].function for stack in stacks]
    assert leaves == ["numpy.ndarray.operator", CALL.function]
