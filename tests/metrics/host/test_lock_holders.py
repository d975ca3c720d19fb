"""Who is at work while a main thread waits for a lock or a queue."""

import pytest

from perfscope.findings.facts.lock_holder import action
from perfscope.metrics.compute import compute
from perfscope.metrics.host.lock_holders import LockHolder
from perfscope.schema.enums import Activity, AwaitedThing
from perfscope.trace.model import Frame
from tests.support.trace_builder import FrameLike, TraceBuilder

OTHER = 77
MAIN = ("main", "/job/train.py", 40)
WAITS = ("rows", "/job/train.py", 33)
LOCK = ("_thread.lock.acquire", "<built-in>", 0)
GET = ("Queue.get", "/usr/lib/python3.12/queue.py", 171)
JOIN = ("Thread.join", "/usr/lib/python3.12/threading.py", 1149)
RESULT = ("Future.result", "/usr/lib/python3.12/concurrent/futures/_base.py", 451)
FILE_LOCK = ("fcntl.lockf", "<built-in>", 0)
ENCODES = ("_json.c_make_encoder", "<built-in>", 0)
WORK: tuple[FrameLike, ...] = (MAIN, ("renewed", "/job/train.py", 19))
SORTS = ("numpy.ndarray.sort", "<built-in>", 0)


def of_thread(*below: FrameLike, busy: float = 1.0) -> tuple[LockHolder, ...]:
    """A rank waits in half of its 100 samples; a thread is at work in a part of that time."""
    builder = TraceBuilder(1, end_s=10.0)
    rank = builder.rank(0).set(metadata={"python_threads": {str(OTHER): "renewing"}})
    for tick in range(100):
        at = 0.1 * tick + 0.05
        rank.stack(at, (MAIN, WAITS, *below) if tick % 2 else (MAIN, SORTS))
        is_busy = tick % 2 and tick < 100 * busy
        rank.stack(at, (*WORK, SORTS) if is_busy else (*WORK, LOCK), tid=OTHER)
    return compute(builder.build()).lock_holders


@pytest.mark.parametrize(
    ("below", "kind"),
    [
        ((LOCK,), AwaitedThing.LOCK),
        ((GET, LOCK), AwaitedThing.QUEUE),
        ((FILE_LOCK,), AwaitedThing.FILE_LOCK),
        ((JOIN, LOCK), AwaitedThing.THREAD),
        ((RESULT, LOCK), AwaitedThing.TASK),
    ],
)
def test_the_thread_that_works_meanwhile_and_where(
    below: tuple[FrameLike, ...], kind: AwaitedThing
) -> None:
    (found,) = of_thread(*below)
    assert found.is_told == (kind is AwaitedThing.LOCK)  # it works only while others wait for it
    assert (found.waiting_rank, found.rank, found.kind) == (0, 0, kind)
    assert (found.thread, found.share) == ("renewing", 1.0)
    assert found.frame == Frame("renewed", "/job/train.py", 19)


def test_who_works_in_less_than_half_of_the_wait_is_not_named() -> None:
    assert of_thread(LOCK, busy=0.7)[0].share == pytest.approx(0.7)
    assert of_thread(LOCK, busy=0.4) == ()


def by_turns(lock: FrameLike, *, working: FrameLike = WAITS) -> tuple[LockHolder, ...]:
    """Two ranks wait in turn while the other one works; a thread of each is seldom at work."""
    builder = TraceBuilder(2, end_s=10.0)
    for number in range(2):
        for tick in range(100):
            at, is_waiting = 0.1 * tick + 0.05, tick % 2 == number
            stack = (MAIN, WAITS, lock) if is_waiting else (MAIN, working, ENCODES)
            builder.rank(number).stack(at, stack)
            builder.rank(number).stack(at, (*WORK, SORTS if tick < 20 else LOCK), tid=OTHER)
    return compute(builder.build()).lock_holders


def test_of_a_file_it_is_the_rank_that_is_in_the_same_function() -> None:
    """They hold the lock of a file in turn, and write while they do."""
    found = by_turns(FILE_LOCK)
    assert [(one.waiting_rank, one.rank, one.kind) for one in found] == [
        (0, 1, AwaitedThing.FILE_LOCK),
        (1, 0, AwaitedThing.FILE_LOCK),
    ]
    assert {one.frame for one in found} == {Frame(*(WAITS[0], WAITS[1], WAITS[2]))}


def test_no_other_rank_holds_what_is_in_the_memory_of_a_process_or_works_elsewhere() -> None:
    assert by_turns(LOCK) == ()
    assert by_turns(FILE_LOCK, working=("train", "/job/train.py", 50)) == ()


def held(looks: int, by: int, lock: tuple[FrameLike, ...]) -> tuple[LockHolder, ...]:
    """Rank 0 waits for half of its samples in `rows`; rank 1 works in `train` meanwhile.

    In `looks` the kernel told who holds the lock, in `by` of them that it is rank 1.
    """
    builder = TraceBuilder(2, end_s=10.0)
    pids = [builder.rank(number).build().pid for number in range(2)]
    told = {"looks": looks, "held_by": [[pids[1], by], [1, looks - by]]}
    builder.rank(0).set(metadata={"file_locks": told})
    held_at = ("main", "/job/train.py", 47)
    for tick in range(100):
        at = 0.1 * tick + 0.05
        builder.rank(0).stack(at, (MAIN, WAITS, *lock) if tick % 2 else (MAIN, SORTS))
        working = (held_at, ("train", "/job/train.py", 50), SORTS)
        builder.rank(1).stack(at, working if tick % 2 else (MAIN, ENCODES))
    return compute(builder.build()).lock_holders


SQLITE = (("sqlite3.Connection.execute", "<built-in>", 0), ("clock_nanosleep", "<system-call>", 0))


@pytest.mark.parametrize("lock", [(FILE_LOCK,), SQLITE], ids=["fcntl", "SQLite tries again"])
def test_the_rank_that_the_kernel_tells_to_hold_the_lock(lock: tuple[FrameLike, ...]) -> None:
    """Where it works, and at which line of the function that both are in it went on to that."""
    (found,) = held(10, 9, lock)
    assert (found.waiting_rank, found.rank, found.is_told) == (0, 1, True)
    assert found.kind is AwaitedThing.FILE_LOCK
    assert found.frame == Frame("train", "/job/train.py", 50)
    assert found.within == Frame("main", "/job/train.py", 47)


@pytest.mark.parametrize(("looks", "by"), [(10, 4), (0, 0)])
def test_another_process_holds_it_mostly(looks: int, by: int) -> None:
    assert held(looks, by, (FILE_LOCK,)) == ()


THREAD_LOCK = ("_thread.lock.__enter__", "<built-in>", 0)
RUN = ("Tracker.run", "/job/track.py", 39)
REST = ("_thread.lock.acquire", "<built-in>", 0)
POST = ("Tracker.post", "/job/track.py", 51)
GETS = ("HTTPConnection.getresponse", "/usr/lib/python3.12/http/client.py", 1386)
RECEIVES = ("recvfrom", "<system-call>", 0)
FLUSH = ("Tracker.flush", "/job/track.py", 46)
SERVES = (
    ("serve", "/job/track.py", 90),
    ("BaseServer.serve_forever", "/usr/lib/python3.12/socketserver.py", 235),
    ("poll", "<system-call>", 0),
)


def seen_while_waiting(
    meanwhile: tuple[FrameLike, ...], after: tuple[FrameLike, ...]
) -> tuple[LockHolder, ...]:
    """The main thread waits for a lock for 4 of 8 looks; a thread is seen then, and in the 5th.

    A process of the rank that serves others is seen in each look.
    """
    builder = TraceBuilder(1, end_s=10.0)
    rank = builder.rank(0).set(metadata={"python_threads": {str(OTHER): "tracker"}})
    for tick in range(160):
        at, turn = 0.05 * tick + 0.02, tick % 8
        rank.stack(at, (MAIN, WAITS, THREAD_LOCK) if turn < 4 else (MAIN, SORTS))
        if turn <= 4:
            rank.stack(at, meanwhile if turn < 4 else after, tid=OTHER)
        rank.worker_stack(555, at, SERVES)
    return compute(builder.build()).lock_holders


POSTS = (RUN, FLUSH, POST, GETS, RECEIVES)
RESTS_AT = ("Tracker.run", "/job/track.py", 38)


def test_a_thread_that_leaves_a_function_as_the_wait_ends_holds_the_lock_there() -> None:
    """It needs no CPU for that: it waits for an answer; the process of the rank is not asked."""
    (found,) = seen_while_waiting(POSTS, (RESTS_AT, REST))
    assert (found.thread, found.is_told, found.processes) == ("tracker", True, 0)
    assert found.within == Frame(*FLUSH)
    assert found.frame == Frame(*POST)
    assert found.doing is Activity.NETWORK
    assert found.calling == GETS[0]
    told = action(found, Frame(*WAITS))
    assert "thread tracker of the same process does in Tracker.flush() (track.py:46) out of" in told
    assert "leaves it as the wait ends: that thread probably holds the lock" in told
    assert "waits for the network in HTTPConnection.getresponse" in told


def test_a_thread_that_is_there_at_any_time_holds_nothing() -> None:
    assert seen_while_waiting(SERVES, SERVES) == ()
    assert seen_while_waiting(POSTS, POSTS) == ()


def test_a_thread_of_a_library_alone_holds_nothing() -> None:
    """Nothing tells whether it is there at any time: no function of the program's is to be left."""
    channel = (("channel_spin", "/usr/lib/python3/site-packages/grpc/_channel.py", 1288), RECEIVES)
    assert seen_while_waiting(channel, channel) == ()


def test_of_threads_only_those_of_the_process_hold_a_lock_in_its_memory() -> None:
    """The process that serves is seen in each look, the thread waits for something itself."""
    assert seen_while_waiting((RUN, REST), (RUN, REST)) == ()
