"""Steps that grow over the run, in closed form, and steps that differ for other reasons."""

from collections.abc import Callable
from math import inf

import numpy as np
import pytest

from perfscope.findings.core.finding import Finding
from perfscope.findings.facts.moving_load import moved_between
from perfscope.findings.facts.step_growth import growth_of, rises_evenly
from perfscope.schema.enums import Status
from perfscope.trace.model import Frame
from perfscope.units import format_seconds
from tests.findings.analyzed import analyze, analyze_trace
from tests.findings.training_runs import Plan
from tests.support.trace_builder import TraceBuilder

STEPS = 80
MOVES = "transient_imbalance"
RARELY, FREE = 26, 0.5  # of what is lost, what is no load of others on the host
NOISE = np.random.default_rng(3).uniform(-0.002, 0.002, STEPS)
FIXED = ("step", "/home/me/train.py", 5)
GROWING = ("summarize", "/home/me/train.py", 30)
ALSO = ("compare", "/home/me/train.py", 50)


def judged(
    extra: Callable[[int], float],
    *,
    is_seen: bool = False,
    waits: bool = False,
    samples: Callable[[int], int] = lambda _: 0,
    longer_on: tuple[int, ...] = (0, 1),
    calls: tuple[tuple[str, str, int], ...] = (),
    elements: tuple[int, ...] = (),
    looked_at: tuple[str, str, int] = GROWING,
    grows: tuple[tuple[str, str, int], ...] = (FIXED, GROWING),
) -> Finding:
    """Two ranks with steps of 0.1 s and what is given, and chance.

    What takes it is seen in all steps, or in those alone in which it does; or it is waiting for a
    CPU. It may call something, and take so many elements at least and at most, or other lines
    may. Ranks that do not work longer wait for those that do.
    """
    spent = [extra(step) for step in range(STEPS)]
    lengths = [0.1 + NOISE[step] + spent[step] for step in range(STEPS)]
    builder = TraceBuilder(2, end_s=3.0 + sum(lengths))
    for number in range(2):
        rank = builder.rank(number).init(1.0).finalize(1.5 + sum(lengths))
        begin = 1.0
        for step, length in enumerate(lengths):
            end = begin + length
            rank.step(step, begin, end, samples=samples(step))
            waited_s = 0.0 if number in longer_on else spent[step]
            rank.op("MPI_Allreduce", end - 0.01 - waited_s, end, comm=0, seq=step)
            rank.stack(begin + 0.02, (FIXED,))
            if not waited_s and (spent[step] > 0.01 or is_seen):
                rank.stack(end - 0.02, (*grows, *calls))
            begin = end
        if elements:
            one = {"name": "values", "looks": 9, "elements": list(elements)}
            site = {"place": "\x1f".join(map(str, looked_at)), "looks": 9, "operands": [one]}
            rank.set(metadata={"operands": {"sites": [site]}})
        ends = 1.0 + np.cumsum(lengths)
        for tick in range(int(10 * (sum(lengths) + 2.0))):
            now = tick / 10
            queued = float(np.interp(now, ends, np.cumsum(spent))) if waits else 0.0
            rank.main_sample(now, cpu_s=now - queued, queue_delay_s=queued)
            rank.process_sample(now, cpu_s=now - queued, queue_delay_s=queued)
    return analyze_trace(builder.build()).findings["growing_steps"]


def test_what_grows_with_every_step() -> None:
    """Step k takes k milliseconds more than the first one, 40 ms on average."""
    finding = judged(lambda step: 0.001 * step)
    assert finding.status is Status.FAIL
    assert finding.gain_s == pytest.approx(0.040 * STEPS, rel=0.1)
    assert [(one.function, one.file) for one in finding.where] == [GROWING[:2]]
    assert finding.where == (Frame(*GROWING),)
    assert "summarize()" in finding.title
    assert "on rank" not in finding.title


@pytest.mark.parametrize("rank", [0, 1])
def test_where_steps_grow_on_one_rank_it_is_named(rank: int) -> None:
    finding = judged(lambda step: 0.001 * step, longer_on=(rank,))
    assert finding.title.endswith(f"quarter of the run, mainly in summarize() on rank {rank}")
    assert finding.ranks == (rank,)


@pytest.mark.parametrize(
    ("elements", "is_kept"), [((), False), ((500, 500), False), ((50, 500), True)]
)
def test_what_a_library_takes_longer_for_need_not_be_more(
    elements: tuple[int, ...], *, is_kept: bool
) -> None:
    """As where momentum decays to subnormal values: nothing is kept of all steps."""
    product = ("numpy.multiply", "<built-in>", 0)
    finding = judged(lambda step: 0.002 * step, calls=(product,), elements=elements)
    assert finding.status is Status.FAIL
    assert ("instead of on everything kept so far" in finding.actions[0]) is is_kept
    assert ("subnormal" in finding.actions[0]) is not is_kept


def test_what_a_library_takes_that_is_no_array_is_kept() -> None:
    """As the median of a list: arrays were seen at other lines alone."""
    median = ("numpy.median", "<built-in>", 0)
    finding = judged(
        lambda step: 0.002 * step, calls=(median,), elements=(500, 500), looked_at=ALSO
    )
    assert "instead of on everything kept so far" in finding.actions[0]


def test_steps_that_are_longer_from_one_on_and_stay_so() -> None:
    """From step 10 on each takes 0.2 s more in a function that ran before as well."""
    finding = judged(lambda step: 0.2 if step >= 10 else 0.0, is_seen=True)
    assert finding.status is Status.FAIL
    assert "From step 10 on" in finding.title
    assert " on ranks 0 and 1, mainly in " in finding.title
    assert finding.gain_s == pytest.approx(0.2 * (STEPS - 10), rel=0.05)
    assert finding.where == (Frame(*GROWING),)
    lone = judged(lambda step: 0.2 if step >= 10 else 0.0, is_seen=True, longer_on=(1,))
    assert lone.ranks == (1,)
    assert " on rank 1, mainly in " in lone.title
    begins = judged(lambda step: 0.2 if step >= 10 else 0.0)
    returns = judged(lambda step: 0.2 if 10 <= step < 60 else 0.0, is_seen=True)
    assert {begins.status, returns.status} == {Status.PASS}


def test_steps_that_are_longer_as_others_take_cpus_or_batches_grow_are_no_fault() -> None:
    def late(step: int) -> float:
        return 0.5 if step >= 38 else 0.0

    assert judged(late, is_seen=True).status is Status.FAIL
    assert judged(late, is_seen=True, waits=True).status is Status.PASS
    assert judged(late, is_seen=True, samples=lambda _: 8).status is Status.FAIL
    grown = judged(late, is_seen=True, samples=lambda step: 24 if late(step) else 8)
    assert grown.status is Status.PASS


@pytest.mark.parametrize(
    "extra",
    [
        lambda _: 0.0,
        lambda step: 0.1 if 30 <= step < 55 else 0.0,
        lambda step: 0.05 if step >= 40 else 0.0,
        lambda step: 0.2 if step < 10 else 0.0,
        lambda step: 0.3 if step % 10 == 9 else 0.0,
    ],
    ids=["even", "a slow window", "a change", "warm-up", "a checkpoint now and then"],
)
def test_steps_that_differ_and_do_not_grow(extra: Callable[[int], float]) -> None:
    assert judged(extra).status is Status.PASS


def crowded(
    growing: Callable[[int], float],
    slowdown: Callable[[int], float],
    also: Callable[[int], float] = lambda _: 0.0,
    *,
    moves: bool = False,
    level_on_1_s: float | None = None,
    told: str = "growing_steps",
    rarely: int = 1,
    waits: float = 0.5,
) -> Finding:
    """Two ranks whose threads wait for CPUs, which makes all work longer; looked at every 5 ms.

    A step is 0.05 s of one function and what is given of others, and then a collective. What grows
    on rank 0 may be what rank 1 does less and less of, or takes as long on rank 1 in each step.
    Of the looks, one in so many is made, by lot; the ranks wait for so much of the time.
    """
    builder = TraceBuilder(2, end_s=60.0)
    for number in range(2):
        rank = builder.rank(number).init(1.0)
        begin, draw = 1.0, np.random.default_rng(100 * rarely + number)
        for step in range(STEPS):
            own, mirrored = growing(step), growing(STEPS - 1 - step) if moves else 0.0
            own, spare = (mirrored, own) if moves and number else (own, mirrored)
            if level_on_1_s is not None:
                own, spare = (level_on_1_s, own - level_on_1_s) if number else (own, 0.0)
            work = (FIXED, 0.05), (GROWING, own), (ALSO, also(step))
            parts = [(frame, length * slowdown(step)) for frame, length in work]
            worked = begin + sum(length for _, length in parts)
            end = worked + spare * slowdown(step) + 0.01
            rank.step(step, begin, end).op("MPI_Allreduce", worked, end, comm=0, seq=step)
            for frame, length in parts:
                for tick in np.arange(0.0, length, 0.005):
                    if draw.random() * rarely < 1.0:
                        rank.stack(begin + tick, (FIXED, frame))
                begin += length
            begin = end
        rank.finalize(begin + 0.5).set(cpu_count_allowed=2, cpus_allowed="0-1")
        for tick in range(int(10 * begin)):
            at, queued = tick / 10, waits * tick / 10
            rank.main_sample(at, cpu_s=at - queued, queue_delay_s=queued)
            rank.process_sample(at, cpu_s=at - queued, queue_delay_s=queued)
    return analyze_trace(builder.build()).findings[told]


def busier(step: int) -> float:
    """How much longer all takes, as others need more and more of the machine."""
    return 1.0 + step / STEPS


def test_a_function_that_grows_while_ranks_wait_for_cpus() -> None:
    """Step k takes k ms more in one function, and what the machine makes all work longer."""
    finding = crowded(lambda step: 0.001 * step, busier)
    assert finding.status.is_fault
    assert "from" in finding.title
    assert "summarize()" in finding.title
    assert [(one.function, one.file) for one in finding.where] == [GROWING[:2]]
    lost = sum(0.001 * step * busier(step) for step in range(STEPS))
    assert finding.gain_s == pytest.approx(FREE * lost, rel=0.15)


def test_what_hardly_any_sample_saw_at_first_is_no_number() -> None:
    finding = crowded(lambda step: 0.002 * max(0, step - STEPS // 4), busier)
    assert "summarize() takes longer per step as the run goes on, " in finding.title
    assert finding.evidence[0].value == "not known: hardly any sample"


def test_of_two_functions_that_grow_neither_hides_the_other() -> None:
    finding = crowded(lambda step: 0.002 * step, busier, lambda step: 0.004 * step)
    assert [one.function for one in finding.where] == [ALSO[0]]
    lost = sum(0.004 * step * busier(step) for step in range(STEPS))
    assert finding.gain_s == pytest.approx(FREE * lost, rel=0.15)


def test_a_load_moves_between_those_that_do_less_and_more_and_not_those_that_do_most() -> None:
    ms = np.array([[50, 50, 50, 50], [40, 30, 15, 5], [5, 15, 30, 40]], np.float64)
    assert moved_between(ms * 1e6, 1e4) == (35e6, 1, 2)
    assert moved_between(ms[:, ::-1] * 1e6, 1e4) == (35e6, 2, 1)


def test_waiting_for_threads_of_its_own_is_no_work_that_grows() -> None:
    """As in a pool on a machine that gets busier: the main thread neither runs nor waits for a CPU.

    Steps of the others' work take 50 ms throughout.
    """
    builder, ran_s = TraceBuilder(2, end_s=60.0), [(0.0, 0.0)]
    for number in range(2):
        rank, begin = builder.rank(number).init(1.0), 1.0
        for step in range(STEPS):
            idle_s = 0.002 * step
            for frame, length in ((FIXED, 0.05), (GROWING, idle_s)):
                for tick in np.arange(0.0, length, 0.005):
                    rank.stack(begin + tick, (FIXED, frame))
                ran_s.append((begin + length, ran_s[-1][1] + (length if frame == FIXED else 0.0)))
                begin += length
            rank.op("MPI_Allreduce", begin, begin + 0.01, comm=0, seq=step)
            begin += 0.01
            rank.step(step, begin - 0.06 - idle_s, begin)
        rank.finalize(begin + 0.5).set(cpu_count_allowed=2, cpus_allowed="0-1")
        times, ran = zip(*ran_s, strict=True)
        for at in np.arange(0.0, begin, 0.01).tolist():
            rank.main_sample(at, cpu_s=float(np.interp(at, times, ran)))
            rank.process_sample(at, cpu_s=at, queue_delay_s=2 * at, runnable=6)
        ran_s = [(0.0, 0.0)]
    assert analyze_trace(builder.build()).findings["growing_steps"].status is Status.NOT_MEASURED


def test_a_busy_machine_makes_all_functions_longer_and_steps_are_not_said_to_stay() -> None:
    finding = crowded(lambda _: 0.03, busier)
    assert finding.status is Status.NOT_MEASURED
    assert "whether their work grows as well is not known" in finding.summary
    assert crowded(lambda _: 0.03, lambda _: 1.0).status is Status.PASS


def test_most_of_the_work_grows_with_the_function_and_the_rest_does_not() -> None:
    """As a loss over all that was kept, with its backward pass, beside a network that stays."""
    finding = crowded(
        lambda step: 0.06 + 0.003 * step, lambda _: 1.0, lambda step: 0.055 + 0.00275 * step
    )
    assert [one.function for one in finding.where] == [GROWING[0]]
    lost = sum(0.003 * step for step in range(STEPS))
    assert finding.gain_s == pytest.approx(FREE * lost, rel=0.1)


def test_what_a_step_takes_more_holds_what_is_lost_in_all() -> None:
    """Half of the time is waiting for a CPU: with it every step loses at most what the last do."""
    found = crowded(lambda step: 0.02 + 0.002 * step, lambda _: 1.0)
    assert found.gain_s is not None
    first, last, *_, waited = found.evidence
    assert float(last.value) - float(first.value) >= found.gain_s / STEPS
    assert format_seconds(float(last.value)) in found.title
    assert waited.label == "Of each, waiting for a CPU: mean of the run"
    assert float(str(waited.value).removesuffix(" %")) == pytest.approx(50, abs=3)


def test_another_part_of_the_program_that_begins_is_no_growth() -> None:
    """As where first a head is trained and then all of a network, on a machine that gets busier."""
    assert not crowded(lambda step: 0.01 if step < 37 else 0.06, busier).status.is_fault


def test_a_function_that_takes_longer_only_for_a_time() -> None:
    window = crowded(lambda step: 0.06 if 20 <= step < 40 else 0.01, busier)
    assert window.status is Status.PASS


def test_steps_that_get_longer_behind_a_slow_start_are_not_said_to_stay() -> None:
    finding = judged(lambda step: 0.1 if step < 20 else 0.002 * (step - 20))
    assert finding.status is Status.NOT_MEASURED
    assert "They get longer from the shortest one on" in finding.summary
    little = judged(lambda step: 0.1 if step < 20 else 0.00001 * (step - 20))
    assert little.status is Status.PASS


def test_a_rise_that_chance_makes_uneven_is_growth() -> None:
    """As few samples show it: from the 11th part of the run to the 12th it rises by half of all."""
    seen = [0.0, 0.0, 0.0, 4.6, 1.5, 7.5, 4.6, 8.9, 9.2, 14.2, 11.2, 20.6]
    finding = crowded(lambda step: 0.005 * seen[12 * step // STEPS], busier)
    assert finding.status is Status.FAIL
    assert finding.where == (Frame(*GROWING),)


@pytest.mark.parametrize(
    ("extra", "is_level"),
    [(lambda step: 0.001 * step, False), (lambda step: min(0.004 * step, 0.1), True)],
)
def test_what_has_stopped_growing_is_not_said_to_go_on(
    extra: Callable[[int], float], *, is_level: bool
) -> None:
    finding = judged(extra)
    assert finding.status is Status.FAIL
    assert ("stayed there" in finding.summary) is is_level
    assert ("subnormal" in finding.actions[0]) is is_level


def test_what_grows_on_one_of_the_ranks_that_run_it_is_compared_with_the_others() -> None:
    """What both keep of all steps would grow on both."""

    def growing(step: int) -> float:
        return 0.02 + 0.002 * step

    one = crowded(growing, lambda _: 1.0, level_on_1_s=0.02, waits=0.4)
    assert "summarize() takes longer per step" in one.title
    assert one.ranks == (0,)
    assert "no more on rank 0 than on rank 1, where it gets no slower" in one.actions[0]
    assert "everything kept so far" in one.actions[1]
    both = crowded(growing, lambda _: 1.0)
    assert "everything kept so far" in both.actions[0]


def test_what_one_rank_alone_does_more_and_more_of_is_told_with_few_samples() -> None:
    """Its work by step says what too few samples of the function do not."""
    one = crowded(lambda step: 0.001 * step, lambda _: 1.0, level_on_1_s=0.0, rarely=60)
    assert one.status is Status.FAIL
    assert one.title.startswith("The work of rank 0 in a step grows from ")
    assert one.title.endswith(", mainly in summarize()")
    assert one.ranks == (0,)
    assert "everything kept so far" in one.actions[0]
    slow = crowded(lambda _: 0.001, busier, level_on_1_s=0.0, rarely=60)
    assert not slow.status.is_fault


def test_work_that_moves_from_one_rank_to_the_other_does_not_grow() -> None:
    """As a front that travels from the cells of one rank to those of the other: 80 ms in all."""
    assert crowded(lambda step: 0.001 * step, lambda _: 1.0, moves=True).status is Status.PASS


def test_a_load_that_moves_is_told_with_what_sharing_it_saves() -> None:
    """Of k and 79 - k ms in step k the longer: 20 ms over half, a quarter of it for other jobs."""
    finding = crowded(lambda step: 0.001 * step, lambda _: 1.0, moves=True, told=MOVES)
    assert finding.status is Status.FAIL
    assert finding.title == "The load in summarize() moves from rank 1 to rank 0 during the run"
    assert finding.gain_s == pytest.approx(FREE * 0.020 * STEPS, rel=0.15)
    assert finding.where == (Frame(*GROWING),)
    assert crowded(lambda _: 0.04, lambda _: 1.0, moves=True, told=MOVES).status is Status.PASS


def test_what_grows_on_all_ranks_is_seen_in_the_samples_of_all_of_them() -> None:
    """The steps grow, and samples of one rank are too few to tell in which function."""
    both = crowded(lambda step: 0.02 + 0.002 * step, lambda _: 1.0, rarely=RARELY)
    assert both.status.is_fault
    assert both.title.startswith("summarize() takes longer per step as the run goes on")
    assert both.gain_s == pytest.approx(sum(0.002 * step for step in range(STEPS)), rel=0.4)


def test_few_samples_of_a_machine_that_gets_busier_show_no_function_that_grows() -> None:
    """By 95 %: of eleven recordings one at most may show what chance made."""
    found = [crowded(lambda _: 0.03, busier, rarely=one) for one in (5, *range(17, 65, 5))]
    assert sum(one.status.is_fault for one in found) <= 1


@pytest.mark.parametrize("seed", range(5))
def test_an_even_rise_is_told_from_two_levels_where_chance_moves_both(seed: int) -> None:
    noise = np.random.default_rng(seed).normal(0.0, 1.0, 12)
    assert rises_evenly(np.arange(12.0) + noise)
    assert not rises_evenly(np.where(np.arange(12) < 6, 0.0, 11.0) + noise)


def test_what_begins_with_nothing_grows_without_a_factor() -> None:
    """As a rank does that has nothing to do in the first quarter of the steps."""
    seconds = np.concatenate([np.zeros(20), np.linspace(0.0, 1.0, 60)])
    growth = growth_of(analyze(Plan()).results, seconds, rank=1)
    assert growth is not None
    assert (growth.first_s, growth.is_first_known, growth.times) == (0.0, False, inf)
