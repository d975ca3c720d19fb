"""How long a run lasts on an idle host: between which ends, of runs whose answer is known."""

import pytest

from perfscope.document.verdict import verdict
from perfscope.findings.facts.facts import Facts
from perfscope.schema.run import Verdict
from perfscope.trace.model import Trace
from scripts.schema_pages import described
from tests.findings.analyzed import analyze_trace
from tests.findings.facts.test_outside_load import STEPS, built
from tests.support.trace_builder import TraceBuilder


def facts(trace: Trace) -> Facts:
    found = analyze_trace(trace)
    return Facts(found.results, found.replay)


@pytest.mark.parametrize("waited", [0.2, 0.5, 0.7])
@pytest.mark.parametrize("exchange_s", [0.01, 0.1])
def test_the_run_lies_between_both_ends(waited: float, exchange_s: float) -> None:
    """Its ranks have no CPU for a share of all time: work is shorter by that, transfer by more."""
    run = facts(built(waited=waited, loop_s=0.1, exchange_s=exchange_s))
    found = run.idle_run
    assert found is not None
    free = 1.0 - waited
    work_s, moved_s = STEPS * 0.2, STEPS * exchange_s
    around_s = 2.0
    longest_s = around_s + free * (work_s + moved_s)
    assert found.high_s == pytest.approx(longest_s, rel=0.1)
    assert found.low_s < around_s * free + free * work_s + moved_s * free**2 + 0.5
    assert found.low_s < found.high_s < run.results.run_s
    told = verdict(run, (), ())
    assert (told.idle_low_s, told.idle_high_s) == (found.low_s, found.high_s)
    assert told.others_s is not None
    assert found.low_s <= run.results.run_s - told.others_s <= found.high_s


def test_steps_that_took_less_cpu_time_tell_what_other_work_slows_down() -> None:
    """In the second half each step ran for a fifth longer, as where others take the caches."""
    trace = built(waited=0.5, loop_s=0.1)
    usual = facts(trace).idle_run
    for rank in trace.ranks:
        rows = rank.main_samples
        half = len(rows) // 2
        rows["cpu_ns"][half:] += (rows["cpu_ns"][half:] - rows["cpu_ns"][half]) // 5
    found = facts(trace).idle_run
    assert usual is not None
    assert found is not None
    assert found.low_s < 0.95 * usual.low_s


def test_both_ends_are_described_and_the_low_one_as_a_bound() -> None:
    _, said = described(Verdict)
    assert "at least" in said["idle_low_s"]
    assert "a program whose own steps differ takes far more" in said["idle_low_s"]
    assert "at most" in said["idle_high_s"]


def test_a_quiet_host_has_no_ends() -> None:
    told = verdict(facts(built(waited=0.0, loop_s=0.1)), (), ())
    assert (told.others_s, told.idle_low_s, told.idle_high_s) == (None, None, None)


def by_turns(steps: int = STEPS) -> Trace:
    """In each step one of two ranks is without a CPU for half of its 0.2 s, by turns."""
    step_s, tick_s = 0.21, 0.01
    builder = TraceBuilder(2, end_s=2.0 + steps * step_s)
    for number in range(2):
        rank = builder.rank(number).init(1.0).finalize(1.5 + steps * step_s)
        rank.set(cpu_count_allowed=2, cpus_allowed="0-1")
        held = [step % 2 == number for step in range(steps)]
        for step in range(steps):
            begin = 1.0 + step * step_s
            rank.step(step, begin, begin + step_s)
            worked = begin + (0.2 if held[step] else 0.1)
            rank.op("MPI_Allreduce", worked, begin + step_s, comm=0, seq=step, sent=8)
            rank.stack(begin, (("work", "/home/me/train.py", 3),))
        queued_s = 0.0
        for tick in range(int((2.0 + steps * step_s) / tick_s)):
            at = tick * tick_s
            place, inside = divmod(at - tick_s / 2 - 1.0, step_s)
            is_held = 0 <= place < steps and held[int(place)] and inside < 0.2
            queued_s += tick_s / 2 if is_held else 0.0
            rank.main_sample(at, cpu_s=at - queued_s, queue_delay_s=queued_s)
            rank.process_sample(at, cpu_s=at - queued_s, queue_delay_s=queued_s)
            rank.cpu_sample(at, busy_s=2 * at, used_s=at - queued_s, cpus=2)
    return builder.build()


def test_what_makes_now_one_rank_late_and_now_another_is_gone_there() -> None:
    """Without what others took, each step is over after 0.1 s of work on both ranks."""
    run = facts(by_turns())
    gain = run.other_processes_gain
    assert gain is not None
    assert gain.seconds == pytest.approx(0.1 * STEPS, rel=0.05)
    found = run.idle_run
    assert found is not None
    assert found.low_s <= run.results.run_s - gain.seconds <= found.high_s
