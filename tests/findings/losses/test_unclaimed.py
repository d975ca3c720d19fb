"""What is told of losses that no diagnosis explains."""

from collections.abc import Callable

import numpy as np
import pytest

from perfscope.arrays import Floats
from perfscope.findings.core.finding import Finding
from perfscope.findings.losses.changes import OF_CALLS, WINDOWS_ACTION
from perfscope.schema.enums import Basis, Confidence
from perfscope.trace.operations import OperationClass
from tests.findings.analyzed import analyze_trace
from tests.support.trace_builder import TraceBuilder

STEPS = 60
WORK_S = 0.1
WORK = ("whitening", "/job/train.py", 12)
DOT = ("numpy.ndarray.dot", "<built-in>", 0)
MEETING = ("in_order", "/job/train.py", 21)


def in_turns(*, seen_waiting: bool) -> Finding:
    """Two ranks that do the same work one after the other, with a barrier after each of them."""
    builder = TraceBuilder(2, end_s=3.0 + 2 * WORK_S * STEPS)
    ranks = [builder.rank(number).init(1.0) for number in (0, 1)]
    for step in range(STEPS):
        begin = 1.0 + 2 * WORK_S * step
        half, end = begin + WORK_S, begin + 2 * WORK_S
        for number, rank in enumerate(ranks):
            worked, waited = ((begin, half), (half, end))[:: 1 if number == 0 else -1]
            for part in (0.2, 0.6):
                rank.stack(worked[0] + part * WORK_S, [("main", "/job/train.py", 40), WORK])
                if seen_waiting:
                    at = waited[0] + part * WORK_S
                    rank.stack(at, [("main", "/job/train.py", 40), MEETING])
            rank.op("MPI_Barrier", half if number == 0 else begin, half, seq=2 * step)
            rank.op("MPI_Barrier", half if number == 0 else end, end, seq=2 * step + 1)
            rank.step(step, begin, end)
            rank.process_sample(end, cpu_s=end, runnable=1)
    for rank in ranks:
        rank.finalize(1.0 + 2 * WORK_S * STEPS)
    return analyze_trace(builder.build()).findings["lost_to_serial_waiting"]


def test_ranks_that_take_turns_are_told_by_where_they_wait_for_each_other() -> None:
    found = in_turns(seen_waiting=True)
    assert (found.where[0].function, found.where[0].line) == MEETING[::2]
    assert WORK[0] in [one.function for one in found.where[1:]]
    assert "in_order() (train.py:21)" in found.title
    assert "whitening() (train.py:12)" not in found.title  # one place, the one to change
    assert found.actions[0].startswith(
        "On average each rank waits 6.00 s in in_order() (train.py:21) while the other works in "
        "whitening() (train.py:12). Have each rank send what the others need "
    )
    assert len(found.actions) == 3
    assert found.is_elsewhere  # the line is one that waits
    assert found.gain_s == pytest.approx(WORK_S * STEPS, rel=0.05)


def test_where_waits_were_not_seen_the_work_is_told() -> None:
    found = in_turns(seen_waiting=False)
    assert [one.function for one in found.where] == [WORK[0]]
    assert "for ranks 0 and 1 in whitening() (train.py:12)" in found.title


VARIED = np.random.default_rng(8).uniform(0.05, 0.15, (400, 2))


def varied(
    queued: Callable[[float], float], works: Floats = VARIED, *, calls: str = ""
) -> dict[str, Finding]:
    """Two ranks whose work differs from step to step, and seconds for which both had no CPU."""
    doing = [("main", "/job/train.py", 40), WORK, *([(calls, "<built-in>", 0)] if calls else [])]
    ends = 1.0 + np.cumsum(works.max(axis=1) + 0.001)
    builder = TraceBuilder(2, end_s=float(ends[-1]) + 2.0)
    for number in range(2):
        rank = builder.rank(number).init(1.0)
        begin = 1.0
        for step, end in enumerate(ends.tolist()):
            arrival = begin + float(works[step, number])
            rank.stack(begin + 0.02, doing)
            rank.op("MPI_Allreduce", arrival, end, seq=step).step(step, begin, end)
            begin = end
        rank.finalize(begin)
        for tick in range(int(10 * begin)):
            at = tick / 10
            rank.main_sample(at, cpu_s=at, queue_delay_s=queued(at))
            rank.process_sample(at, cpu_s=at, queue_delay_s=queued(at), runnable=1)
    return analyze_trace(builder.build()).findings


def test_work_that_varies_is_told_by_what_no_lack_of_cpus_explains() -> None:
    """Both lack a CPU for a third of the run only: in the rest of it they wait for each other."""
    expected_s = float((VARIED.max(axis=1) - VARIED.mean(axis=1)).sum())
    third_s = float(VARIED.max(axis=1).sum()) / 3
    findings = varied(lambda at: min(0.5 * at, 0.5 * third_s))
    found = findings["transient_imbalance"]
    assert found.status.is_fault
    assert found.gain_s is not None
    assert 2 / 3 * expected_s < found.gain_s < 1.1 * expected_s
    assert "lost_to_varying_waiting" not in findings  # the same seconds, without the cause


def test_where_all_may_be_for_want_of_cpus_nothing_is_told() -> None:
    assert "lost_to_varying_waiting" not in varied(lambda at: 0.5 * at)


def test_work_that_is_a_loss_by_itself_is_told_beside_how_it_varies() -> None:
    """Equally dealt out it would still take most of the run."""
    works = np.random.default_rng(8).uniform(0.03, 0.3, VARIED.shape)
    findings = varied(lambda _: 0.0, works, calls="zlib.decompress")
    assert findings["transient_imbalance"].status.is_fault
    found = findings["lost_to_unpacking"]
    assert found.where[0].function == WORK[0]
    assert found.gain_s == pytest.approx(float(works.max(axis=1).sum()), rel=0.1)


def test_work_that_ranks_do_in_turn_is_no_chance_however_busy_the_machine_is() -> None:
    """100 ms more every fourth step of each rank, in other steps of the other rank."""
    works = VARIED.copy()
    works[0::4, 0] += 0.1
    works[2::4, 1] += 0.1
    found = varied(lambda at: 0.5 * at, works)["lost_to_alternating_waiting"]
    assert found.status.is_fault
    assert found.where[0].function == WORK[0]
    expected_s = float((works.max(axis=1) - works.mean(axis=1)).sum())
    assert found.gain_s == pytest.approx(expected_s, rel=0.1)


@pytest.mark.parametrize(
    ("loop", "around_s"), [(None, 0.0), ([15, 18], 0.04), ([17, 18], 0.02), ([1, 60], 0.04)]
)
def test_one_sided_calls_are_told_though_the_run_cannot_be_replayed(
    loop: list[int] | None, around_s: float
) -> None:
    """40 ms of each step of 100 ms: what each rank fetches row by row from the other's window.

    Where its loop is known, what that does between the calls is counted, too: one call needs none.
    """
    fetching = [("main", "/job/train.py", 40), ("fetch", "/job/train.py", 17)]
    finding = [("main", "/job/train.py", 40), ("fetch", "/job/train.py", 15)]
    calling = [("main", "/job/train.py", 40), ("fetch", "/job/train.py", 18)]
    loops = [{"place": "fetch\x1f/job/train.py\x1f17", "lines": [loop]}] if loop else []
    builder = TraceBuilder(2, end_s=3.0 + 0.1 * STEPS)
    for number in range(2):
        rank = builder.rank(number).init(1.0).finalize(1.0 + 0.1 * STEPS)
        rank.set(metadata={"loops": loops})
        for step, begin in rank.steps(STEPS, 0.1):
            for flush in range(4):
                at = begin + 0.02 * flush
                rank.op("MPI_Get", at, at + 0.0001, peer=1 - number, received=256)
                rank.op("MPI_Win_flush", at + 0.0001, at + 0.0099).stack(at + 0.005, fetching)
                rank.stack(at + 0.0125, finding).stack(at + 0.0175, calling)
            rank.stack(begin + 0.0801, [WORK])
            rank.op("MPI_Allreduce", begin + 0.098, begin + 0.0999, seq=step)
    found = analyze_trace(builder.build()).findings["lost_to_one_sided_communication"]
    assert found.status.is_fault
    assert found.title.endswith("mainly MPI_Win_flush in fetch() (train.py:17)")
    assert found.gain_s == pytest.approx((0.0396 + around_s) * STEPS, rel=0.05)
    saving = found.gain
    assert saving is not None
    assert saving.counts_more == (loop is not None)
    assert found.gain_basis is Basis.UPPER_BOUND


def test_windows_that_are_made_anew_are_to_be_kept() -> None:
    """30 ms of each step of 100 ms to make and free a window, and 10 ms in which it is read."""
    builder = TraceBuilder(2, end_s=3.0 + 0.1 * STEPS)
    for rank, _step, begin in builder.steps(STEPS, 0.1):
        rank.op("MPI_Win_create", begin, begin + 0.03)
        rank.op("MPI_Win_flush", begin + 0.04, begin + 0.05)
    found = analyze_trace(builder.build()).findings["lost_to_one_sided_communication"]
    assert found.title.endswith("mainly MPI_Win_create")
    assert WINDOWS_ACTION in found.actions[0]
    assert OF_CALLS[OperationClass.ONE_SIDED][1] not in found.actions[0]


def test_fences_that_wait_for_a_rank_that_works_longer_are_its_imbalance() -> None:
    """Rank 1 works 40 ms longer in each step, in which rank 0 waits; both take 4 ms to meet."""
    builder = TraceBuilder(2, end_s=2.0 + 0.1 * STEPS)
    for rank, _step, begin in builder.steps(STEPS, 0.1):
        worked, met = begin + 0.056 + 0.04 * rank.number, begin + 0.098
        rank.stack(begin + 0.02, [("main", "/job/train.py", 40), WORK])
        rank.op("MPI_Win_fence", worked, met).op("MPI_Allreduce", met, begin + 0.1)
    found = analyze_trace(builder.build()).findings
    assert found["load_imbalance"].gain_s == pytest.approx(0.02 * STEPS, rel=0.05)
    fences = found["lost_to_one_sided_communication"]
    assert fences.gain_s == pytest.approx(0.004 * STEPS, rel=0.05)


def test_communicators_are_told_that_are_made_in_the_steps() -> None:
    """40 ms of each step of 100 ms, and none of the 2 s before all steps."""
    making = [("main", "/job/train.py", 40), ("group_for", "/job/train.py", 17)]

    def found(*, in_steps: bool) -> dict[str, Finding]:
        builder = TraceBuilder(2, end_s=6.0 + 0.1 * STEPS)
        for number in range(2):
            rank = builder.rank(number).init(1.0).finalize(3.5 + 0.1 * STEPS)
            rank.op("MPI_Comm_split", 1.0, 3.0).stack(2.0, making)
            for _step, begin in rank.steps(STEPS, 0.1, from_s=3.0):
                if in_steps:
                    rank.op("MPI_Comm_split", begin, begin + 0.04).stack(begin + 0.02, making)
                rank.op("MPI_Allreduce", begin + 0.098, begin + 0.0999)
        return analyze_trace(builder.build()).findings

    told = found(in_steps=True)["lost_to_communicators"]
    assert told.status.is_fault
    assert told.title.endswith("mainly MPI_Comm_split in group_for() (train.py:17)")
    assert told.gain_s == pytest.approx(0.04 * STEPS + 2.0, rel=0.05)
    assert "lost_to_communicators" not in found(in_steps=False)


@pytest.mark.parametrize(
    ("doing", "identity"),
    [("gc.collect", "lost_to_garbage_collection"), ("time.sleep", "lost_to_sleep")],
)
def test_what_an_activity_costs_is_replayed(doing: str, identity: str) -> None:
    found = in_each_step(doing, identity)
    assert found.gain_basis is Basis.REPLAY
    assert found.gain_s == pytest.approx(0.02 * STEPS, rel=0.1)
    assert found.gain_interval_s is not None
    assert found.gain_interval_s[1] == pytest.approx(found.gain_s, rel=0.2)
    assert f", which calls {doing}: " in found.actions[0]


def test_what_python_collects_by_itself_is_replayed() -> None:
    """The collector lets nobody look: no sample sees the 30 ms of each step that it takes."""
    builder = TraceBuilder(2, end_s=3.0 + 0.1 * STEPS)
    for rank, step, begin in builder.steps(STEPS, 0.1):
        rank.collection(begin + 0.02, begin + 0.05)
        for tick in (0, 1, 6, 7, 8):
            rank.stack(begin + 0.01 * tick, [("main", "/job/train.py", 40), WORK])
        rank.op("MPI_Allreduce", begin + 0.095, begin + 0.0999, seq=step)
    found = analyze_trace(builder.build()).findings["lost_to_garbage_collection"]
    assert found.status.is_fault
    assert found.gain_basis is Basis.REPLAY
    assert found.gain_s == pytest.approx(0.03 * STEPS, rel=0.05)
    assert "gc.set_threshold" in found.actions[0]


def test_what_slows_other_work_down_as_well_may_save_all_of_that_too() -> None:
    """As anomaly mode does, whose tracebacks are seen and whose checks of each result are not."""
    found = in_each_step("traceback.extract_stack", "lost_to_debugging")
    assert found.gain_s == pytest.approx(0.02 * STEPS, rel=0.1)
    assert found.gain_interval_s is not None
    assert found.gain_interval_s[0] == pytest.approx(0.02 * STEPS, rel=0.2)
    assert found.gain_interval_s[1] == pytest.approx(0.095 * STEPS, rel=0.05)
    assert found.confidence is Confidence.MEDIUM
    assert "or more" in found.summary


def in_each_step(doing: str, identity: str) -> Finding:
    """What is told of 20 ms of each step of 100 ms."""
    main = ("main", "/job/train.py", 40)
    builder = TraceBuilder(2, end_s=3.0 + 0.1 * STEPS)
    for rank, step, begin in builder.steps(STEPS, 0.1):
        for tick in range(9):
            below = [("tidy", "/job/train.py", 17), (doing, "<built-in>", 0)]
            rank.stack(begin + 0.01 * tick, [main, *(below if tick in (3, 4) else [WORK])])
        rank.op("MPI_Allreduce", begin + 0.095, begin + 0.0999, seq=step)
    return analyze_trace(builder.build()).findings[identity]


def test_of_a_library_s_function_the_calls_are_told_and_not_only_its_python_code() -> None:
    """A join of 60 ms of each step of 100 ms, 30 ms of which are seen in compiled code."""
    main, joining = ("main", "/job/train.py", 40), ("attach", "/job/train.py", 17)
    join = ("DataFrame.join", "/env/site-packages/pandas/core/index.py", 900)
    inside, counting = (
        (name, "/env/site-packages/pandas/core/join.py", 40) for name in ("get", "count")
    )
    compiled = ("numpy.take", "<built-in>", 0)
    builder = TraceBuilder(2, end_s=3.0 + 0.1 * STEPS)
    for rank, step, begin in builder.steps(STEPS, 0.1):
        for tick in range(9):
            below = [counting, compiled] if tick % 2 else [inside]
            work = [joining, join, *below] if 1 < tick < 8 else [WORK, compiled]
            rank.stack(begin + 0.01 * tick, [main, *work])
        rank.op("MPI_Allreduce", begin + 0.095, begin + 0.0999, seq=step)
    found = analyze_trace(builder.build()).findings["lost_to_interpreter"]
    assert found.gain_basis is Basis.UPPER_BOUND
    assert found.gain_s == pytest.approx(0.06 * STEPS, rel=0.1)
    assert found.title.endswith("per rank, called in attach() (train.py:17)")
    assert found.title.startswith("pandas.DataFrame.join takes ")
    assert ": call pandas.DataFrame.join less often, with more data" in found.actions[0]


@pytest.mark.parametrize("depth", [1, 4])
def test_a_function_that_calls_itself_may_keep_what_its_calls_return(depth: int) -> None:
    """Of words that it takes apart, the ends are compared again and again."""
    main, likeness = ("main", "/job/words.py", 40), ("likeness", "/job/words.py", 17)
    builder = TraceBuilder(2, end_s=3.0 + 0.1 * STEPS)
    for rank, step, begin in builder.steps(STEPS, 0.1):
        for tick in range(9):
            below = [likeness] * depth if 1 < tick < 8 else [WORK, DOT]
            rank.stack(begin + 0.01 * tick, [main, *below])
        rank.op("MPI_Allreduce", begin + 0.095, begin + 0.0999, seq=step)
    told = analyze_trace(builder.build()).findings["lost_to_interpreter"].actions[0]
    assert told.startswith("In likeness() (words.py:17): ")
    assert ("functools.lru_cache" in told) is (depth > 1)
    assert ("array operations" in told) is (depth == 1)


@pytest.mark.parametrize(
    ("leaf", "elsewhere", "is_told"),
    [
        ("_collections._count_elements", 0, False),
        ("_collections._count_elements", 1, False),
        ("_collections._count_elements", 2, True),
        ("builtins.isinstance", 0, True),
        ("_heapq.heapreplace", 0, True),
        ("_abc._abc_instancecheck", 0, True),
    ],
    ids=["all", "nearly", "most", "whatever is called next", "in a loop", "for each item"],
)
def test_what_one_compiled_function_of_python_does_is_no_python_code(
    leaf: str, elsewhere: int, is_told: bool
) -> None:
    """Words are counted for 60 ms of each step of 100 ms, in C but for so many samples of six.

    Nothing shows that fewer of them need to be counted, and no loop of Python code is there.
    """
    counting = [("main", "/job/train.py", 40), ("digest", "/job/train.py", 17)]
    update = ("Counter.update", "/env/lib/python3.11/collections/__init__.py", 680)
    compiled = (leaf, "<built-in>", 0)
    builder = TraceBuilder(2, end_s=3.0 + 0.1 * STEPS)
    for rank, step, begin in builder.steps(STEPS, 0.1):
        for tick in range(9):
            inside = [] if tick - 2 < elsewhere else [compiled]
            is_counting = 1 < tick < 8
            below = [*counting, update, *inside] if is_counting else [WORK, DOT]
            rank.stack(begin + 0.01 * tick, below)
        rank.op("MPI_Allreduce", begin + 0.095, begin + 0.0999, seq=step)
    findings = analyze_trace(builder.build()).findings
    assert ("lost_to_interpreter" in findings) == is_told


def test_what_others_need_before_they_go_on_is_not_dealt_out_by_an_even_load() -> None:
    """Rank 0 adds up for 40 ms of each step of 100 ms what rank 1 sends, and sends it back."""
    main, adding = ("main", "/job/train.py", 40), ("add_up", "/job/train.py", 17)
    builder = TraceBuilder(2, end_s=3.0 + 0.1 * STEPS)
    ranks = [builder.rank(number).init(1.0).finalize(1.0 + 0.1 * STEPS) for number in (0, 1)]
    for step in range(STEPS):
        begin = 1.0 + 0.1 * step
        sent, back = begin + 0.05, begin + 0.091
        for rank in ranks:
            for tick in range(5):
                rank.stack(begin + 0.01 * tick + 0.002, [main, WORK])
            rank.step(step, begin, begin + 0.1)
        for tick in range(4):
            ranks[0].stack(sent + 0.003 + 0.01 * tick, [main, adding])
        ranks[1].stack(sent + 0.0002, [main, adding])
        ranks[1].op("MPI_Send", sent + 0.0005, sent + 0.001, peer=0, tag=step, sent=1 << 20)
        ranks[0].op("MPI_Recv", sent, sent + 0.001, peer=1, tag=step, received=1 << 20)
        ranks[0].op("MPI_Send", back, back + 0.001, peer=1, tag=step, sent=1 << 20)
        ranks[1].op("MPI_Recv", sent + 0.001, back + 0.001, peer=0, tag=step, received=1 << 20)
    found = analyze_trace(builder.build()).findings["lost_to_chained_waiting"]
    assert found.status.is_fault
    assert found.ranks == (0,)
    assert found.where[0].function == "add_up"
    assert found.gain_s is not None
    assert 0.2 * 0.04 * STEPS < found.gain_s <= 0.5 * 0.041 * STEPS, "up to half of it"


def test_what_all_ranks_do_at_once_is_saved_though_few_samples_tell_it_of_each_step() -> None:
    """45 ms of each step of 90 ms, with two looks at a rank, by which training is known as well."""
    main, training = ("main", "/job/train.py", 40), ("train_batch", "/job/train.py", 30)
    asking, receives = (
        ("look_up", "/job/train.py", 17),
        ("_socket.socket.recv_into", "<built-in>", 0),
    )
    steps, length_s, chance = 300, 0.09, np.random.default_rng(5)
    builder = TraceBuilder(2, end_s=3.0 + length_s * steps)
    for number in range(2):
        rank = builder.rank(number).init(1.0).finalize(1.0 + length_s * steps)
        for step in range(steps):
            begin = 1.0 + length_s * step
            for at in np.sort(chance.uniform(0.0, length_s - 0.001, 2)).tolist():
                below = [asking, receives] if at < length_s / 2 else [training]
                rank.stack(begin + at, [main, *below])
            end = begin + length_s
            rank.op("MPI_Allreduce", end - 0.0005, end - 0.0001, seq=step)
    found = analyze_trace(builder.build()).findings["lost_to_network"]
    assert found.gain_s == pytest.approx(length_s / 2 * steps, rel=0.1)
