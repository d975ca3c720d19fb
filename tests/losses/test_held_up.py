"""Training work in which ranks are held up is lost, to the nanosecond and not twice."""

import pytest

from perfscope.losses.account import loss_account
from perfscope.losses.entry import Entry, LossAccount, Saving
from perfscope.metrics.compute import compute
from perfscope.metrics.results import Options
from perfscope.replay.segments import SegmentReplay
from perfscope.schema.enums import Activity, LossKind, LossPattern, PhaseKind
from perfscope.trace.devices import Gpu, Throttling
from perfscope.trace.model import Trace
from tests.support.trace_builder import TraceBuilder

STEPS = 10


def built(queued: float = 0.0, collect_s: float = 0.0, throttled: float = 0.0) -> Trace:
    """Two ranks that train 0.8 s of each second and exchange for 0.2 s.

    Rank 0 waits for a CPU for a share of all time, and collects garbage in each step. A limit
    withholds its CPU for a share of all time.
    """
    builder = TraceBuilder(2, end_s=12.0)
    for number in range(2):
        rank = builder.rank(number).init(1.0).finalize(11.0)
        for step in range(STEPS):
            at = 1.0 + step
            rank.phase(PhaseKind.TRAIN, at, at + 0.8)
            rank.op("MPI_Allreduce", at + 0.8, at + 1.0, comm=0, seq=step)
            if number == 0 and collect_s:
                rank.collection(at + 0.1, at + 0.1 + collect_s)
        for tick in range(121):
            waited_s = queued * tick / 10 if number == 0 else 0.0
            limited_s = throttled * tick / 10 if number == 0 else 0.0
            rank.main_sample(
                tick / 10, cpu_s=tick / 20, queue_delay_s=waited_s, throttled_s=limited_s
            )
    return builder.build()


def account_of(trace: Trace) -> LossAccount:
    results = compute(trace, Options())
    found = loss_account(results, SegmentReplay(results))
    assert sum(entry.ns for entry in found.entries) == found.lost_ns
    return found


def of_kind(found: LossAccount, kind: LossKind) -> list[Entry]:
    return [entry for entry in found.entries if entry.cause.kind is kind]


def test_waiting_for_a_cpu_is_no_training_work() -> None:
    free, queued = account_of(built()), account_of(built(queued=0.25))
    assert not of_kind(free, LossKind.CPU_WAIT)
    (entry,) = of_kind(queued, LossKind.CPU_WAIT)
    assert entry.ranks == (0,)
    assert entry.own_ns == pytest.approx(0.25 * 0.8e9 * STEPS, abs=2)
    assert free.training_ns - queued.training_ns == entry.own_ns
    assert isinstance(entry.saving, Saving)
    assert entry.saving.seconds == pytest.approx(0.0, abs=1e-6), "rank 1 works as long without it"


@pytest.mark.parametrize(("throttled", "told"), [(0.1, 0.08), (0.5, 0.2)])
def test_what_a_limit_withholds_is_no_waiting_for_others(throttled: float, told: float) -> None:
    """In the work, which is 0.8 of the time, and no more than the rank waited at all."""
    found = account_of(built(queued=0.25, throttled=throttled))
    (limited,) = of_kind(found, LossKind.THROTTLED)
    assert limited.own_ns == pytest.approx(told * 1e9 * STEPS, abs=2)
    waited_ns = sum(entry.own_ns for entry in of_kind(found, LossKind.CPU_WAIT))
    assert waited_ns == pytest.approx((0.2 - told) * 1e9 * STEPS, abs=4)


def test_measured_collections_count_for_as_long_as_they_took() -> None:
    """No sample saw one."""
    found = account_of(built(collect_s=0.1))
    (entry,) = of_kind(found, LossKind.OTHER_WORK)
    assert entry.cause.activity is Activity.GARBAGE_COLLECTION
    assert entry.ranks == (0,)
    assert entry.own_ns == pytest.approx(0.1e9 * STEPS, abs=STEPS)


def test_no_time_is_lost_twice() -> None:
    """Of what is left of training work beside collections, the same part waits for a CPU."""
    both = account_of(built(queued=0.25, collect_s=0.4))
    (queued,) = of_kind(both, LossKind.CPU_WAIT)
    assert queued.own_ns == pytest.approx(0.25 * 0.4e9 * STEPS, abs=2)
    most = account_of(built(queued=2.0))
    assert of_kind(most, LossKind.CPU_WAIT)[0].own_ns <= 8e9
    assert most.training_ns >= 8e9 - 10


@pytest.mark.parametrize("has_cpu", [False, True])
def test_ranks_that_are_late_for_lack_of_a_cpu_are_told_apart(has_cpu: bool) -> None:
    """In each step rank 0 or 1 works 0.2 s longer, and has a CPU meanwhile or not."""
    builder = TraceBuilder(2, end_s=42.0)
    for number in range(2):
        rank = builder.rank(number).init(1.0).finalize(41.0)
        for step in range(40):
            at, is_late = 1.0 + step, step * 7 % 5 % 2 == number
            came = at + (0.9 if is_late else 0.7)
            rank.phase(PhaseKind.TRAIN, at, came)
            rank.op("MPI_Allreduce", came, at + 1.0, comm=0, seq=step, sent=8, received=8)
            rank.step(step, at, at + 1.0)
        for tick in range(421):
            done, now = divmod(max(0, tick - 10), 10)
            late = [step * 7 % 5 % 2 == number for step in range(done + 1)]
            waited_s = 0.2 * sum(late[:-1]) + 0.02 * now * late[-1]
            rank.main_sample(tick / 10, cpu_s=tick / 20, queue_delay_s=0.0 if has_cpu else waited_s)
    (waiting,) = of_kind(account_of(builder.build()), LossKind.WAITING)
    assert waiting.pattern is (LossPattern.VARYING if has_cpu else LossPattern.SYSTEM)


def held_up_in_its_work(*, kernel: float = 0.0, ran: float = 1.0) -> LossAccount:
    """Two ranks that work 0.4 s and exchange for 0.1 s in each of 40 steps.

    Of its work each rank spends a part in the kernel, for new pages; rank 1 runs in a part only:
    else another thread of it is in Python code.
    """
    builder, steps, other = TraceBuilder(2, end_s=22.0), 40, 77
    for number in range(2):
        rank = builder.rank(number).init(1.0).finalize(21.0)
        for step, begin in rank.steps(steps, 0.5):
            rank.op("MPI_Allreduce", begin + 0.4, begin + 0.5, comm=0, seq=step)
        for tick in range(220):
            at = tick / 10
            is_held = number == 1 and ran < 1.0
            cpu_s, pages = at * (0.2 + 0.8 * ran if is_held else 1.0), round(5000 * at)
            rank.main_sample(
                at, cpu_s=cpu_s, kernel_s=kernel * at, minor_faults=pages * (kernel > 0)
            )
            rank.process_sample(at, cpu_s=cpu_s + at * is_held, runnable=1)
            rank.system_sample(at, read_bytes=0)
            if is_held and 10 <= tick < 210:
                rank.stack(at + 0.05, [("tally", "/home/me/train.py", 9)], tid=other)
        rank.thread("python", tid=other, cpu_s=20.0)
    return account_of(builder.build())


@pytest.mark.parametrize("kernel", [0.1, 0.25])
def test_page_faults_are_no_training_work(kernel: float) -> None:
    free, held = held_up_in_its_work(), held_up_in_its_work(kernel=kernel)
    assert not of_kind(free, LossKind.PAGE_FAULTS)
    (entry,) = of_kind(held, LossKind.PAGE_FAULTS)
    assert set(entry.ranks) == {0, 1}
    assert entry.own_ns == pytest.approx(2 * kernel * 0.4e9 * 40, rel=0.02)
    assert free.training_ns - held.training_ns == entry.own_ns
    assert isinstance(entry.saving, Saving)
    assert entry.saving.seconds == pytest.approx(kernel * 0.4 * 40, rel=0.02)


@pytest.mark.parametrize("ran", [0.5, 0.75])
def test_waiting_for_the_interpreter_lock_is_no_training_work(ran: float) -> None:
    free, held = held_up_in_its_work(), held_up_in_its_work(ran=ran)
    assert not of_kind(free, LossKind.INTERPRETER_LOCK)
    (entry,) = of_kind(held, LossKind.INTERPRETER_LOCK)
    assert entry.ranks == (1,)
    assert entry.own_ns == pytest.approx((1 - ran) * 0.4e9 * 40, rel=0.02)
    assert free.training_ns - held.training_ns == entry.own_ns
    assert isinstance(entry.saving, Saving)
    assert entry.saving.seconds == pytest.approx(0.0, abs=1e-6), "rank 0 works as long without it"


def test_a_gpu_that_heat_slows_down_is_a_loss() -> None:
    """From second 6 on, of 0.9 s in each second a third: 900 of 1,350 MHz."""
    builder = TraceBuilder(2, end_s=12.0).set(
        gpus=[Gpu("node0", f"GPU-{n}", n, "A GPU", sm_mhz=1980.0) for n in (0, 1)]
    )
    for number in range(2):
        rank = builder.rank(number).init(1.0).finalize(11.0)
        for step in range(STEPS):
            at = 1.0 + step
            rank.phase(PhaseKind.TRAIN, at, at + 0.8)
            rank.op("MPI_Allreduce", at + 0.8, at + 1.0, comm=0, seq=step)
        for second in range(1, 12):
            is_hot = number == 1 and second >= 6
            clock, why = (900.0, int(Throttling.HARDWARE_THERMAL)) if is_hot else (1350.0, 0)
            rank.gpu_sample(second, number, busy=0.9, sm_mhz=clock, throttling=why)
            rank.gpu_process(second, number, 1000 + number)
    found = account_of(builder.build())
    (entry,) = of_kind(found, LossKind.SLOWED_GPU)
    assert entry.ranks == (1,)
    assert entry.own_ns == pytest.approx(0.3e9 * 4, rel=1e-6)


STEP, UPDATE = ("step", "/home/me/train.py", 5), ("update", "/home/me/train.py", 30)


def with_operands(*, subnormal: float, contents: int, queued: float = 0.0) -> LossAccount:
    """Two ranks that work 0.4 s in each of 40 steps, half of it in `update`, and exchange 0.1 s.

    Each look at its line finds as many different contents, of which a share is subnormal.
    """
    form = {"name": "w", "looks": 10, "kind": "array", "dtype": "float32", "byte_order": "native"}
    size = {"shape": [400, 40], "elements": [16000, 16000], "layout": "rows", "stride": 4}
    array = {**form, **size, "contents": contents, "shares": {"subnormal": subnormal}}
    looks = {"looks": 10, "visits": 10, "line_visits": 10, "whole_looks": 10, "contents": contents}
    place = "\x1f".join(map(str, UPDATE))
    site = {"place": place, "is_innermost": True, **looks, "operands": [array]}
    builder = TraceBuilder(2, end_s=22.0)
    for number in range(2):
        rank = builder.rank(number).init(1.0).finalize(21.0)
        rank.set(metadata={"operands": {"looks": 10, "cpu_ns": 1, "sites": [site]}})
        for step, begin in rank.steps(40, 0.5):
            rank.op("MPI_Allreduce", begin + 0.4, begin + 0.5, comm=0, seq=step)
            for tick in range(40):
                frames = (STEP, UPDATE) if tick >= 20 else (STEP,)
                rank.stack(begin + 0.01 * tick + 0.005, (*frames, ("tanh", "<built-in>", 0)))
        for tick in range(220):
            waited_s = queued * tick / 10
            rank.main_sample(tick / 10, cpu_s=tick / 10 - waited_s, queue_delay_s=waited_s)
    return account_of(builder.build())


@pytest.mark.parametrize("queued", [0.0, 0.25])
def test_work_on_slow_operands_is_lost_while_it_has_a_cpu(queued: float) -> None:
    """Half of the values subnormal, each a hundred times as slow: 50 of 51 parts of the line."""
    found = with_operands(subnormal=0.5, contents=10, queued=queued)
    (entry,) = of_kind(found, LossKind.SLOW_OPERANDS)
    assert entry.own_ns == pytest.approx(2 * 40 * 0.2e9 * 50 / 51 * (1 - queued), rel=0.03)
    assert set(entry.ranks) == {0, 1}
    assert entry.frame is not None
    assert (entry.frame.function, entry.frame.file, entry.frame.line) == UPDATE
    assert isinstance(entry.saving, Saving)
    assert entry.saving.seconds == pytest.approx(40 * 0.2 * 50 / 51 * (1 - queued), rel=0.05)


@pytest.mark.parametrize("subnormal", [0.0, 0.5])
def test_what_is_computed_again_is_lost_once_whatever_it_works_on(subnormal: float) -> None:
    found = with_operands(subnormal=subnormal, contents=1)
    (entry,) = of_kind(found, LossKind.REPEATED_WORK)
    assert entry.own_ns == pytest.approx(2 * 40 * 0.2e9, rel=0.03)
    assert not of_kind(found, LossKind.SLOW_OPERANDS)


def test_what_works_on_ever_other_usual_values_is_needed() -> None:
    found = with_operands(subnormal=0.0, contents=10)
    kinds = {entry.cause.kind for entry in found.entries}
    assert kinds.isdisjoint({LossKind.SLOW_OPERANDS, LossKind.REPEATED_WORK})


@pytest.mark.parametrize("loads", [False, True])
def test_collections_that_loading_modules_sets_off_are_a_part_of_loading(loads: bool) -> None:
    library = "/usr/lib/python3.11/"
    inner = ("_find_and_load", "<frozen importlib._bootstrap>", 1176)
    other = ("dumps", f"{library}json/__init__.py", 231)
    builder = TraceBuilder(1, end_s=12.0)
    rank = builder.rank(0).init(1.0).finalize(11.0)
    for tick in range(50, 451):
        at = 1.0 + tick / 50
        rank.stack(at, [("<module>", "/home/user/train.py", 3), inner if loads else other])
    rank.collection(4.005, 4.995)
    found = account_of(builder.build())
    spent = {entry.cause.activity: entry.own_ns for entry in found.entries}
    collected = spent.get(Activity.GARBAGE_COLLECTION, 0)
    assert collected == (0 if loads else 990_000_000)
    assert (spent.get(Activity.IMPORTING, 0) > 7e9) is loads
