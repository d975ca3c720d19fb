"""Findings on CPUs that other processes use as well, in closed form."""

import re
from dataclasses import replace

import pytest

from perfscope.document.others import NOT_COUNTED, host_gain, wholes_beside
from perfscope.document.splits import LOADED, bridged
from perfscope.document.verdict import verdict
from perfscope.findings.core.finding import Finding
from perfscope.findings.facts.cpu_waits import without_cpu_waits
from perfscope.findings.facts.facts import Facts
from perfscope.findings.facts.outside_load import MOSTLY, SAME, OutsideLoad
from perfscope.metrics.compute import compute
from perfscope.replay.model import Edit
from perfscope.replay.segments import SegmentReplay
from perfscope.savings import SHARED_HOST
from perfscope.schema.enums import Account, Activity, PhaseKind, Status
from perfscope.trace.model import Trace
from perfscope.units import format_seconds
from tests.findings.analyzed import analyze_trace
from tests.support.trace_builder import RankBuilder, TraceBuilder

STEPS = 60
LOOPS = ("count_words", "/home/me/train.py", 30)
SOLVER = ("solve", "/home/me/train.py", 50)
SOLVES = ("numpy.linalg.solve", "<built-in>", 0)


def built(
    *,
    waited: float,
    loop_s: float,
    exchange_s: float = 0.01,
    sleeps: bool = False,
    steps: int = STEPS,
) -> Trace:
    """Two ranks: Python code or sleep, a solver, an exchange; no CPU for a share of all time."""
    step_s = loop_s + 0.1 + exchange_s
    builder = TraceBuilder(2, end_s=2.0 + steps * step_s)
    for number in range(2):
        rank = builder.rank(number).init(1.0).finalize(1.5 + steps * step_s)
        rank.set(cpu_count_allowed=1, cpus_allowed=str(number))
        for step in range(steps):
            begin = 1.0 + step * step_s
            end = begin + step_s
            rank.step(step, begin, end)
            rank.op("MPI_Allreduce", end - exchange_s, end, comm=0, seq=step, sent=8)
            for place in range(10):
                rank.stack(begin + loop_s * place / 10, (LOOPS, SLEEPS) if sleeps else (LOOPS,))
                rank.stack(begin + loop_s + 0.1 * place / 10, (SOLVER, SOLVES))
        for tick in range(int(10 * (2.0 + steps * step_s))):
            at = tick / 10
            rank.main_sample(at, cpu_s=at * (1 - waited), queue_delay_s=at * waited)
            rank.process_sample(at, cpu_s=at * (1 - waited), queue_delay_s=at * waited)
            rank.cpu_sample(at, busy_s=at, used_s=at * (1 - waited), cpus=1)
    return builder.build()


SLEEPS = ("time.sleep", "<built-in>", 0)


def findings(*, waited: float, loop_s: float = 0.1, exchange_s: float = 0.01) -> dict[str, Finding]:
    trace = built(waited=waited, loop_s=loop_s, exchange_s=exchange_s)
    return analyze_trace(trace).findings


def test_a_change_saves_what_it_saves_on_free_cpus() -> None:
    """For half of the loop's 6 s its ranks wait for CPUs, which others have: 3 s are the loop's."""
    alone = findings(waited=0.0)["lost_to_interpreter"]
    assert alone.gain_s == pytest.approx(0.1 * STEPS, rel=0.05)
    assert alone.gain is not None
    assert (alone.gain.under_load_s, alone.gain.counts) == (None, "")
    busy = analyze_trace(built(waited=0.5, loop_s=0.1))
    assert busy.findings["busy_host"].status is Status.INFO
    loud = busy.findings["lost_to_interpreter"]
    assert loud.gain is not None
    assert loud.gain.seconds == pytest.approx(0.5 * 0.1 * STEPS, rel=0.05)
    assert loud.gain.under_load_s == pytest.approx(0.1 * STEPS, rel=0.05)
    facts = Facts(busy.results, busy.replay)
    of = wholes_beside(busy.results, host_gain(facts))
    loud = bridged(replace(loud, title="It takes 5.70 s per rank"), busy.results, of)
    assert loud.gain is not None
    told = verdict(facts, (loud,), ()).sentence
    here, idle = format_seconds(loud.gain.under_load_s), format_seconds(loud.gain.seconds)
    run = format_seconds(busy.results.run_s)
    # one length alone, that of the run as its rows have it, of which the load is no saving
    assert told.startswith(f"It takes long. The fix would save about {idle} of the {run} run (")
    ends = r" %\), likely between [\d.]+ s and [\d.]+ s\. "
    assert re.search(f"{ends}Processes outside the job ", told)
    assert " longer, as a rank without a CPU holds up the others. " in told
    assert told.endswith(f" {NOT_COUNTED}")
    assert {LOADED: f"about {here}, "}.items() <= {
        one.label: str(one.value)[: len(f"about {here}, ")] for one in loud.evidence
    }.items()
    assert loud.status is Status.FAIL


def test_no_interval_is_told_where_others_use_the_cpus() -> None:
    """Steps of one run do not tell what the next one meets: its saving is told with and without."""
    alone, found = (
        analyze_trace(built(waited=waited, loop_s=0.1, sleeps=True)).findings
        for waited in (0.0, 0.5)
    )
    sure, unsure = alone["lost_to_sleep"], found["lost_to_sleep"]
    assert sure.gain_interval_s is not None
    assert SHARED_HOST not in sure.assumptions
    assert unsure.gain_interval_s is None
    assert unsure.assumptions[-1] == SHARED_HOST
    assert unsure.gain is not None
    assert unsure.gain.counts == SAME
    assert unsure.gain_s == pytest.approx(sure.gain_s)
    busy = findings(waited=0.5)["lost_to_interpreter"]
    assert busy.gain is not None
    assert busy.gain.under_load_s == pytest.approx(5.70, abs=0.005)
    assert busy.gain.seconds < 5.0
    assert not [one.id for one in found.values() if one.gain_interval_s is not None]


def test_what_waits_for_cpus_is_no_transfer() -> None:
    """Two ends that have a CPU for a tenth of the time each move data in a hundredth of it."""
    few = {"loop_s": 0.001, "exchange_s": 0.03}
    loud = findings(waited=0.0, **few)
    assert any(loud[one].status.is_fault for one in ("small_allreduces", "network_bound"))
    found = findings(waited=0.9, **few)
    assert found["busy_host"].status is Status.INFO
    assert not [one.id for one in found.values() if one.status.is_fault]
    assert [one.id for one in found.values() if MOSTLY in one.summary and one.gain is None]


@pytest.mark.parametrize("steps", [30, STEPS])
def test_of_few_calls_alike_chance_alone_tells_what_is_left(steps: int) -> None:
    """Two ends that have a CPU for 0.4 of the time move data in 0.16 of it, in however many steps.

    All calls take as long: the fastest ones tell nothing else.
    """
    results = compute(built(waited=0.6, loop_s=0.1, exchange_s=0.1, steps=steps))
    gain = without_cpu_waits(results, SegmentReplay(results), is_of_others=True)
    assert gain is not None
    (network,) = [one.network for one in gain.edits if one.network != 1.0]
    assert network == pytest.approx(1.0 / 0.4**2, rel=0.02)


def test_cpu_time_is_a_larger_share_of_less_work() -> None:
    load = OutsideLoad((Edit(ranks=(0,), factor=0.5),), {0: 0.5}, 1.0)
    faults, loop = (
        Edit(ranks=(0,), factor=0.8, is_cpu_time=True),
        Edit(activity=Activity.INTERPRETER),
    )
    less, same = load.on_free_cpus((faults, loop))
    assert less.factor == pytest.approx(0.6)
    assert same == loop


def test_each_rank_waits_for_cpus_for_a_share_of_its_own() -> None:
    """CPU time of two ranks is a larger share of the work of the one that waits longer."""
    load = OutsideLoad((Edit(ranks=(0,), factor=0.5),), {0: 0.5, 1: 0.2}, 1.0)
    for ranks in (None, (0, 1)):
        found = load.on_free_cpus([Edit(ranks=ranks, factor=0.8, is_cpu_time=True)])
        assert [one.ranks for one in found] == [(0,), (1,)]
        assert [one.factor for one in found] == pytest.approx([0.6, 0.75])


def test_waiting_for_a_lock_is_no_cpu_time() -> None:
    """A rank that waits for a lock waits as much shorter as all else becomes."""
    load = OutsideLoad((Edit(ranks=(0,), factor=0.5),), {0: 0.5}, 1.0)
    locked = Edit(ranks=(0,), factor=0.8)
    assert load.on_free_cpus([locked]) == (locked,)


def test_one_rank_alone() -> None:
    """Of a job of one rank, half of whose time others have its CPU, a loop costs the half."""
    builder = TraceBuilder(1, end_s=14.0)
    rank = builder.rank(0).set(cpu_count_allowed=1, cpus_allowed="0")
    for _step, begin in rank.steps(STEPS, 0.2):
        for place in range(10):
            rank.stack(begin + 0.01 * place, (LOOPS,))
            rank.stack(begin + 0.1 + 0.01 * place, (SOLVER, SOLVES))
    for tick in range(141):
        at = tick / 10
        rank.main_sample(at, cpu_s=at / 2, queue_delay_s=at / 2)
        rank.process_sample(at, cpu_s=at / 2, queue_delay_s=at / 2)
        rank.cpu_sample(at, busy_s=at, used_s=at / 2, cpus=1)
    found = analyze_trace(builder.build()).findings
    assert found["busy_host"].status is Status.INFO
    loud = found["lost_to_interpreter"]
    assert loud.gain is not None
    assert loud.gain.under_load_s == pytest.approx(0.1 * STEPS, rel=0.05)
    assert loud.gain.seconds == pytest.approx(0.5 * 0.1 * STEPS, rel=0.05)


@pytest.mark.parametrize("pool", [False, True])
def test_an_account_is_held_up_by_what_was_waited_in_it(pool: bool) -> None:
    """Half of an evaluation a rank, or its pool while it sleeps, has no CPU, and never else."""
    builder, counter = TraceBuilder(1, end_s=41.0), 0.0
    rank = builder.rank(0).set(cpu_count_allowed=1, cpus_allowed="0")
    for step in range(20):
        rank.step(step, 2.0 * step, 2.0 * step + 2.0)
        rank.phase(PhaseKind.EVALUATE, 2.0 * step + 1.0, 2.0 * step + 2.0)
    for tick in range(401):
        at = tick / 10
        counter += 0.05 if tick > 0 and (tick - 1) % 20 >= 10 else 0.0
        main = {"cpu_s": 0.0, "queue_delay_s": 0.0 if pool else counter}
        rank.main_sample(at, **(main if pool else {**main, "cpu_s": at - counter}))
        rank.process_sample(at, cpu_s=at - counter, queue_delay_s=counter)
        rank.cpu_sample(at, busy_s=at, used_s=at - counter, cpus=1)
    results = compute(builder.build())
    load = Facts(results, SegmentReplay(results)).on_free_cpus.load
    assert load.share_in is not None
    assert load.share_in(0, Account.EVALUATION) > 3 * load.share_in(0, Account.COMPUTATION)
    assert load.share_in(0, Account.EVALUATION) > 0.2


def test_what_is_told_of_the_host_by_chance_is_a_bound() -> None:
    """Of 30 calls alike nothing but chance tells what moving data takes on CPUs of one's own."""
    told = []
    for steps in (30, STEPS):
        results = compute(built(waited=0.6, loop_s=0.02, exchange_s=0.3, steps=steps))
        gain = without_cpu_waits(results, SegmentReplay(results), is_of_others=True)
        assert gain is not None
        told.append(gain.is_bound)
    assert told == [True, False]


def test_sleep_takes_as_long_on_free_cpus() -> None:
    alone, found = (
        analyze_trace(built(waited=waited, loop_s=0.1, sleeps=True)).findings["lost_to_sleep"]
        for waited in (0.0, 0.5)
    )
    assert found.gain_s == pytest.approx(alone.gain_s)


def test_whatever_asks_is_told_that_sleep_takes_as_long_on_free_cpus() -> None:
    results = compute(built(waited=0.5, loop_s=0.1, sleeps=True))
    run = Facts(results, SegmentReplay(results))
    sleep = (Edit(activity=Activity.SLEEP),)
    here, there = run.replay.predict(sleep), run.on_free_cpus.predict(sleep)
    assert run.on_free_cpus.load.edits
    assert here is not None
    assert there is not None
    assert there.gain_s == pytest.approx(here.gain_s)


EVALUATION_S, EVERY = 1.0, 6


def test_an_account_in_which_no_cpu_is_wanted_takes_as_long_on_free_cpus() -> None:
    """Ranks have a CPU for half of each step; rank 0 alone sleeps in what it calls evaluation."""
    step_s, builder = 0.2, TraceBuilder(2, end_s=3.0 + STEPS * 0.2 + EVALUATION_S * STEPS / EVERY)
    for number in range(2):
        rank, now, cpu_s, waited_s = builder.rank(number).init(1.0), 1.0, 0.0, 0.0
        rank.set(cpu_count_allowed=1, cpus_allowed=str(number))

        def look(rank: RankBuilder, at: float, cpu_s: float, waited_s: float) -> None:
            rank.main_sample(at, cpu_s=cpu_s, queue_delay_s=waited_s)
            rank.process_sample(at, cpu_s=cpu_s, queue_delay_s=waited_s)
            rank.cpu_sample(at, busy_s=cpu_s + waited_s, used_s=cpu_s, cpus=1)

        for step in range(STEPS):
            look(rank, now, cpu_s, waited_s)
            late_s = EVALUATION_S if step % EVERY == EVERY - 1 else 0.0
            rank.step(step, now, now + step_s + late_s)
            worked, end = now + step_s - 0.01, now + step_s + late_s
            cpu_s, waited_s = cpu_s + step_s / 2, waited_s + step_s / 2
            look(rank, worked, cpu_s, waited_s)
            if late_s and number == 0:
                rank.phase(PhaseKind.EVALUATE, worked, worked + late_s)
                look(rank, worked + late_s, cpu_s, waited_s)
            begin = worked + late_s * (number == 0)
            rank.op("MPI_Allreduce", begin, end, comm=0, seq=step, sent=8)
            now = end
        look(rank, now, cpu_s, waited_s)
        rank.finalize(now + 0.5)
    found = analyze_trace(builder.build()).findings
    assert found["busy_host"].status is Status.INFO
    alone = found["rank_zero_evaluation"]
    assert alone.gain_s == pytest.approx(EVALUATION_S * STEPS / EVERY, rel=0.05)


def test_what_a_late_rank_waits_longer_for_cpus_is_taken_off_once() -> None:
    """Rank 0 has 100 ms more to do in each step, and both ranks lack a CPU half of their work.

    On CPUs of their own the step takes 110 ms in place of 210 ms, and 60 ms without that: what
    rank 0 waits longer for a CPU, 50 ms, is neither saved nor counted twice.
    """
    step_s, loop_s, rest_s = 0.21, 0.1, 0.1
    builder = TraceBuilder(2, end_s=2.0 + STEPS * step_s)
    for number in range(2):
        rank = builder.rank(number).init(1.0).finalize(1.5 + STEPS * step_s)
        rank.set(cpu_count_allowed=1, cpus_allowed=str(number))
        own_s = rest_s + (0.0 if number else loop_s)
        for step in range(STEPS):
            begin = 1.0 + step * step_s
            end = begin + step_s
            rank.step(step, begin, end)
            rank.op("MPI_Allreduce", begin + own_s, end, comm=0, seq=step, sent=8)
            for place in range(10):
                rank.stack(begin + rest_s * place / 10, (SOLVER, SOLVES))
                if not number:
                    rank.stack(begin + rest_s + loop_s * place / 10, (LOOPS, SOLVES))
            for tick in range(3):
                at = begin + step_s * tick / 3
                worked_s = step * own_s + min(own_s, at - begin)
                rank.main_sample(at, cpu_s=worked_s / 2, queue_delay_s=worked_s / 2)
                rank.process_sample(at, cpu_s=worked_s / 2, queue_delay_s=worked_s / 2)
                rank.cpu_sample(at, busy_s=at, used_s=worked_s / 2, cpus=1)
    found = analyze_trace(builder.build()).findings
    late = next(one for name in ("straggler", "load_imbalance") if (one := found[name]).gain)
    assert late.gain is not None
    assert late.gain.is_on_equal_cpus
    whole_s = 0.5 * loop_s * STEPS
    saved_s = whole_s if late.id == "straggler" else whole_s / 2
    assert late.gain.seconds == pytest.approx(saved_s, rel=0.1)
