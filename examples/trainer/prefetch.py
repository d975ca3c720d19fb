"""Input batches, prepared ahead of the training loop by a thread with a bounded queue."""

from __future__ import annotations

import queue
import threading
import time
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from trainer.glyphs import Images, Labels

BRIGHTNESS = 0.1


class Prefetch:
    """Makes `count` batches in a fixed order; at most `depth` wait in a queue.

    `delay_s` is lost on each batch, as by a slow file system.
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
    ) -> None:
        self._images, self._labels = samples
        self._batch = batch
        self._count = count
        self._delay_s = delay_s
        self._random = np.random.default_rng(seed)
        self._ready: queue.Queue[tuple[Images, Labels]] = queue.Queue(maxsize=depth)
        threading.Thread(target=self._produce, name="prefetch", daemon=True).start()

    def get(self) -> tuple[Images, Labels]:
        """The next batch, as soon as it is ready."""
        return self._ready.get()

    def _produce(self) -> None:
        for _ in range(self._count):
            self._ready.put(self._prepare())

    def _prepare(self) -> tuple[Images, Labels]:
        """One batch with a random change of brightness per image."""
        if self._delay_s > 0.0:
            time.sleep(self._delay_s)
        chosen = self._random.integers(0, len(self._labels), self._batch)
        brightness = self._random.normal(0.0, BRIGHTNESS, (self._batch, 1)).astype(np.float32)
        return self._images[chosen] + brightness, self._labels[chosen]
