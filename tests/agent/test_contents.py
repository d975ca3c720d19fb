"""How contents that are seen again are counted."""

import pytest

from perfscope.agent.perfscope_agent.contents import Contents


@pytest.mark.parametrize(
    ("digests", "different", "once", "back"),
    [
        ([5, 5, 5, 5], 1, 0, 0),
        ([5, 5, 7, 7], 2, 0, 0),  # changed once
        ([5, 7, 5, 7, 5], 2, 0, 3),
        ([5, 6, 7, 8], 4, 4, 0),
        ([5, 0, 5, 0, 9], 2, 1, 0),  # 0 could not be read
        (range(1, 1000), 64, 64, 0),
    ],
)
def test_different_ones_those_seen_once_and_returns(
    digests: list[int], different: int, once: int, back: int
) -> None:
    contents = Contents()
    for digest in digests:
        contents.see(digest)
    assert contents.told("c") == {"c": different, "c_once": once, "c_back": back}
