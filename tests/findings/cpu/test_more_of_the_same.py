"""Steps that get longer because each does more of the same are no fault of the program."""

from collections.abc import Callable

import numpy as np
import pytest

from perfscope.findings.core.finding import Finding
from perfscope.schema.enums import Confidence, Status
from perfscope.trace.loops import values_seen
from perfscope.trace.model import Frame
from tests.findings.analyzed import analyze_trace
from tests.findings.cpu.test_growing_steps import (
    ALSO,
    FIXED,
    GROWING,
    STEPS,
    busier,
    crowded,
    judged,
)
from tests.support.trace_builder import TraceBuilder


def test_steps_that_do_more_and_more_of_the_same_are_no_fault() -> None:
    """As episodes get longer, or sequences: all that a step does takes twice as long at the end."""
    alike = crowded(lambda _: 0.05, busier, waits=False)
    assert alike.status is Status.PASS
    assert "all that they do takes longer alike" in alike.summary
    one = crowded(lambda step: 0.05 + 0.1 * step / STEPS, lambda _: 1.0, waits=False)
    assert one.status is Status.FAIL
    assert one.where == (Frame(*GROWING),)


def test_steps_that_hold_more_and_more_samples_are_no_fault() -> None:
    more = judged(lambda step: 0.002 * step, samples=lambda step: 8 + step)
    assert more.status is Status.PASS
    assert "as the number of samples of data in a step does" in more.summary
    few = judged(lambda step: 0.002 * step, samples=lambda step: 80 + step // 8)
    assert few.status is Status.FAIL


def shifted(fixed: float, growing: float, *, apart_s: float, is_even: bool = False) -> Finding:
    """One process whose steps, from the 20th on, take so many times as long in each of two lines.

    Or they get there evenly, at the last one. It calls nothing that tells what a step does, and is
    looked at every so many seconds.
    """
    builder = TraceBuilder(1, end_s=60.0)
    rank, begin = builder.rank(0), 1.0
    for step in range(STEPS):
        part = step / STEPS if is_even else float(step >= 20)
        times = [1.0 + part * (most - 1.0) for most in (fixed, growing)]
        half, end = begin + 0.05 * times[0], begin + 0.05 * sum(times)
        rank.step(step, begin, end)
        for moment in np.arange(np.ceil(begin / apart_s), end / apart_s) * apart_s:
            rank.stack(moment, (FIXED, FIXED if moment < half else GROWING))
        begin = end
    for tick in range(int(10 * begin)):
        rank.main_sample(tick / 10, cpu_s=tick / 10)
    return analyze_trace(builder.build()).findings["growing_steps"]


@pytest.mark.parametrize(
    ("fixed", "growing", "apart_s", "status"),
    [
        (3.0, 3.0, 0.013, Status.PASS),
        (1.0, 5.0, 0.013, Status.FAIL),
        (3.0, 3.0, 0.83, Status.NOT_MEASURED),
    ],
)
def test_longer_steps_of_a_program_without_calls(
    fixed: float, growing: float, apart_s: float, status: Status
) -> None:
    """Longer episodes make all of a step longer, and slower values one line of it."""
    found = shifted(fixed, growing, apart_s=apart_s)
    assert found.status is status
    assert "from step 20 on" in f"{found.title} {found.summary}".lower()
    assert (found.where == (Frame(*GROWING),)) == (status is Status.FAIL)


def test_steps_that_grow_evenly_and_are_seldom_looked_at_are_not_judged() -> None:
    found = shifted(3.0, 3.0, apart_s=0.83, is_even=True)
    assert found.status is Status.NOT_MEASURED
    assert "Too few stack samples tell whether a step does" in found.summary
    assert shifted(1.0, 9.0, apart_s=0.013, is_even=True).status is Status.FAIL


def called(calls: Callable[[int], int], *, looks: int = 1, slower: float = 0.0) -> Finding:
    """Two ranks that make so many calls in a step, of 10 ms each with the work before it.

    Each step is looked at so often, which is too rare to tell what takes it.
    """
    builder = TraceBuilder(2, end_s=100.0)
    for number in range(2):
        rank, begin, sent = builder.rank(number).init(1.0), 1.0, 0
        for step in range(STEPS):
            end = begin + 0.02 + 0.01 * calls(step) + 0.004 * step * (calls(STEPS) == calls(0))
            end += slower * step / STEPS * calls(step)
            for call in range(calls(step)):
                at = end - 0.01 * (calls(step) - call)
                rank.op("MPI_Allreduce", at + 0.008, at + 0.01, comm=0, seq=sent)
                sent += 1
            rank.step(step, begin, end)
            for look in range(looks):
                rank.stack(begin + (end - begin) * (look + 0.5) / (looks + 1), (FIXED,))
            begin = end
        rank.finalize(begin + 0.5)
        for tick in range(int(10 * begin)):
            rank.main_sample(tick / 10, cpu_s=tick / 10)
    return analyze_trace(builder.build()).findings["growing_steps"]


def test_steps_that_make_more_and_more_calls_are_no_fault() -> None:
    """As a solver that needs more iterations: what each takes has not grown."""
    more = called(lambda step: 5 + step // 4)
    assert more.status is Status.PASS
    assert "as the number of calls that communicate in a step does" in more.summary
    assert more.confidence is Confidence.HIGH
    assert called(lambda _: 5).status is Status.FAIL


def test_calls_that_explain_only_part_of_the_growth_do_not_settle_it() -> None:
    """Twice as many calls, of which each takes longer: what they leave open is said."""
    part = called(lambda step: 5 + step // 10, slower=0.01)
    assert part.status is Status.PASS
    assert part.confidence is Confidence.LOW
    assert "That is not all of it" in part.summary


def counted(most: Callable[[int], int]) -> Finding:
    """A process without calls that is seldom looked at, in a loop that counts.

    The last turn of each step has so high a number; steps get longer and longer.
    """
    builder = TraceBuilder(1, end_s=100.0)
    rank, begin, at, values = builder.rank(0), 1.0, [], []
    for step in range(STEPS):
        end = begin + 0.05 + 0.004 * step
        rank.step(step, begin, end)
        for moment in np.arange(np.ceil(begin / 0.83), end / 0.83) * 0.83:
            rank.stack(moment, (FIXED,))
        for part in (0.3, 0.9):
            at.append(round(1e9 * (begin + part * (end - begin))))
            values.append(int(part * most(step)))
        begin = end
    for tick in range(int(10 * begin)):
        rank.main_sample(tick / 10, cpu_s=tick / 10)
    place = "\x1f".join(map(str, FIXED))
    loop = {"place": place, "lines": [4, 9], "at_ns": at, "values": values}
    metadata = {"loop_turns": [loop]}
    rank.set(metadata=metadata, loop_turns=values_seen(metadata, 0))
    return analyze_trace(builder.build()).findings["growing_steps"]


def test_a_loop_inside_the_steps_that_turns_more_often_is_told() -> None:
    longer = counted(lambda step: 10 + step)
    assert longer.status is Status.PASS
    assert "The loop in lines 4 to 9 of step() turns more often" in longer.summary
    level = counted(lambda _: 40)
    assert level.status is Status.NOT_MEASURED
    assert "turns more often" not in level.summary


def seldom(rest: int, *, least: int = 1) -> Finding:
    """One process that waits for CPUs: a function grows, beside so many looks at other work.

    These are in the first and in the last quarter of the steps alike, and so is the function's
    least number of looks.
    """
    builder = TraceBuilder(1, end_s=100.0)
    rank, begin = builder.rank(0).set(cpu_count_allowed=2, cpus_allowed="0-1"), 1.0
    for step in range(STEPS):
        end = begin + 0.1 + 0.01 * step
        rank.step(step, begin, end)
        grown = least + step // 8
        looks = [(FIXED, GROWING)] * grown
        if rest >= 20 or step % (STEPS // rest) == 0:
            looks += [(FIXED, ALSO)] * max(1, rest // 20)
        for place, stack in enumerate(looks):
            rank.stack(begin + (end - begin) * (place + 0.5) / len(looks), stack)
        begin = end
    for tick in range(int(10 * begin)):
        at = tick / 10
        rank.main_sample(at, cpu_s=at / 2, queue_delay_s=at / 2)
        rank.process_sample(at, cpu_s=at / 2, queue_delay_s=at / 2, runnable=6)
    return analyze_trace(builder.build()).findings["growing_steps"]


def test_one_function_grows_beyond_others_only_where_these_were_seen() -> None:
    assert seldom(40).status.is_fault
    assert seldom(4).status is Status.NOT_MEASURED
