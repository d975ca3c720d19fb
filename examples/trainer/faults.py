"""Time and memory that the options plant into a run."""

from __future__ import annotations

import time

import numpy as np
import numpy.typing as npt

from trainer.options import EvaluateOn, Options, SlowPart, Work


class Faults:
    """What one rank loses in each part of each step."""

    def __init__(self, options: Options, *, rank: int, size: int) -> None:
        self._options = options
        self._rank = rank
        self._size = size
        self._random = np.random.default_rng(options.seed)
        self._unlucky_rank = -1
        self._kept: list[npt.NDArray[np.uint8]] = []
        self._matrix = np.ones((64, 64), np.float32)
        self.factor = options.imbalance if rank == options.imbalance_rank else 1.0

    def begin_step(self) -> None:
        """Draws the same unlucky rank on all ranks, and leaks."""
        self._unlucky_rank = int(self._random.integers(self._size))
        if self._options.leak_kib > 0:
            self._kept.append(np.ones(self._options.leak_kib * 1024, np.uint8))

    def forward(self) -> None:
        """Time that this rank's forward pass takes beyond its computation."""
        extra_ms = self._options.random_slow_ms if self._rank == self._unlucky_rank else 0.0
        self.spend(
            self._options.forward_ms * self.factor + extra_ms + self._slow_ms(SlowPart.FORWARD)
        )

    def backward(self) -> None:
        """Time that this rank's backward pass takes beyond its computation."""
        self.spend(self._options.backward_ms * self.factor + self._slow_ms(SlowPart.BACKWARD))

    def spend_on_tests(self) -> None:
        """Time that evaluation takes beyond its computation; shared when all ranks evaluate."""
        sharers = self._size if self._options.evaluate_on is EvaluateOn.ALL else 1
        self.spend(self._options.evaluate_ms / sharers)

    def spend(self, milliseconds: float) -> None:
        """Sleeps or computes for that long."""
        if milliseconds <= 0.0:
            return
        if self._options.work is Work.SLEEP:
            time.sleep(milliseconds / 1e3)
            return
        end_ns = time.monotonic_ns() + int(milliseconds * 1e6)
        while time.monotonic_ns() < end_ns:
            self._matrix = np.tanh(self._matrix @ self._matrix)

    def _slow_ms(self, part: SlowPart) -> float:
        slow = self._rank == self._options.slow_rank and part is self._options.slow_where
        return self._options.slow_ms if slow else 0.0
