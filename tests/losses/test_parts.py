"""A whole is divided without a rest, near to the weights."""

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from perfscope.losses.parts import whole_parts, whole_parts_of_rows


@example(31_625_638_753_468_414, [1.0, 1.8014398509481984e16, 2.0])
@given(
    st.integers(0, 10**18),
    st.lists(st.floats(0, 1e18, allow_subnormal=False), min_size=1, max_size=50),
)
def test_parts_add_up_and_none_is_below_nothing(whole: int, weights: list[float]) -> None:
    parts = whole_parts(whole, np.array(weights))
    assert sum(parts.tolist()) == whole
    assert (parts >= 0).all()


@given(st.integers(0, 10**9), st.lists(st.integers(0, 10**6), min_size=1, max_size=20))
def test_parts_are_as_near_to_their_weights_as_whole_numbers_can_be(
    whole: int, weights: list[int]
) -> None:
    parts = whole_parts(whole, np.array(weights, float))
    if total := sum(weights):
        assert all(
            abs(part - whole * weight / total) < 1 + 1e-6
            for part, weight in zip(parts.tolist(), weights, strict=True)
        )


@given(
    st.lists(
        st.tuples(st.integers(0, 10**12), st.lists(st.integers(0, 10**9), min_size=6, max_size=6)),
        min_size=1,
        max_size=8,
    )
)
@example([(7, [0, 0, 0, 0, 0, 0]), (5, [1, 0, 1, 1, 0, 1]), (0, [3, 0, 0, 0, 0, 0])])
def test_rows_are_divided_as_each_is_alone(rows: list[tuple[int, list[int]]]) -> None:
    whole, weights = np.array([row[0] for row in rows]), np.array([row[1] for row in rows], float)
    for found, one, own in zip(
        whole_parts_of_rows(whole, weights), whole.tolist(), weights, strict=True
    ):
        alone = whole_parts(one, own[own > 0]) if own.any() else np.zeros(0, np.int64)
        assert found[own > 0].tolist() == alone.tolist()
        assert not found[own == 0].any()
