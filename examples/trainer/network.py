"""A network of one hidden layer whose parameters and gradients each live in one flat buffer."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from trainer.glyphs import CLASSES, PIXELS, Images, Labels

SMALL = 1 / 32  # a bias beside its weights
Floats = npt.NDArray[np.float32]


class Network:
    """pixels -> hidden (ReLU) -> classes (softmax), trained by SGD with momentum.

    `exchange` is what one allreduce a step adds up over the ranks: all gradients (sums over
    samples), then the sum of the losses and the number of samples, then padding.
    """

    def __init__(self, hidden: int, *, seed: int, padding: int = 0) -> None:
        shapes = ((PIXELS, hidden), (hidden,), (hidden, CLASSES), (CLASSES,))
        size = sum(int(np.prod(shape)) for shape in shapes)
        self.parameters: Floats = np.zeros(size, np.float32)
        self.exchange: Floats = np.zeros(size + 2 + padding, np.float32)
        self._size = size
        self._velocity: Floats = np.zeros(size, np.float32)
        self._weights = _views(self.parameters, shapes)
        self._gradients = _views(self.exchange, shapes)
        random = np.random.default_rng(seed)
        for weight in (self._weights[0], self._weights[2]):
            weight[:] = random.normal(0.0, np.sqrt(2.0 / weight.shape[0]), weight.shape)

    def forward(self, images: Images) -> tuple[Floats, Floats]:
        """Hidden activations (n, hidden) and class scores (n, CLASSES)."""
        first, first_bias, second, second_bias = self._weights
        hidden = images @ first
        hidden += first_bias
        np.maximum(hidden, 0.0, out=hidden)
        return hidden, (hidden @ second + second_bias).astype(np.float32, copy=False)

    def backward(self, images: Images, labels: Labels, outputs: tuple[Floats, Floats]) -> None:
        """Fills `exchange` with this rank's gradients, loss and sample count."""
        hidden, scores = outputs
        probabilities = np.exp(scores - scores.max(axis=1, keepdims=True))
        probabilities /= probabilities.sum(axis=1, keepdims=True)
        rows = np.arange(len(labels))
        loss = -np.log(probabilities[rows, labels] + 1e-9).sum()
        probabilities[rows, labels] -= 1.0
        first, first_bias, second, second_bias = self._gradients
        np.matmul(hidden.T, probabilities, out=second)
        second_bias[:] = probabilities.sum(axis=0)
        below = probabilities @ self._weights[2].T
        below *= hidden > 0.0
        np.matmul(images.T, below, out=first)
        first_bias[:] = below.sum(axis=0)
        self.exchange[self._size : self._size + 2] = loss, len(labels)

    def update(self, *, rate: float, momentum: float) -> float:
        """Applies the gradients added up over all ranks; returns the mean loss of the step."""
        loss, count = (float(x) for x in self.exchange[self._size : self._size + 2])
        self._velocity *= momentum
        self._velocity -= (rate / count) * self.exchange[: self._size]
        self.parameters += self._velocity
        return loss / count

    def parts(self, count: int) -> list[Floats]:
        """`exchange` in so many parts: half of it, then large and small ones, as layers have."""
        if count == 1:
            return [self.exchange]
        sizes = np.where(np.arange(count - 1) % 2, 1.0, SMALL)
        shares = np.concatenate([[0.5], 0.5 * sizes / sizes.sum()])
        ends = np.rint(np.cumsum(shares) * len(self.exchange)).astype(int)
        return [part for part in np.split(self.exchange, ends[:-1]) if len(part)]

    def save(self, path: str) -> None:
        """Writes the parameters as a .npz file."""
        np.savez(path, parameters=self.parameters)


def _views(buffer: Floats, shapes: tuple[tuple[int, ...], ...]) -> list[Floats]:
    """Parts of a flat buffer with the given shapes, one after the other."""
    views, start = [], 0
    for shape in shapes:
        end = start + int(np.prod(shape))
        views.append(buffer[start:end].reshape(shape))
        start = end
    return views
