"""What a waiting thread needs from another thread or process: a lock, a queue item, a result."""

from collections import Counter
from collections.abc import Sequence

from perfscope.attribution.activity_rules import module_of, prefixes
from perfscope.attribution.stack_rules import (
    BUILT_IN,
    NATIVE_FILES,
    SYSTEM_CALL,
    is_user_file,
)
from perfscope.judging import MAIN
from perfscope.schema.enums import AwaitedThing
from perfscope.trace.loops import polling_frames
from perfscope.trace.model import Frame, Trace

LOCKS = (AwaitedThing.LOCK, AwaitedThing.FILE_LOCK)
"""What one holds while others wait for it."""

_RULES: dict[AwaitedThing, str] = {
    AwaitedThing.QUEUE: """
        queue _queue multiprocessing.queues asyncio.queues sched torch.multiprocessing.queue
    """,
    AwaitedThing.TASK: "concurrent multiprocessing.pool joblib dask distributed ray celery",
    AwaitedThing.THREAD: "threading.Thread.join threading._shutdown _thread._ThreadHandle.join",
    AwaitedThing.EVENT: "threading.Event threading.Condition threading.Barrier signal",
    AwaitedThing.EVENT_LOOP: "asyncio",
    AwaitedThing.FILE_LOCK: "fcntl flock os.lockf filelock portalocker sqlite3",
    AwaitedThing.PIPE: """
        select selectors zmq poll ppoll pselect6 epoll_wait epoll_pwait read(pipe) readv(pipe)
        write(pipe) writev(pipe)
    """,
    AwaitedThing.LOCK: """
        threading.Lock threading.RLock threading.Semaphore _thread multiprocessing.synchronize
        multiprocessing.SemLock acquire __enter__ semop semtimedop
    """,
}
"""Modules, classes and functions of libraries, methods of objects of an unknown kind, and system
calls; as for activities, the longest rule that fits tells."""

_OF_NAMES = {word: kind for kind, words in _RULES.items() for word in words.split()}


def waited_for(frames: Sequence[Frame], stack: Sequence[int]) -> AwaitedThing:
    """What a stack that shows waiting waits for: what the user's own function has called tells.

    A queue is made of conditions, and these of locks: the outermost one is what was asked for.
    """
    own = next(
        (at for at in reversed(range(len(stack))) if is_user_file(frames[stack[at]].file)), -1
    )
    found = (_told(frames[place]) for place in stack[own + 1 :])
    return next((kind for kind in found if kind is not None), AwaitedThing.UNKNOWN)


def _told(frame: Frame) -> AwaitedThing | None:
    if frame.file in (BUILT_IN, SYSTEM_CALL):
        name = frame.function.lstrip(".")
    else:
        name = f"{module_of(frame.file)}.{frame.function}"
    found = (_OF_NAMES.get(known) for known in prefixes(name))
    return next((kind for kind in found if kind is not None), None)


def main_wait(spent: Counter[int], trace: Trace) -> AwaitedThing:
    """What most of a wait is for; unknown where it is for several things.

    `spent` is how long, or how often, each stack was seen to wait.
    """
    by_kind: Counter[AwaitedThing] = Counter()
    for stack, amount in spent.items():
        kind = waited_for(trace.frames, trace.stacks[stack])
        if kind is AwaitedThing.UNKNOWN and _polls(trace, trace.stacks[stack]):
            kind = AwaitedThing.BUSY_LOOP
        by_kind[kind] += amount
    kind, most = by_kind.most_common(1)[0]
    return kind if most >= MAIN * sum(by_kind.values()) else AwaitedThing.UNKNOWN


def _polls(trace: Trace, stack: Sequence[int]) -> bool:
    """Whether the innermost code of Python is in a loop that only waits."""
    python = (place for place in reversed(stack) if trace.frames[place].file not in NATIVE_FILES)
    return next(python, -1) in polling_frames(trace)
