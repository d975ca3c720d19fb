"""Batches that a generator of Python makes for tf.data, in a thread of TensorFlow.

The function that trains takes them inside TensorFlow, where nothing of Python sees it. But a batch
that was not ready when a step began was waited for until it was: Keras takes one batch a step, and
of a generator, PyDataset or Sequence each item is one. So the records are those of an input queue.
"""

from __future__ import annotations

from _thread import get_ident
from collections import deque

from .. import recorder, stacks
from ..kinds import Any, AnyFunction, Iterator, ModuleType
from . import input_queues, wrap

_MOST_AHEAD = 4096
"""Items that nobody was seen to take: with more of them they are no batches of a fit()."""


class Queue:
    """The iterators of one source, as the recording numbers them, and the newest of them."""

    newest: Ready | None = None
    """Of all sources."""

    def __init__(self) -> None:
        self.number = 0
        self.ahead = 1
        self.ready: Ready | None = None


class Ready:
    """The items of one iterator that were not taken yet: when each was ready, and its samples.

    It holds no item and nothing of the program, which may want its iterator to be closed in time.
    """

    def __init__(self, queue: Queue) -> None:
        self.queue = queue
        self.items: deque[tuple[int, int]] = deque()
        self.is_taken = False
        self.is_followed = True
        self._made: list[tuple[int, int]] = []
        self._newest_ns = 0

    def add(self, ready_ns: int, samples: int) -> None:
        """One more item is ready."""
        self._newest_ns = ready_ns
        self.items.append((ready_ns, samples))
        if len(self.items) > _MOST_AHEAD:
            self.is_followed = False
            self.items = deque()  # whoever takes from the other one goes on
            self._made.clear()

    def free(self, rec: recorder.Recorder, now_ns: int) -> None:
        """The thread is asked for an item again: the one before has a place since."""
        if not self._newest_ns:
            return
        self._made.append((self._newest_ns, now_ns))
        if self.is_taken and recorder.current is rec:
            for begin_ns, end_ns in self._made:
                input_queues.write(
                    rec, "put", self.queue.number, self.queue.ahead, begin_ns, end_ns
                )
            self._made.clear()


class Source:
    """What the program gave tf.data to make iterators of."""

    def __init__(self, generator: Any) -> None:
        self._generator = generator
        self._queue = Queue()

    def __call__(self, *args: Any) -> Any:
        """A new iterator, as the program's own."""
        items = iter(self._generator(*args))
        self._queue.ready = Queue.newest = Ready(self._queue)
        return Items(items, self._queue.ready)


class Items:
    """What the program's own iterator yields, with the moments at which each was ready."""

    def __init__(self, items: Iterator[Any], ready: Ready) -> None:
        self._items = items
        self._ready = ready

    def __iter__(self) -> Items:
        return self

    def __next__(self) -> Any:
        """The next item; it is made in this thread, which is looked at meanwhile."""
        rec = recorder.current
        if rec is None or get_ident() == recorder.main_thread:
            return next(self._items)
        stacks.watch_current_thread(input_queues.MOST_WATCHED)
        if not self._ready.is_followed:
            return next(self._items)
        _guarded(self._ready.free, rec, rec.now())
        item = next(self._items)
        _guarded(self._ready.add, rec.now(), wrap.batch_length(item))
        return item


def _guarded(told: AnyFunction, *arguments: Any) -> Any:
    """What follows items has no part in the program: nothing that it raises reaches that."""
    return wrap.guarded("items of a generator are not followed", told, *arguments)


class Taker:
    """The steps of a fit(), each of which takes one item."""

    def __init__(self) -> None:
        self._before = Queue.newest
        self._queue: Queue | None = None
        self._ready: Ready | None = None
        self._is_new_epoch = True

    def begin(self) -> None:
        """An epoch begins, with a new iterator or with that of the last one."""
        self._is_new_epoch = True

    def took(self, rec: recorder.Recorder, begin_ns: int, count: int) -> int:
        """A step is over that began at a moment, and worked on so many batches.

        Returns:
            How many samples they hold, 0 unknown.
        """
        if get_ident() != recorder.main_thread or not begin_ns:
            return 0
        return _guarded(self._took, rec, begin_ns, count) or 0

    def _took(self, rec: recorder.Recorder, begin_ns: int, count: int) -> int:
        if self._is_new_epoch:
            self._is_new_epoch, self._ready = False, self._find()
        ready = self._ready
        items = ready.items if ready is not None else None
        if ready is None or items is None or len(items) < count:
            self._ready = None
            return 0
        taken = [items.popleft() for _ in range(count)]
        queue, ready.is_taken = ready.queue, True
        queue.number = queue.number or input_queues.claim()
        queue.ahead = max(queue.ahead, len(ready.items))
        end_ns = max(begin_ns, taken[-1][0])
        input_queues.write(rec, "get", queue.number, queue.ahead, begin_ns, end_ns)
        return sum(samples for _, samples in taken)

    def _find(self) -> Ready | None:
        """What the epoch's first step took its item from: a validation has iterators of its own."""
        if self._queue is None and Queue.newest is not self._before and Queue.newest is not None:
            self._queue = Queue.newest.queue
        return self._queue.ready if self._queue is not None else None


def install(module: ModuleType) -> None:
    """Follows what generators yield to tf.data."""
    state = getattr(module.DatasetV2, "_GeneratorState", None)
    if state is None:
        return

    def make(original: AnyFunction) -> AnyFunction:
        def initialize(self: Any, generator: Any) -> None:
            original(self, Source(generator))

        return initialize

    wrap.replace(state, "__init__", make)


def taker(x: Any) -> Taker | None:
    """What follows the steps of a fit() over such items; None where an item may be no batch.

    A tf.data.Dataset may put several items of a generator into a batch. Properties of a class of
    the program's own may raise anything.
    """
    try:
        is_items = hasattr(x, "__next__") or hasattr(x, "__getitem__") or hasattr(x, "__iter__")
        is_array = getattr(x, "shape", None) is not None or isinstance(x, (list, tuple, dict))
        return Taker() if is_items and not is_array and not hasattr(x, "element_spec") else None
    except Exception:
        return None
