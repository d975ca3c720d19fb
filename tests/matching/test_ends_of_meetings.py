"""When calls of collectives ended, against a plain look at each of them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perfscope import _core
from perfscope.arrays import Ints
from perfscope.trace.model import RowFlag

CALLS = st.tuples(
    st.integers(0, 20), st.integers(0, 20), st.integers(0, 2), st.sampled_from([0, RowFlag.OPEN])
)
INSTANCE = st.tuples(st.booleans(), st.integers(0, 2), st.lists(st.integers(0, 7), min_size=1))


def column(values: list[int]) -> Ints:
    return np.array(values, np.int64)


@given(st.lists(CALLS, min_size=8, max_size=8), st.lists(INSTANCE))
def test_ends_are_measured_by_what_members_need(
    calls: list[tuple[int, int, int, int]], instances: list[tuple[bool, int, list[int]]]
) -> None:
    enter, leave, sent, flags = (list(values) for values in zip(*calls, strict=True))
    expected: list[tuple[int, int]] = []
    for is_chosen, strictness, members in instances:
        all_send = all(sent[row] > 0 for row in members)
        is_strict = strictness == 2 or (strictness == 1 and all_send)
        for row in members if is_chosen else []:
            need = max(enter[one] for one in members) if is_strict else enter[row]
            if not flags[row]:
                expected.append((row, need - leave[row]))
    rows, early_ns = _core.ends_of_meetings(
        (column(enter), column(leave), column(sent), np.array(flags, np.uint16)),
        column([row for _, _, members in instances for row in members]),
        np.cumsum([0, *(len(members) for _, _, members in instances)]),
        np.array([is_chosen for is_chosen, _, _ in instances], np.uint8),
        np.array([strictness for _, strictness, _ in instances], np.uint8),
    )
    assert list(zip(rows.tolist(), early_ns.tolist(), strict=True)) == expected


@pytest.mark.parametrize("members", [[0, 8], [-1, 0]])
def test_members_that_are_no_calls_are_refused(members: list[int]) -> None:
    calls = (column([0] * 8), column([1] * 8), column([1] * 8), np.zeros(8, np.uint16))
    marks = np.ones(1, np.uint8)
    with pytest.raises(ValueError, match="members"):
        _core.ends_of_meetings(calls, column(members), column([0, 2]), marks, marks)
