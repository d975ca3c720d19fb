"""Images of digits made in code: random place and contrast, with noise and gaps."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

SIDE = 20
PIXELS = SIDE * SIDE
CLASSES = 10
BLOCK = 256
NOISE = 0.3
GAPS = 0.1
SHIFT = 2
HEIGHT, WIDTH = 14, 10
MEAN = np.float32(0.12)

# Each digit as 7 rows of 5 pixels, the most significant bit on the left.
DIGITS = (
    (0b01110, 0b10001, 0b10011, 0b10101, 0b11001, 0b10001, 0b01110),
    (0b00100, 0b01100, 0b00100, 0b00100, 0b00100, 0b00100, 0b01110),
    (0b01110, 0b10001, 0b00001, 0b00110, 0b01000, 0b10000, 0b11111),
    (0b01110, 0b10001, 0b00001, 0b00110, 0b00001, 0b10001, 0b01110),
    (0b00010, 0b00110, 0b01010, 0b10010, 0b11111, 0b00010, 0b00010),
    (0b11111, 0b10000, 0b11110, 0b00001, 0b00001, 0b10001, 0b01110),
    (0b00110, 0b01000, 0b10000, 0b11110, 0b10001, 0b10001, 0b01110),
    (0b11111, 0b00001, 0b00010, 0b00100, 0b01000, 0b01000, 0b01000),
    (0b01110, 0b10001, 0b10001, 0b01110, 0b10001, 0b10001, 0b01110),
    (0b01110, 0b10001, 0b10001, 0b01111, 0b00001, 0b00010, 0b01100),
)

Images = npt.NDArray[np.float32]
Labels = npt.NDArray[np.int64]


def make_samples(*, seed: int, blocks: range) -> tuple[Images, Labels]:
    """Images (n, PIXELS) around 0 and labels (n,) of the given blocks; the same on every rank."""
    parts = [_make_block(np.random.default_rng((seed, block))) for block in blocks]
    return np.concatenate([p[0] for p in parts]), np.concatenate([p[1] for p in parts])


def _make_block(random: np.random.Generator) -> tuple[Images, Labels]:
    shapes = _shapes()
    labels = random.integers(0, CLASSES, BLOCK)
    images = random.normal(0.0, NOISE, (BLOCK, SIDE, SIDE)).astype(np.float32)
    contrast = random.uniform(0.5, 1.0, BLOCK)
    kept = random.random((BLOCK, HEIGHT, WIDTH)) > GAPS
    top = random.integers(0, 2 * SHIFT + 1, BLOCK) + (SIDE - HEIGHT) // 2 - SHIFT
    left = random.integers(0, 2 * SHIFT + 1, BLOCK) + (SIDE - WIDTH) // 2 - SHIFT
    drawn = contrast[:, None, None] * (shapes[labels] * kept)
    rows = top[:, None, None] + np.arange(HEIGHT)[:, None]
    columns = left[:, None, None] + np.arange(WIDTH)
    images[np.arange(BLOCK)[:, None, None], rows, columns] += drawn
    return images.reshape(BLOCK, PIXELS) - MEAN, labels


def _shapes() -> npt.NDArray[np.float32]:
    """All digits at twice the size of the font, (CLASSES, HEIGHT, WIDTH), 0 or 1."""
    bits = [[[row >> (4 - column) & 1 for column in range(5)] for row in digit] for digit in DIGITS]
    return np.array(bits, dtype=np.float32).repeat(2, axis=1).repeat(2, axis=2)
