"""What the verdict tells of the functions that compute most: their arrays, and copies of them."""

import pytest

from perfscope.document.hottest import SINGLE
from tests.document.test_verdict import verdict
from tests.findings.analyzed import analyze_trace
from tests.support.trace_builder import TraceBuilder


def test_says_what_the_functions_that_compute_most_work_on() -> None:
    relax = ("relax", "/job/plate.py", 25)
    plate = {"name": "plate", "dtype": "float64", "shape": [900, 900], "elements": [810000, 810000]}
    place = "\x1f".join(map(str, relax))
    site = {"place": place, "is_innermost": True, "looks": 9, "contents": 9, "operands": [plate]}
    # Another line of the function takes longer, by what it calls, and works on something else.
    caller, inner = ("relax", "/job/plate.py", 24), ("inner", "/job/plate.py", 50)
    place = "\x1f".join(map(str, caller))
    told = {"place": place, "is_innermost": False, "operands": [{**plate, "name": "other"}]}
    builder = TraceBuilder(2, end_s=10.0)
    for number in (0, 1):
        rank = builder.rank(number).init(0.5).finalize(9.5)
        rank.set(metadata={"operands": {"sites": [site, {**site, **told}]}})
        for tick in range(90):
            frames = (relax,) if tick % 5 < 2 else (caller, inner)
            rank.stack(0.5 + tick / 10, (*frames, ("multiply", "<built-in>", 0)))
    found = verdict(analyze_trace(builder.build()))
    assert "inner() (plate.py:50) takes 54.5 %" in found["hot_spots"]
    works = "% in multiply; it works on `plate` of 900 × 900 float64)"
    assert works in found["hot_spots"]
    assert found["hot_spots"].endswith(f" is float64; {SINGLE}")
    assert " As far as was seen, these cost what such operations do. A choice: " in str(found)


@pytest.mark.parametrize(("rows", "is_told"), [(32, True), (400, False)])
def test_says_of_a_hot_spot_that_it_copies_an_array_to_add_a_few_rows(
    rows: int, *, is_told: bool
) -> None:
    push = ("push", "/job/replay.py", 18)
    held = {"name": "held", "dtype": "float32", "shape": [900, 9], "elements": [8100, 8100]}
    new = {**held, "name": "new", "shape": [rows, 9], "elements": [rows * 9, rows * 9]}
    site = {"place": "\x1f".join(map(str, push)), "is_innermost": True, "looks": 9, "contents": 9}
    builder = TraceBuilder(2, end_s=10.0)
    for number in (0, 1):
        rank = builder.rank(number).init(0.5).finalize(9.5)
        rank.set(metadata={"operands": {"sites": [{**site, "operands": [held, new]}]}})
        for tick in range(90):
            rank.stack(0.5 + tick / 10, (push, ("concatenate", "<built-in>", 0)))
    found = verdict(analyze_trace(builder.build()))["hot_spots"]
    copied = "it copies all of `held` of 900 × 9 float32 to add `new` of 32 × 9 float32"
    assert (copied in found, "these cost what such operations do" in found) == (
        is_told,
        not is_told,
    )
