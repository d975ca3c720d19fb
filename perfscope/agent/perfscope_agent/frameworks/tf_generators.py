"""Batches that a generator of Python makes for tf.data, in a thread of TensorFlow.

The function that trains takes them inside TensorFlow, where nothing of Python sees it. But a batch
that was not ready when a step began was waited for until it was: Keras takes one batch a step, and
of a generator, PyDataset or Sequence each item is one. So the records are those of an input queue.
"""

from __future__ import annotations

from _thread import get_ident

from .. import recorder, stacks
from ..kinds import Any, AnyFunction, Iterator, ModuleType
from . import input_queues, wrap

_newest: list[Any] = [None]
"""The items of the iterator that TensorFlow began last."""


class Items:
    """What the program's own iterator yields, with the moments at which each was ready."""

    def __init__(self, items: Iterator[Any], source: Source) -> None:
        self._items = items
        self._made: list[tuple[int, int]] = []
        self.source = source
        self.ready_ns: list[int] = []
        self.samples: list[int] = []
        self.is_taken = False
        _newest[0] = self

    def __iter__(self) -> Items:
        return self

    def __next__(self) -> Any:
        """The next item; it is made in this thread, which is looked at meanwhile."""
        rec = recorder.current
        if rec is None or get_ident() == recorder.main_thread:
            return next(self._items)
        stacks.watch_current_thread(input_queues.MOST_WATCHED)
        if self.ready_ns:
            self._free(rec, rec.now())
        item = next(self._items)
        self.samples.append(wrap.batch_length(item))
        self.ready_ns.append(rec.now())
        return item

    def _free(self, rec: recorder.Recorder, now_ns: int) -> None:
        """The thread is asked for an item again: the one before has a place since."""
        self._made.append((self.ready_ns[-1], now_ns))
        if self.is_taken and recorder.current is rec:
            number, depth = self.source.number, self.source.ahead
            for begin_ns, end_ns in self._made:
                input_queues.write(rec, "put", number, depth, begin_ns, end_ns)
            self._made.clear()


class Source:
    """What the program gave tf.data to make iterators of."""

    def __init__(self, generator: Any) -> None:
        self._generator = generator
        self.number = 0
        self.ahead = 1

    def __call__(self, *args: Any) -> Any:
        """A new iterator, as the program's own."""
        return Items(iter(self._generator(*args)), self)


class Taker:
    """The steps of a fit(), each of which takes one item."""

    def __init__(self) -> None:
        self._items: Items | None = None
        self._steps = 0

    def begin(self) -> None:
        """An epoch begins, with a new iterator."""
        self._items, self._steps = None, 0

    def took(self, rec: recorder.Recorder, begin_ns: int, count: int) -> int:
        """A step is over that began at a moment, and worked on so many batches.

        Returns:
            How many samples they hold, 0 unknown.
        """
        if get_ident() != recorder.main_thread or not begin_ns:
            return 0
        if not self._steps:
            self._items = _newest[0]
        items, self._steps = self._items, self._steps + count
        if items is None or len(items.ready_ns) < self._steps:
            self._items = None
            return 0
        source = items.source
        source.number = source.number or input_queues.claim()
        source.ahead = max(source.ahead, len(items.ready_ns) - self._steps)
        items.is_taken = True
        end_ns = max(begin_ns, items.ready_ns[self._steps - 1])
        input_queues.write(rec, "get", source.number, source.ahead, begin_ns, end_ns)
        return sum(items.samples[self._steps - count : self._steps])


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

    A tf.data.Dataset may put several items of a generator into a batch.
    """
    is_items = hasattr(x, "__next__") or hasattr(x, "__getitem__") or hasattr(x, "__iter__")
    is_array = getattr(x, "shape", None) is not None or isinstance(x, (list, tuple, dict))
    return Taker() if is_items and not is_array and not hasattr(x, "element_spec") else None
