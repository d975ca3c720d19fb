"""What only the first steps do is a note; what stays, comes back or slows a rank down is not."""

from collections.abc import Callable

import pytest

from perfscope.attribution.stack_rules import BUILT_IN
from perfscope.metrics.results import Options
from perfscope.schema.enums import PhaseKind, Status
from perfscope.trace.model import Trace
from perfscope.units import format_seconds
from tests.findings.analyzed import analyze_trace, faults
from tests.support.trace_builder import FrameLike, TraceBuilder

STEPS = 80
WORK_S, MORE_S, MEETING_S = 0.1, 0.1, 0.001
MAIN = ("main", "/job/train.py", 40)
FILLING = ("fill", "/job/train.py", 12)
SLEEP: FrameLike = ("time.sleep", BUILT_IN, 0)
DECODE: FrameLike = ("PIL._imaging.decode", BUILT_IN, 0)
IN_STEP = ("backward", "/job/train.py", 77)


def run(
    has_more: Callable[[int], bool],
    *,
    ranks: tuple[int, ...] = (0, 1),
    doing: FrameLike = DECODE,
    is_input: bool = False,
    is_same_work: bool = False,
    epochs: int = 0,
) -> Trace:
    """Two ranks with equal work, and in some steps some of them do more before it; others wait.

    `is_input` marks that as waiting for a batch; `is_same_work` makes it no work of its own: what
    all steps do takes twice as long there. `epochs`: as many of one length are told.
    """
    most = sum(MORE_S for step in range(STEPS) if has_more(step))
    builder = TraceBuilder(2, end_s=3.0 + (WORK_S + MEETING_S) * STEPS + most)
    both = [builder.rank(number).init(1.0) for number in (0, 1)]
    begin = 1.0
    for step in range(STEPS):
        more_s = MORE_S if has_more(step) else 0.0
        end = begin + WORK_S + more_s + MEETING_S
        for number, rank in enumerate(both):
            own_s = more_s if number in ranks else 0.0
            frames = [MAIN, IN_STEP, ("numpy.dot", BUILT_IN, 0)]
            if is_input and own_s:
                rank.phase(PhaseKind.INPUT, begin, begin + own_s, step=step)
            for part in range(round(100 * own_s)):
                doing_more = frames if is_same_work else [MAIN, FILLING, doing]
                rank.stack(begin + 0.01 * part + 0.005, doing_more)
            for part in range(10):
                rank.stack(begin + own_s + 0.01 * part + 0.005, frames)
            rank.op("MPI_Allreduce", begin + own_s + WORK_S, end, seq=step)
            rank.step(step, begin, end, **({"epoch": step * epochs // STEPS} if epochs else {}))
            rank.process_sample(end, cpu_s=end, runnable=1)
        begin = end
    for rank in both:
        rank.finalize(begin)
    return builder.build()


def until(last: int) -> Callable[[int], bool]:
    return lambda step: step < last


KINDS = {
    "input": ("data_stall", (0, 1), DECODE, True),
    "sleep": ("lost_to_sleep", (0, 1), SLEEP, False),
    "preparation": ("lost_to_data_preparation", (0, 1), DECODE, False),
    "input of a rank": ("data_stall", (1,), DECODE, True),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("last", [5, STEPS // 10])
def test_what_the_first_steps_do_alone_is_a_note_whatever_it_is(kind: str, last: int) -> None:
    name, ranks, doing, is_input = KINDS[kind]
    analyzed = analyze_trace(run(until(last), ranks=ranks, doing=doing, is_input=is_input))
    assert not faults(analyzed.findings)
    told = analyzed.findings[name]
    assert told.status is Status.INFO
    assert told.gain_s == pytest.approx(MORE_S * last, rel=0.05)
    assert told.title.endswith(f", only in the first {last} of {STEPS} steps")
    saved_s = told.evidence[-2].value
    assert isinstance(saved_s, float)
    assert f"Without it this run would be {format_seconds(saved_s)} " in told.summary
    saved, left = (row.value for row in told.evidence[-2:])
    assert saved == pytest.approx(MORE_S * last, rel=0.05)
    assert left == pytest.approx(0.0, abs=0.01)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "has_more",
    {
        "all steps": lambda _: True,
        "as in pretraining": until(12),
        "half of them": until(STEPS // 2),
        "most steps": until(STEPS * 3 // 4),
        "not the first": lambda step: 30 <= step < 50,
        "comes back": lambda step: step < 8 or step >= STEPS - 12,
        "each epoch": lambda step: step % 20 < 5,
    }.values(),
)
def test_what_stays_or_comes_back_is_a_fault(kind: str, has_more: Callable[[int], bool]) -> None:
    """An epoch that is the whole run is no first one."""
    _, ranks, doing, is_input = KINDS[kind]
    analyzed = analyze_trace(run(has_more, ranks=ranks, doing=doing, is_input=is_input))
    assert faults(analyzed.findings)
    assert not any("only in the first" in one.title for one in analyzed.findings.values())


@pytest.mark.parametrize("first", [0, 30])
def test_a_rank_that_is_slower_for_a_time_stays_a_fault(first: int) -> None:
    """Also at the beginning: what all steps do takes longer there, and may do so again."""
    trace = run(lambda step: first <= step < first + 30, ranks=(1,), is_same_work=True)
    analyzed = analyze_trace(trace)
    assert faults(analyzed.findings)
    assert not any("only in the first" in one.title for one in analyzed.findings.values())


def test_of_a_part_of_the_run_nobody_knows_what_came_before() -> None:
    """Steps 0 to 7 do it, of which those from step 2 on are looked at."""
    whole = run(until(8), is_input=True)
    part = analyze_trace(whole, Options(focus="step:2-79")).findings["data_stall"]
    assert "only in the first 8" in analyze_trace(whole).findings["data_stall"].title
    assert part.gain_s == pytest.approx(6 * MORE_S, rel=0.05)
    assert "only in the first" not in part.title


@pytest.mark.parametrize(
    ("last", "epochs", "is_note"),
    [(20, 4, True), (20, 0, False), (20, 2, False), (40, 4, False), (20, 8, False)],
    ids=["the first of four", "not told", "of two", "the first two of four", "two of eight"],
)
def test_what_the_first_of_several_epochs_does_alone_is_a_note(
    last: int, epochs: int, *, is_note: bool
) -> None:
    """A fourth of all steps is too many of the first ones, but where an epoch ends with them."""
    analyzed = analyze_trace(run(until(last), epochs=epochs))
    told = analyzed.findings["lost_to_data_preparation"]
    assert (told.status is Status.INFO) is is_note
    assert told.title.endswith(f", only in the first {last} of {STEPS} steps") is is_note
