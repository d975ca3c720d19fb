"""What others may have written is read without a traceback."""

from __future__ import annotations

from perfscope.sweep.study import fields


def test_a_whole_number_beyond_all_floats_is_none() -> None:
    assert fields.number({"x": 10**400}, "x") is None
    assert fields.numbers({"x": [1, 10**400]}, "x") == ()
    assert fields.number({"x": 10**300}, "x") == 1e300
