"""What stacks show in place of training, and what they cannot tell apart from it."""

from collections.abc import Sequence

import pytest

from perfscope.attribution.activities import ACTIVITIES
from perfscope.attribution.not_training import not_training
from perfscope.metrics.compute import compute
from perfscope.schema.enums import Activity
from tests.support.trace_builder import FrameLike, TraceBuilder

DIFFUSE = ("diffuse", "/home/me/train.py", 24)
NEXT_LINE = ("diffuse", "/home/me/train.py", 25)
TOKENIZE = ("tokenize", "/home/me/train.py", 40)
TENSOR = ("numpy.ndarray.dot", "<built-in>", 0)
SLEEP = ("time.sleep", "<built-in>", 0)
WAIT = ("_thread.lock.acquire", "<built-in>", 0)
CONDITION = ("Condition.wait", "/usr/lib/python3.12/threading.py", 355)
SEMAPHORE = ("SemLock.__enter__", "/usr/lib/python3.12/multiprocessing/synchronize.py", 95)
COLLECT = ("gc.collect", "<built-in>", 0)


def shown(
    *stacks: list[FrameLike], loops: Sequence[dict[str, object]] = ()
) -> list[Activity | None]:
    builder = TraceBuilder(1, end_s=1.0)
    builder.rank(0).set(metadata={"loops": list(loops)})
    places = [builder.stack(stack) for stack in stacks]
    found = not_training(builder.build(), ()).tolist()
    return [ACTIVITIES[found[place]] if found[place] >= 0 else None for place in places]


def test_python_of_a_function_that_computes_is_no_loss() -> None:
    told = shown([DIFFUSE, TENSOR], [NEXT_LINE], [TOKENIZE], [DIFFUSE, COLLECT])
    assert told == [None, None, Activity.INTERPRETER, Activity.GARBAGE_COLLECTION]


@pytest.mark.parametrize("file", ["/home/me/train.py", "<generated>"])
def test_a_loop_over_items_of_an_unknown_kind_computes_with_no_arrays(file: str) -> None:
    hot, items = ("hot", file, 3), (".__next__", "<built-in>", 0)
    begin = ("<module>", "/home/me/train.py", 5)
    assert shown([begin, hot], [begin, hot, items]) == [Activity.INTERPRETER, None]


def test_the_end_of_a_loop_is_where_an_operator_of_what_it_calls_is_seen_to_be_over() -> None:
    """A function of nothing but operators has no call or jump of its own behind the last one."""
    calls = ("solve", "/home/me/train.py", 51)
    ends = ("solve", "/home/me/train.py", 53)
    amid = ("solve", "/home/me/train.py", 52)
    loops: list[dict[str, object]] = [
        {"place": "solve\x1f/home/me/train.py\x1f49", "lines": [[49, 55], [50, 53]]}
    ]
    outer = ("solve", "/home/me/train.py", 55)
    told = shown([calls, DIFFUSE, TENSOR], [ends], [amid], [outer], loops=loops)
    assert told == [None, None, Activity.INTERPRETER, Activity.INTERPRETER]
    told = shown([calls, TOKENIZE], [DIFFUSE, TENSOR], [ends], loops=loops)
    assert told == [Activity.INTERPRETER, None, Activity.INTERPRETER]


@pytest.mark.parametrize(("in_calls", "told"), [(6, None), (3, Activity.INTERPRETER)])
def test_what_binds_a_library_of_communication_to_python_is_part_of_it(
    in_calls: int, told: Activity | None
) -> None:
    """A line that is mostly seen inside its calls: ten samples, one each 10 ms."""
    line = ("exchange", "/home/me/train.py", 39)
    builder = TraceBuilder(1, end_s=1.0)
    rank = builder.rank(0)
    for tick in range(10):
        at = 0.1 + 0.01 * tick
        if tick < in_calls:
            rank.op("MPI_Waitall", at - 0.001, at + 0.001, request=2)
        rank.stack(at, [line])
    rank.stack(0.5, [TOKENIZE, TENSOR])
    trace = builder.build()
    found = not_training(trace, compute(trace).timelines)
    stack = next(at for at, one in enumerate(trace.stacks) if trace.frames[one[-1]].line == 39)
    assert (ACTIVITIES[found[stack]] if found[stack] >= 0 else None) == told


def test_where_no_leaf_is_recorded_python_may_all_be_numeric() -> None:
    assert shown([DIFFUSE], [TOKENIZE]) == [None, None]


def waits_for(
    share: float,
    *,
    workers: int = 0,
    threads: int = 0,
    busy: float | None = None,
    called: FrameLike = CONDITION,
) -> bool:
    """Whether waiting is a loss to a rank that does so, in what it calls, for a share of its 10 s.

    It may have worker processes, which are `busy` for so much of the time where they were sampled,
    or threads each of which keeps a CPU busy.
    """
    builder = TraceBuilder(1, end_s=10.0)
    rank = builder.rank(0).set(workers=[{"pid": 7 + one} for one in range(workers)])
    for one in range(threads):
        rank.thread("worker", tid=100 + one, cpu_s=10.0)
    for one in range(workers if busy is not None else 0):
        rank.worker_sample(7 + one, 10.0, 10.0 * (busy or 0.0), 0.0)
    for tick in range(100):
        rank.stack(0.1 * tick + 0.05, [DIFFUSE, called, WAIT] if tick < 100 * share else [TENSOR])
    results = compute(builder.build())
    assert results.not_training is not None
    return bool(results.not_training[0] >= 0)


def test_who_waits_for_own_workers_most_of_the_time_has_its_work_done_by_them() -> None:
    assert waits_for(0.8)
    assert waits_for(0.8, threads=1), "a single thread sets the pace"
    assert waits_for(0.3, workers=2), "the rank works itself"
    assert not waits_for(0.8, workers=2)
    assert not waits_for(0.8, threads=2)
    assert not waits_for(0.8, workers=2, busy=0.9)
    assert waits_for(0.8, workers=2, busy=0.2), "they do not work either"


def test_nobody_works_for_who_waits_for_a_lock() -> None:
    assert waits_for(0.8, workers=2, called=SEMAPHORE)
    assert waits_for(0.8, threads=2, called=("flock", "<system-call>", 0))


def is_told(*asleep: float, places: int = 1) -> bool:
    """Whether sleep is a loss to ranks that sleep for these shares of their 10 s, in functions."""
    builder = TraceBuilder(len(asleep), end_s=10.0)
    for number, share in enumerate(asleep):
        rank = builder.rank(number)
        for tick in range(100):
            part = (f"part{tick % places}", "/home/me/train.py", 30)
            asleep_at = [DIFFUSE, part, SLEEP] if tick < 100 * share else [DIFFUSE, TENSOR]
            rank.stack(0.1 * tick + 0.05, asleep_at)
    results = compute(builder.build())
    assert results.not_training is not None
    return bool(results.not_training[0] >= 0)


def test_ranks_simulate_their_work_where_all_of_them_do_little_but_sleep() -> None:
    assert not is_told(0.99, 0.99)
    assert not is_told(0.95, 0.9, places=3)
    assert not is_told(0.95, 0.9, places=2)
    assert is_told(0.95, 0.9), "a pause lies in one place"
    assert is_told(0.95, 0.3, places=3), "one rank alone sleeps: the others wait for it"
    assert is_told(0.6, 0.6, places=3), "much of the work is real: pauses are none of it"


FUTEX = ("futex", "<system-call>", 0)
ENTER = (".__enter__", "<built-in>", 0)


@pytest.mark.parametrize(
    ("called", "busy_s", "in_python", "is_lock"),
    [
        ([FUTEX], 8.0, False, False),
        ([FUTEX], 0.0, False, True),
        ([FUTEX], 2.0, False, True),
        ([FUTEX], 8.0, True, True),
        ([ENTER, FUTEX], 8.0, False, True),
    ],
    ids=["its threads compute", "nobody works", "hardly", "Python has the lock", "asked for one"],
)
def test_a_library_that_its_own_threads_compute_for_waits_for_no_lock(
    called: list[FrameLike], busy_s: float, in_python: bool, is_lock: bool
) -> None:
    """The main thread waits for 6 of 10 s; another one is busy, part of the time in Python."""
    builder = TraceBuilder(1, end_s=10.0)
    rank = builder.rank(0).thread("pool", tid=100, cpu_s=busy_s)
    for tick in range(100):
        at_s = 0.1 * tick + 0.05
        rank.stack(at_s, [DIFFUSE, *called] if tick % 10 < 6 else [DIFFUSE, TENSOR])
        if in_python:
            rank.stack(at_s, [TOKENIZE], tid=100)
    for at_s in (0.0, 10.0):
        rank.main_sample(at_s, cpu_s=0.4 * at_s)
        rank.process_sample(at_s, cpu_s=(0.4 + busy_s / 10.0) * at_s)
    told = not_training(builder.build(), ()).tolist()
    assert told[0] == (ACTIVITIES.index(Activity.LOCK) if is_lock else -1)


def test_a_place_that_is_seldom_seen_to_wait_goes_by_the_others() -> None:
    """Threads compute while the rank waits, at one line in 40 samples and at another in two."""
    builder = TraceBuilder(1, end_s=10.0)
    rank = builder.rank(0).thread("pool", tid=100, cpu_s=8.0)
    for tick in range(100):
        waits = [NEXT_LINE if tick in (31, 62) else DIFFUSE, FUTEX]
        rank.stack(0.1 * tick + 0.05, waits if tick % 5 < 2 else [TOKENIZE, TENSOR])
    for at_s in (0.0, 10.0):
        rank.main_sample(at_s, cpu_s=0.4 * at_s)
        rank.process_sample(at_s, cpu_s=1.2 * at_s)
    trace = builder.build()
    assert (not_training(trace, ()) == -1).all()


def is_python_lost(
    *,
    lines: int = 4,
    functions: int = 4,
    most: float = 0.0,
    arrays: float = 0.0,
    wait: float = 0.0,
) -> bool:
    """Whether plain Python is a loss to a rank whose 1000 samples show so many lines of it.

    They are of so many functions. One line has more than the others, and arrays or waiting for a
    device take a part of the time.
    """
    builder = TraceBuilder(1, end_s=10.0)
    rank = builder.rank(0)
    heap = ("_heapq.heappop", "<built-in>", 0)
    number = ("math.log", "<built-in>", 0)
    for tick in range(1000):
        line = 60 if tick % 100 < 100 * most else 61 + tick % lines
        function = f"day{line % functions}"
        stack = [
            (function, "/home/me/queue.py", line),
            (heap if functions == 1 or tick % 3 else number),
        ]
        part = tick * 37 % 100 / 100  # spread evenly: what comes in blocks is evaluation
        if part < arrays:
            stack = [DIFFUSE, TENSOR]
        elif part < arrays + wait:
            stack = [DIFFUSE, ("torch.cuda.synchronize", "<built-in>", 0)]
        rank.stack(0.01 * tick + 0.005, stack)
    results = compute(builder.build())
    assert results.not_training is not None
    return ACTIVITIES.index(Activity.INTERPRETER) in results.not_training


def test_a_program_that_is_plain_python_is_not_slowed_by_it() -> None:
    """Events of a simulation, for example: no line takes most, and no array is computed with."""
    assert not is_python_lost(lines=4)
    assert not is_python_lost(lines=4, functions=1)
    assert not is_python_lost(lines=4, arrays=0.1)
    assert not is_python_lost(lines=4, functions=1, arrays=0.05)


def test_plain_python_beside_arrays_or_at_one_line_is_lost() -> None:
    assert is_python_lost(arrays=0.3)
    assert is_python_lost(wait=0.3)  # for a device
    assert is_python_lost(most=0.6)
    assert is_python_lost(lines=1)
    assert is_python_lost(lines=4, functions=1, arrays=0.15)


@pytest.mark.parametrize(("arrays", "is_lost"), [(0.0, False), (0.4, True)])
def test_taking_texts_apart_is_the_work_of_a_program_without_arrays(
    arrays: float, is_lost: bool
) -> None:
    """Lines of a log are matched, in a fifth of the time, and counted; or beside a training."""
    builder = TraceBuilder(1, end_s=10.0)
    for tick in range(1000):
        part, where = tick * 37 % 100 / 100, f"count{tick % 5}"
        match = [("parse", "/home/me/log.py", 33), ("re.Pattern.match", "<built-in>", 0)]
        stack = match if part > 0.8 else [(where, "/home/me/log.py", 50 + tick % 5)]
        builder.rank(0).stack(0.01 * tick + 0.005, [DIFFUSE, TENSOR] if part < arrays else stack)
    results = compute(builder.build())
    assert results.not_training is not None
    assert (ACTIVITIES.index(Activity.TEXT) in results.not_training) == is_lost


@pytest.mark.parametrize(("arrays", "is_lost"), [(0.0, False), (0.4, True)])
def test_what_is_read_is_prepared_for_something(arrays: float, is_lost: bool) -> None:
    """The loop reads a log and counts what is in its lines; or beside a training."""
    builder, loop = TraceBuilder(1, end_s=10.0), ("main", "/home/me/log.py", 70)
    for tick in range(1000):
        part = tick * 37 % 100 / 100
        parse = [("parse", "/home/me/log.py", 33 + tick % 5), ("re.Pattern.match", "<built-in>", 0)]
        stack = [parse[0], ("io.open", "<built-in>", 0)] if part > 0.98 else parse
        if part < arrays:
            stack = [DIFFUSE, TENSOR]
        builder.rank(0).stack(0.01 * tick + 0.005, [loop, *stack])
    results = compute(builder.build())
    assert results.not_training is not None
    assert (ACTIVITIES.index(Activity.DATA_PREPARATION) in results.not_training) == is_lost
