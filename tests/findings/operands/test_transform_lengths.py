"""Lines that transform a length with a large prime factor, and what is not known of a length."""

import pytest

from perfscope.metrics.host.transforms import Transform
from perfscope.schema.enums import Confidence
from tests.findings.operands.operand_runs import STEPS, judged, operand, site

INVERSE = ("scipy.fft._pocketfft.pypocketfft.c2r", "<built-in>", 0)
FORWARD = ("scipy.fft._pocketfft.pypocketfft.c2c", "<built-in>", 0)
HALF = operand(name="product", dtype="complex64", shape=[3, 12001], elements=[36003, 36003])


def changing(**changes: object) -> dict[str, object]:
    return site({**HALF, "contents": 10}, contents=10, **changes)


def test_a_prime_length_is_told_with_a_fast_one_and_saves_most_of_the_line() -> None:
    found = judged(changing(lengths=[24001]), library=INVERSE)["slow_operands"]
    assert "length 24,001, which is prime" in found.title
    assert "24,300" in found.actions[0]
    assert "next_fast_len(24001, real=True)" in found.actions[0]
    line_s = 0.1 * STEPS
    assert found.gain_s == pytest.approx(Transform(True, True).needless(24001) * line_s, rel=0.03)


def test_an_axis_is_the_length_where_no_integer_is_taken() -> None:
    prime = site(operand(shape=[3, 24001], elements=[72003, 72003], contents=10), contents=10)
    found = judged(prime, library=FORWARD)["slow_operands"]
    assert "length 24,001, which is prime" in found.title


def test_a_fast_length_and_other_calls_are_no_finding() -> None:
    quiet = judged(changing(lengths=[24000]), library=INVERSE)["slow_operands"]
    assert not quiet.status.is_fault
    assert quiet.confidence is Confidence.HIGH
    assert not judged(changing(lengths=[24001]))["slow_operands"].status.is_fault


def test_half_a_spectrum_whose_length_was_not_seen_is_not_said_to_be_handled_well() -> None:
    """12,001 values give 24,000 = 2^6 3 5^3 or 24,001, which is prime."""
    quiet = judged(changing(), library=INVERSE)["slow_operands"]
    assert not quiet.status.is_fault
    assert quiet.confidence is Confidence.LOW
    assert "24,000 or 24,001" in quiet.summary
