"""What is waited for is told apart, and who was at work meanwhile is named."""

import pytest

from perfscope.attribution.stack_rules import BUILT_IN, SYSTEM_CALL
from perfscope.attribution.waited_for import waited_for
from perfscope.findings.core.finding import Finding
from perfscope.findings.facts import lock_holder
from perfscope.metrics.host.lock_holders import LockHolder
from perfscope.schema.enums import AwaitedThing, Confidence
from perfscope.trace.model import Frame, Trace
from tests.findings.analyzed import analyze_trace
from tests.support.trace_builder import TraceBuilder

Place = tuple[str, str, int]

STEPS, STEP_S = 60, 0.1
OTHER = 77
MAIN = ("main", "/job/train.py", 40)
LIBRARY = "/usr/lib/python3.11"
ACQUIRE: Place = ("_thread.lock.acquire", BUILT_IN, 0)
FUTEX: Place = ("futex", SYSTEM_CALL, 0)
FLOCK: Place = ("fcntl.flock", BUILT_IN, 0)
WRITE = ("write", "/job/journal.py", 28)


def library(file: str, function: str) -> Place:
    return (function, f"{LIBRARY}/{file}", 3)


EVENT_LOOP = [
    library("asyncio/runners.py", "Runner.run"),
    library("asyncio/base_events.py", "BaseEventLoop._run_once"),
    library("selectors.py", "EpollSelector.select"),
    ("epoll_wait", SYSTEM_CALL, 0),
]


@pytest.mark.parametrize(
    ("frames", "expected"),
    [
        ([(".__enter__", BUILT_IN, 0), FUTEX], AwaitedThing.LOCK),
        ([ACQUIRE], AwaitedThing.LOCK),
        (
            [library("queue.py", "Queue.get"), library("threading.py", "Condition.wait"), ACQUIRE],
            AwaitedThing.QUEUE,
        ),
        (
            [library("threading.py", "Event.wait"), library("threading.py", "Condition.wait")],
            AwaitedThing.EVENT,
        ),
        ([library("threading.py", "Thread.join"), ACQUIRE], AwaitedThing.THREAD),
        ([library("concurrent/futures/_base.py", "Future.result"), ACQUIRE], AwaitedThing.TASK),
        ([FLOCK], AwaitedThing.FILE_LOCK),
        (EVENT_LOOP, AwaitedThing.EVENT_LOOP),
        ([FUTEX], AwaitedThing.UNKNOWN),
    ],
)
def test_what_the_program_asked_for_tells(frames: list[Place], expected: AwaitedThing) -> None:
    stack = [Frame(name, file, line) for name, file, line in (MAIN, *frames)]
    assert waited_for(stack, range(len(stack))) is expected


def waiting(*leaves: Place, worker: Place | None) -> Finding:
    """What is found where ranks wait like that."""
    return analyze_trace(locked(*leaves, worker=worker)).findings["lost_to_lock"]


def locked(*leaves: Place, worker: Place | None) -> Trace:
    """Both ranks wait for the first four tenths of each step; a thread of theirs works meanwhile.

    Where they wait for a file, it is the other rank that works, the ranks in steps by turns.
    """
    builder = TraceBuilder(2, end_s=2.0 + STEP_S * STEPS)
    ranks = [builder.rank(number).init(1.0) for number in (0, 1)]
    is_file = FLOCK in leaves
    for step in range(STEPS):
        begin = 1.0 + STEP_S * step
        for number, rank in enumerate(ranks):
            for tenth in range(9):
                at = begin + (tenth + 0.5) * STEP_S / 10
                is_held = tenth < 4 and (not is_file or step % 2 == number)
                work = [MAIN, ("numpy.dot", BUILT_IN, 0)]
                rank.stack(at, [MAIN, *leaves] if is_held else work)
                if worker is not None and not is_file:
                    rank.stack(at, [worker], tid=OTHER)
            rank.op("MPI_Allreduce", begin + 0.09, begin + STEP_S, seq=step)
            rank.step(step, begin, begin + STEP_S)
    for rank in ranks:
        rank.finalize(1.0 + STEP_S * STEPS)
        rank.set(metadata={"python_threads": {str(OTHER): "journal"}})
    return builder.build()


def test_the_thread_that_works_meanwhile_is_named() -> None:
    found = waiting((".__enter__", BUILT_IN, 0), FUTEX, worker=WRITE)
    assert found.title == (
        "Waiting for a lock takes 2.40 s per rank, held in write() (journal.py:28)"
    )
    assert found.actions[0].startswith("Move the work in write() (journal.py:28) out of the lock")
    who = "while main() (train.py:40) waits for the lock, journal of the same process is there"
    assert who in found.actions[0]
    assert [frame.function for frame in found.where] == ["write", "main"]  # the line to change
    assert (found.confidence, found.is_inferred) == (Confidence.MEDIUM, True)  # it need not hold it


def test_of_a_task_nothing_is_said_of_locks() -> None:
    result = library("concurrent/futures/_base.py", "Future.result")
    found = waiting(result, ACQUIRE, worker=WRITE)
    assert found.title.startswith("Waiting for the result of a task takes ")
    assert "while the result of a task is waited for, " in found.actions[0]
    assert "lock" not in found.actions[0]


def test_of_a_lock_on_a_file_the_other_rank_is_named() -> None:
    """Each rank waits while the other one is at work: neither number is that of the holder."""
    found = waiting(FLOCK, worker=WRITE)
    assert found.title == (
        "Waiting for a file lock takes 1.20 s per rank, held in main() (train.py:40)"
    )
    assert (
        "while main() (train.py:40) waits for the lock, the other rank is there" in found.actions[0]
    )
    assert not [one for one in (found.title, *found.actions) if "rank 1" in one]
    assert [one.label for one in found.evidence if "Seen at work" in one.label] == [
        "Seen at work meanwhile: the other rank in main() (train.py:40)"
    ]


def test_where_nobody_was_seen_that_is_said() -> None:
    found = waiting((".__enter__", BUILT_IN, 0), FUTEX, worker=None)
    assert found.actions[0].startswith("main() (train.py:40) waits for a lock. Hold the lock only ")
    (row,) = [one for one in found.evidence if one.label == "What holds it"]
    assert str(row.value).startswith("not seen: ")
    assert found.confidence is Confidence.HIGH  # nobody is suspected


def test_coroutines_wait_for_whatever_they_await() -> None:
    """A loop in epoll may wait for a timer, a message, or what an executor computes."""
    found = waiting(*EVENT_LOOP, worker=None)
    assert found.title.startswith("Waiting for what coroutines await takes ")
    action = found.actions[0]
    assert "train.py:40) waits for what coroutines await. " in action
    assert "asyncio.gather" in action
    assert "run_in_executor" in action


def test_a_busy_loop_is_only_said_to_look_where_it_does() -> None:
    """The bytecode tells that nothing is kept, and not what a condition computes."""
    builder = TraceBuilder(1, end_s=8.0)
    name, file, _ = MAIN
    told = {"place": f"{name}\x1f{file}\x1f30", "lines": [[40, 41]], "polls": [[40, 41]]}
    rank = builder.rank(0).init(1.0).set(metadata={"loops": [told]})
    for tick in range(10, 70):
        rank.stack(tick / 10 + 0.05, [MAIN])
    rank.finalize(7.0)
    found = analyze_trace(builder.build()).findings["lost_to_lock"]
    assert found.title.startswith("Waiting for a time or change that a busy loop looks for takes ")
    assert ". Where the loop only looks whether a time has come or " in found.actions[0]


@pytest.mark.parametrize(
    ("waiting_ranks", "title", "action"),
    [
        ((0,), ", held by rank 1 in write() (journal.py:28)", "rank 1 holds it there"),
        ((0, 1), ", held in write() (journal.py:28)", "the other rank holds it there"),
        ((0, 1, 2), ", held in write() (journal.py:28)", "another rank holds it there"),
    ],
)
def test_one_line_is_to_be_changed_and_others_are_told_by_their_role(
    waiting_ranks: tuple[int, ...], title: str, action: str
) -> None:
    held, kind = Frame(*WRITE), AwaitedThing.FILE_LOCK
    within, waits = Frame("main", "/job/train.py", 62), Frame("main", "/job/train.py", 64)
    found = LockHolder(0, kind, 1, "", held, 0.9, is_told=True, within=within)
    assert lock_holder.held_in(found, waiting_ranks) == title
    told = lock_holder.action(found, waits, waiting_ranks)
    assert told.startswith("Move what is done in write() (journal.py:28) out of the lock, ")
    assert f"waits for the lock on the file in main() (train.py:64), {action}" in told
    assert told.endswith("called in main() (train.py:62).")
