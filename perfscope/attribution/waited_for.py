"""For what a thread waits that another thread or process must give: a lock, a queue, a result."""

from collections.abc import Sequence
from enum import Enum

from perfscope.attribution.activity_rules import module_of
from perfscope.attribution.stack_rules import BUILT_IN, SYSTEM_CALL, is_user_file
from perfscope.trace.model import Frame


class WaitedFor(Enum):
    """What is waited for; the value is what people read."""

    QUEUE = "a queue"
    TASK = "the result of a task"
    THREAD = "the end of a thread"
    EVENT = "an event of another thread"
    FILE_LOCK = "a lock on a file"
    PIPE = "a pipe or socket"
    LOCK = "a lock"
    UNKNOWN = "a thread, a lock or a queue"


_RULES: dict[WaitedFor, str] = {
    WaitedFor.QUEUE: """
        queue _queue multiprocessing.queues asyncio.queues sched torch.multiprocessing.queue
    """,
    WaitedFor.TASK: "concurrent multiprocessing.pool joblib dask distributed ray celery",
    WaitedFor.THREAD: "threading.Thread.join threading._shutdown _thread._ThreadHandle.join",
    WaitedFor.EVENT: "threading.Event threading.Condition threading.Barrier signal asyncio",
    WaitedFor.FILE_LOCK: "fcntl flock os.lockf filelock portalocker",
    WaitedFor.PIPE: """
        select selectors zmq poll ppoll pselect6 epoll_wait epoll_pwait read(pipe) readv(pipe)
        write(pipe) writev(pipe)
    """,
    WaitedFor.LOCK: """
        threading.Lock threading.RLock threading.Semaphore _thread multiprocessing.synchronize
        multiprocessing.SemLock acquire __enter__ semop semtimedop
    """,
}
"""Modules, classes and functions of libraries, methods of objects of an unknown kind, and system
calls; as for activities, the longest rule that fits tells."""

_OF_NAMES = {word: kind for kind, words in _RULES.items() for word in words.split()}


def waited_for(frames: Sequence[Frame], stack: Sequence[int]) -> WaitedFor:
    """What a stack that shows waiting waits for: what the user's own function has called tells.

    A queue is made of conditions, and these of locks: the outermost one is what was asked for.
    """
    own = next(
        (at for at in reversed(range(len(stack))) if is_user_file(frames[stack[at]].file)), -1
    )
    found = (_told(frames[place]) for place in stack[own + 1 :])
    return next((kind for kind in found if kind is not None), WaitedFor.UNKNOWN)


def _told(frame: Frame) -> WaitedFor | None:
    if frame.file in (BUILT_IN, SYSTEM_CALL):
        name = frame.function.lstrip(".")
    else:
        name = f"{module_of(frame.file)}.{frame.function}"
    while name:
        if (kind := _OF_NAMES.get(name)) is not None:
            return kind
        name = name.rpartition(".")[0]
    return None
