"""Fourier transforms by their length: what a large prime factor costs, at most.

The rule is that of pocketfft, by which NumPy, SciPy and PyTorch transform (`cost_guess` and the
plans in `pocketfft_hdronly.hpp`, https://github.com/mreineck/pocketfft): it adds up the factors of
a length, those beyond 5 as 1.1 times as much, and goes over to Bluestein's algorithm where a
convolution of more than twice the length, with half as much added, is less than that.
"""

import re
from collections.abc import Sequence

from perfscope.structures import dataclass
from perfscope.trace.model import Frame
from perfscope.trace.operands import WorkedOn

_NAMES = re.compile(r"fft|(^|[._])[cr]2[cr]$")
_REAL = re.compile(r"(i?rfft|i?hfft)\w*$|(^|[._])(r2c|c2r)$")
_TO_REAL = re.compile(r"(irfft|(?<!i)hfft)\w*$|(^|[._])c2r$")
_SHORT, _LARGER_TIMES, _CONVOLVED_TIMES = 50, 1.1, 2 * 1.5
"""Of that rule: lengths that are always transformed directly, and the weights."""

_FACTORS, _FACTORS_OF_REAL = (2, 3, 5, 7, 11), (2, 3, 5)


@dataclass(frozen=True)
class Transform:
    """What kind of transform a line calls."""

    is_real: bool  # of values that are real on one of its sides
    is_to_real: bool  # of half a spectrum: its length is not that of what it takes

    def lengths(self, site: WorkedOn) -> tuple[int, ...]:
        """What its length may be: an integer that the line takes, else any axis of its array.

        Axes of a few values are taken for those along which it is repeated, where these come first.
        Half a spectrum of n values comes from 2 (n - 1) values, or from one more.
        """
        if site.lengths:
            return tuple(sorted(set(site.lengths)))
        largest = max(site.operands, key=lambda one: one.elements, default=None)
        shape = [size for size in largest.shape if size > 1] if largest is not None else []
        is_last = bool(shape) and shape[-1] >= _SHORT
        sizes = {size for size in shape if size >= _SHORT or not is_last}
        if self.is_to_real:
            sizes = {length for size in sizes for length in (2 * (size - 1), 2 * size - 1)}
        return tuple(sorted(sizes))

    def needless(self, length: int) -> float:
        """The part of its time that a fast length near it saves; 0 of one with small factors."""
        half = 0.5 if self.is_real else 1.0
        direct = half * _cost(length)
        convolved = _CONVOLVED_TIMES * _cost(_fast(2 * length - 1, _FACTORS))
        is_mostly_small = length < _SHORT or factors(length)[-1] ** 2 <= length
        if is_mostly_small or convolved >= direct:
            return 0.0
        return max(0.0, 1.0 - half * _cost(self.fast(length)) / convolved)

    def fast(self, length: int) -> int:
        """The next length of small factors, as `scipy.fft.next_fast_len` tells it."""
        return _fast(length, _FACTORS_OF_REAL if self.is_real else _FACTORS)


def transform_of(stack: Sequence[Frame]) -> Transform | None:
    """The transform that functions of a stack, from the program's line on, compute; None: none."""
    names = [one.function for one in stack if _NAMES.search(one.function)]
    if not names:
        return None
    return Transform(
        any(_REAL.search(one) for one in names), any(_TO_REAL.search(one) for one in names)
    )


def factors(length: int) -> list[int]:
    """The prime factors of a length, the largest one last."""
    found, left, factor = [], length, 2
    while factor * factor <= left:
        while left % factor == 0:
            found.append(factor)
            left //= factor
        factor += 1
    return [*found, left] if left > 1 else found or [1]


def _cost(length: int) -> float:
    largest_cheap = _FACTORS_OF_REAL[-1]
    return length * sum(
        one if one <= largest_cheap else _LARGER_TIMES * one for one in factors(length)
    )


def _fast(length: int, allowed: Sequence[int]) -> int:
    while not _has_only(length, allowed):
        length += 1
    return length


def _has_only(length: int, allowed: Sequence[int]) -> bool:
    for factor in allowed:
        while length % factor == 0:
            length //= factor
    return length == 1
