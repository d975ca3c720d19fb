"""Numbers for people: the same quantity is written the same way everywhere."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perfscope.units import (
    format_bytes,
    format_change,
    format_count,
    format_cpus,
    format_ratio,
    format_seconds,
    format_share,
    inside,
    parse_bytes,
    singular,
)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
        (1.2345, "1.23 s"),
        (0.045, "45.0 ms"),
        (0.9999, "1.00 s"),
        (2.5e-6, "2.50 µs"),
        (61e-9, "61.0 ns"),
        (119.6, "120 s"),
        (200, "3 min 20 s"),
        (7500, "2 h 05 min"),
        (-1.5, "-1.50 s"),
        (None, "–"),
    ],
)
def test_seconds(seconds: float | None, text: str) -> None:
    assert format_seconds(seconds) == text


@pytest.mark.parametrize(
    ("size_bytes", "text"),
    [(0, "0 B"), (512, "512 B"), (1000, "0.98 KiB"), (1536, "1.50 KiB"), (3 << 29, "1.50 GiB")],
)
def test_bytes(size_bytes: int, text: str) -> None:
    assert format_bytes(size_bytes) == text


@pytest.mark.parametrize(
    ("share", "text"),
    [(0, "0 %"), (0.312, "31.2 %"), (0.0001, "< 0.1 %"), (1, "100.0 %"), (None, "–")],
)
def test_shares(share: float | None, text: str) -> None:
    assert format_share(share) == text


def test_counts_and_ratios() -> None:
    assert format_count(1234567) == "1,234,567"
    assert format_ratio(0.625) == "0.625"
    assert format_count(None) == format_ratio(None) == "–"


@pytest.mark.parametrize(
    ("ratio", "text"),
    [(1.05, "+5.0 %"), (0.99999, "+0.0 %"), (0.95, "-5.0 %"), (2.5, "2.5 times"), (None, "–")],
)
def test_changes(ratio: float | None, text: str) -> None:
    assert format_change(ratio) == text


@pytest.mark.parametrize(
    ("text", "size_bytes"),
    [
        ("256M", 256 << 20),
        ("1.5 GiB", 3 << 29),
        ("1048576", 1 << 20),
        ("2k", 2048),
        ("3MB", 3 << 20),
    ],
)
def test_parse_bytes(text: str, size_bytes: int) -> None:
    assert parse_bytes(text) == size_bytes


@pytest.mark.parametrize("text", ["", "M", "-1", "1 X", "nan", "1e3"])
def test_what_is_not_a_size_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not a size"):
        parse_bytes(text)


@given(st.floats(min_value=1e-9, max_value=119, allow_nan=False))
def test_seconds_keep_their_value(seconds: float) -> None:
    number, unit = format_seconds(seconds).split(" ")
    factor = {"s": 1, "ms": 1e-3, "µs": 1e-6, "ns": 1e-9}[unit]
    assert float(number) * factor == pytest.approx(seconds, rel=0.006)


@pytest.mark.parametrize(
    ("busy", "cpus", "text"),
    [
        (0.94, 2, "0.9 of the 2 CPUs"),
        (0.02, 2, "less than 0.1 of the 2 CPUs"),
        (0.021, 1, "2.1 % of the one CPU"),
    ],
)
def test_no_use_of_cpus_is_told_as_none(busy: float, cpus: int, text: str) -> None:
    assert format_cpus(busy, cpus) == text


@pytest.mark.parametrize(
    ("several", "one"),
    [
        ("threads", "thread"),
        ("processes", "process"),
        ("CPUs", "CPU"),
        ("degrees C", "degree C"),
        ("samples/s", "sample/s"),
        ("ms", "ms"),
    ],
)
def test_one_of_several(several: str, one: str) -> None:
    assert singular(several) == one


@pytest.mark.parametrize(
    ("label", "told"),
    [
        ("Waiting for input", "waiting for input"),
        ("PyTorch keeps a traceback", "PyTorch keeps a traceback"),
        ("DataLoader workers wait", "DataLoader workers wait"),
        ("Horovod: cycle", "Horovod: cycle"),
        ("I/O", "I/O"),
        ("Floating-point work", "floating-point work"),
        ("A rank", "a rank"),
        ("", ""),
    ],
)
def test_names_keep_their_letters_inside_a_sentence(label: str, told: str) -> None:
    assert inside(label) == told
