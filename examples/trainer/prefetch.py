"""Input batches, prepared ahead of the training loop by threads with a bounded queue."""

from __future__ import annotations

import queue
import threading
import time
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from trainer.glyphs import Images, Labels

BRIGHTNESS = 0.1


class Prefetch:
    """Makes `count` batches in a fixed order; at most `depth` wait in a queue.

    `delay_s` is lost on each batch, as by a slow file system. Several `producers` change nothing
    about the batches and their order.
    """

    def __init__(
        self,
        samples: tuple[Images, Labels],
        *,
        batch: int,
        count: int,
        depth: int,
        seed: tuple[int, ...],
        delay_s: float = 0.0,
        producers: int = 1,
    ) -> None:
        self._images, self._labels = samples
        self._batch = batch
        self._count = count
        self._delay_s = delay_s
        self._random = np.random.default_rng(seed)
        self._ready: queue.Queue[tuple[Images, Labels]] = queue.Queue(maxsize=depth)
        self._drawn = 0
        self._drawing = threading.Lock()
        self._put = 0
        self._turn = threading.Condition()
        for _ in range(producers):
            threading.Thread(target=self._produce, name="prefetch", daemon=True).start()

    def get(self) -> tuple[Images, Labels]:
        """The next batch, as soon as it is ready."""
        return self._ready.get()

    def _produce(self) -> None:
        while True:
            with self._drawing:
                number = self._drawn
                self._drawn += 1
                # drawn in order, so that the batches do not depend on who makes them
                chosen = self._random.integers(0, len(self._labels), self._batch)
                brightness = self._random.normal(0.0, BRIGHTNESS, (self._batch, 1))
            if number >= self._count:
                return
            batch = self._prepare(chosen, brightness.astype(np.float32))
            with self._turn:
                self._turn.wait_for(lambda number=number: self._put == number)  # type: ignore[misc]
            self._ready.put(batch)
            with self._turn:
                self._put += 1
                self._turn.notify_all()

    def _prepare(
        self, chosen: npt.NDArray[np.int64], brightness: npt.NDArray[np.float32]
    ) -> tuple[Images, Labels]:
        """The chosen images, each with its change of brightness, and their labels."""
        if self._delay_s > 0.0:
            time.sleep(self._delay_s)
        return self._images[chosen] + brightness, self._labels[chosen]
