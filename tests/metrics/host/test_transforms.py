"""What a length costs a Fourier transform by pocketfft's rule, worked out by hand."""

import pytest

from perfscope.metrics.host.transforms import Transform, factors, transform_of
from perfscope.trace.model import Frame

COMPLEX, REAL = Transform(False, False), Transform(True, False)


def test_a_prime_takes_two_convolutions_of_twice_its_length() -> None:
    """1009 goes by way of 2025 = 3^4 5^2, three times; 1024 = 2^10 takes ten twos alone."""
    assert COMPLEX.needless(1009) == pytest.approx(1 - 1024 * 20 / (3 * 2025 * (12 + 10)))
    assert REAL.needless(1009) == pytest.approx(1 - 0.5 * 1024 * 20 / (3 * 2025 * (12 + 10)))


@pytest.mark.parametrize("length", [24000, 65536, 3**9, 128 * 101, 47, 1])
def test_small_factors_and_short_lengths_are_fast(length: int) -> None:
    assert COMPLEX.needless(length) == REAL.needless(length) == 0.0


def test_the_next_fast_length_is_that_of_scipy() -> None:
    """The example in the documentation of `scipy.fft.next_fast_len`."""
    assert REAL.fast(93059) == 93312
    assert factors(93312) == [2] * 7 + [3] * 6


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        ("scipy.fft._pocketfft.pypocketfft.c2r", Transform(True, True)),
        ("irfft", Transform(True, True)),
        ("torch._C._fft.fft_rfft", REAL),
        ("ihfft", REAL),
        ("fftn", COMPLEX),
        ("numpy.ufunc.reduce", None),
    ],
)
def test_what_is_transformed_is_told_by_name(function: str, expected: Transform | None) -> None:
    assert transform_of([Frame("mean", "/x/numpy/mean.py", 1), Frame(function, "", 0)]) == expected
