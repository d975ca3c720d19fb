"""What a few pieces of a large array tell of the rest of it."""

import pytest

from perfscope.agent.perfscope_agent import operand_arrays
from perfscope.agent.perfscope_agent.operand_arrays import Array


@pytest.mark.parametrize(
    ("elements", "content", "is_told"),
    [
        (10_000, bytes(32 * 256), False),  # one value of them may be another one each time
        (10_000, bytes(32 * 256 - 1) + b"\1", True),
        (1_000, bytes(8_000), True),  # read whole
    ],
)
def test_zeros_in_all_pieces_tell_nothing_of_the_rest(
    elements: int, content: bytes, *, is_told: bool
) -> None:
    array = Array("array", "float64", "native", 4096, (elements,)).laid_out(8, (8,))
    assert operand_arrays.tells_of_rest(array, content) is is_told
