"""The digits that come with scikit-learn, shared out to the ranks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from sgan.options import Options

Floats = npt.NDArray[np.float32]
Labels = npt.NDArray[np.int64]
CLASSES = 10
TRAINING = 1500
"""Images for training; the others are kept for evaluation."""


@dataclass(frozen=True)
class Images:
    """Images as rows of 64 numbers in [-1, 1]."""

    real: Floats  # without labels, those of this rank
    labeled: Floats
    labels: Labels
    test: Floats
    test_labels: Labels
    seed: int

    def batch(self, iteration: int, size: int) -> tuple[Floats, Labels, Floats]:
        """Labeled images, their labels, and images without; the same for the same iteration."""
        random = np.random.default_rng((self.seed, iteration))
        some = random.integers(0, len(self.labeled), size)
        others = random.integers(0, len(self.real), size)
        return self.labeled[some], self.labels[some], self.real[others]


def load(options: Options, *, rank: int, size: int) -> Images:
    """The images of one rank of several."""
    from sklearn.datasets import load_digits

    images, labels = load_digits(return_X_y=True)
    images = (images / 8.0 - 1.0).astype(np.float32)
    train, train_labels = images[:TRAINING], labels[:TRAINING]
    seen = [np.flatnonzero(train_labels == c)[: options.labels_per_class] for c in range(CLASSES)]
    chosen = np.concatenate(seen)
    return Images(
        real=train[rank::size],
        labeled=train[chosen],
        labels=train_labels[chosen].astype(np.int64),
        test=images[TRAINING:][: options.evaluate_samples],
        test_labels=labels[TRAINING:][: options.evaluate_samples].astype(np.int64),
        seed=options.seed * 1000 + rank,
    )
