"""Where JSON values end, however long they are, whatever stands in their strings, cut anywhere."""

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from perfscope import _core

TEXTS = st.text(st.sampled_from('a{}[]",:\\ \n\t\u00e9\u4e2d'), max_size=90)
SCALARS = st.none() | st.booleans() | st.integers(-(10**20), 10**20) | TEXTS
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(TEXTS, inner, max_size=5),
    max_leaves=25,
)
CONTAINERS = st.lists(VALUES, max_size=6) | st.dictionaries(TEXTS, VALUES, max_size=6)


def member(text: bytes, block: int) -> Any:
    file = _core.KinetoFile("trace.json")
    for start in range(0, len(text), block):
        file.feed(text[start : start + block])
    file.finish()
    return json.loads(file.members()["value"])


@settings(max_examples=60, deadline=None)
@given(CONTAINERS, st.integers(0, 70), st.integers(1, 200), st.booleans())
def test_a_value_ends_where_it_does(value: Any, spaces: int, block: int, escaped: bool) -> None:
    """Spaces in front move it through the blocks that are looked at together."""
    text = json.dumps(value, ensure_ascii=escaped)
    whole = '{"value":' + " " * spaces + text + ', "traceEvents": []}'
    assert member(whole.encode(), block) == value


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**15), st.integers(0, 999), st.integers(0, 3))
def test_times_are_exact_whatever_their_length(whole: int, fraction: int, places: int) -> None:
    digits = f"{fraction:03d}"[:places]
    time = f"{whole}.{digits}" if digits else str(whole)
    nanoseconds = whole * 1000 + int(digits.ljust(3, "0") or 0)
    event = f'{{"ph": "X", "cat": "kernel", "name": "k", "ts": {time}, "dur": 1}}'
    file = _core.KinetoFile("trace.json")
    file.feed(f"[{event}]".encode())
    file.finish()
    assert file.extent[0] == nanoseconds
