"""Queues between threads: when a producer had each batch ready, and when the program took it.

Only a bounded first-in-first-out `queue.Queue` that other threads fill and the program's own thread
empties is recorded: one from which that thread takes nothing is left alone after some puts. A
record is a phase named `perfscope.queue RS put|get RS number` (RS: 0x1E) whose epoch is the depth
of the queue. A put lasts from the moment the batch was ready to the moment it was in the queue.
"""

from __future__ import annotations

from _thread import get_ident

from .. import recorder, stacks
from ..kinds import Any, AnyFunction, ModuleType
from . import wrap

_PACKAGE = "perfscope.queue"
_SEPARATOR = "\x1e"
_NUMBER = "_perfscope_number"
_MOST_QUEUES = 64
MOST_WATCHED = 8
"""Threads whose stacks are sampled, to know what making a batch consists of."""
_UNTAKEN = "_perfscope_untaken"
_MOST_UNTAKEN = 64
"""Puts beyond twice the depth of a queue that the program's own thread need not have taken yet."""

_known = 0


def install(module: ModuleType) -> None:
    """Records puts and gets of the queues of the standard library."""
    plain_get = module.Queue._get  # of other orders, such as PriorityQueue, it is another

    def is_input(queue: Any) -> bool:
        size = queue.maxsize
        return isinstance(size, int) and size > 0 and type(queue)._get is plain_get

    def make_put(original: AnyFunction) -> AnyFunction:
        def put(self: Any, *args: Any, **kwargs: Any) -> Any:
            rec = recorder.current
            if rec is None or get_ident() == recorder.main_thread or not is_input(self):
                return original(self, *args, **kwargs)
            begin_ns = rec.now()
            result = original(self, *args, **kwargs)
            if wrap.asked(False, _is_taken, self):  # what takes no attributes is not recorded
                _write(rec, self, "put", begin_ns)
            return result

        return put

    def make_get(original: AnyFunction) -> AnyFunction:
        def get(self: Any, *args: Any, **kwargs: Any) -> Any:
            rec = recorder.current
            if rec is None or get_ident() != recorder.main_thread or not is_input(self):
                return original(self, *args, **kwargs)
            begin_ns = rec.now()
            item = original(self, *args, **kwargs)
            if wrap.asked(False, _is_filled, self):
                _write(rec, self, "get", begin_ns)
            return item

        return get

    wrap.replace(module.Queue, "put", make_put)
    wrap.replace(module.Queue, "get", make_get)


def _is_taken(queue: Any) -> bool:
    """Counts a put; whether the program's own thread took something not long before."""
    untaken = getattr(queue, _UNTAKEN, 0) + 1
    setattr(queue, _UNTAKEN, untaken)
    return bool(untaken <= 2 * queue.maxsize + _MOST_UNTAKEN)


def _is_filled(queue: Any) -> bool:
    """Notes a get; whether another thread fills the queue: else the program waits for nobody."""
    if not getattr(queue, _NUMBER, 0):
        return False
    setattr(queue, _UNTAKEN, 0)
    return True


def claim() -> int:
    """A number for one more queue; 0 where there are so many that it is not recorded."""
    global _known
    if _known >= _MOST_QUEUES:
        return 0
    _known += 1
    return _known


def write(
    rec: recorder.Recorder, what: str, number: int, depth: int, begin_ns: int, end_ns: int
) -> None:
    """Writes a put or a get of a queue that has a number."""
    if number:
        name = rec.name(_SEPARATOR.join((_PACKAGE, what, str(number))))
        rec.phase(recorder.Phase.INPUT, name, recorder.NO_STEP, depth, begin_ns, end_ns)


def _write(rec: recorder.Recorder, queue: Any, what: str, begin_ns: int) -> None:
    """Writes what is over, of the first queues of the program; never disturbs it."""
    try:
        number = getattr(queue, _NUMBER, 0)
        if not number:
            number = claim()
            setattr(queue, _NUMBER, number)
        if number and recorder.current is rec:
            if what == "put":
                stacks.watch_current_thread(MOST_WATCHED)
            write(rec, what, number, min(queue.maxsize, 0x7FFFFFFF), begin_ns, rec.now())
    except Exception:
        return
