"""Which rows of integers are filled up to one length, by what is read of them."""

import struct

import pytest

from perfscope.agent.perfscope_agent import operand_arrays
from perfscope.agent.perfscope_agent.operand_arrays import Array


def facts(rows: list[list[int]]) -> dict[str, float]:
    shape = len(rows), len(rows[0])
    told = Array("array", "int64", "native", 4096, shape).laid_out(8, None)
    content = b"".join(struct.pack(f"{len(row)}q", *row) for row in rows)
    return operand_arrays.facts(told, content)


def test_padding_is_what_repeats_at_the_ends_of_rows() -> None:
    rows = [[1, 2, 3, 0, 0, 0, 0, 0], [5, 0, 4, 9, 0, 0, 0, 0], [7] * 8]
    assert facts(rows) == {"padding": pytest.approx(9 / 24), "padding_of_longest": 0}


@pytest.mark.parametrize(
    ("rows", "found"),
    [
        ([[1] * 4, [1] * 4], {}),  # a mask of sequences that are all as long
        ([[0, 0, 1, 0], [1, 0, 0, 0], [0, 1, 0, 0]], {}),  # the number of a letter (one-hot)
        ([[0, 0, 0, 1], [0, 0, 0, 1], [0, 1, 0, 0]], {}),  # mostly the last one
        ([[0, 0, 0, 0], [0, 0, 1, 0]], {}),  # or none
        ([[7, 0, 0, 0], [9, 0, 0, 0]], {"padding": 3 / 4, "padding_of_longest": 3 / 4}),  # a token
        ([[1, 1, 0, 0], [1, 0, 0, 0]], {"padding": 5 / 8, "padding_of_longest": 1 / 2}),  # a mask
        ([[0, 1, 0, 0], [1, 3, 0, 0]], {"padding": 1 / 2, "padding_of_longest": 1 / 2}),
        ([[4, 3, 2, 9], [5, 6, 7, 9]], {"padding": 0, "padding_of_longest": 0}),  # a mark at ends
        ([[4, 3, 9, 9], [5, 9, 9, 9]], {"padding": 5 / 8, "padding_of_longest": 1 / 2}),
    ],
)
def test_what_is_no_padding(rows: list[list[int]], found: dict[str, float]) -> None:
    assert facts(rows) == found


def test_of_ends_that_are_as_many_the_first_counts_in_each_process() -> None:
    for end in range(10, 30):
        found = facts([[4, end, end, end], [5, 6, 0, 0]])
        assert found == {"padding": 3 / 8, "padding_of_longest": 0}
