"""How contents that are seen again are counted."""

import pytest

from perfscope.agent.perfscope_agent.contents import AtMeetings, Contents


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


def test_of_many_meetings_all_ranks_keep_some_of_the_same() -> None:
    """One looks at each, one at every fourth alone."""
    often, seldom = AtMeetings(), AtMeetings()
    for number in range(1, 1000):
        often.see(number, number + 7)
        seldom.see(number if number % 4 == 0 else 0, number + 7)
    kept = [dict(one.told()) for one in (often, seldom)]
    assert all(10 <= len(one) <= 32 for one in kept)
    assert kept[0].items() <= kept[1].items() or kept[1].items() <= kept[0].items()
    often.see(1024, 0)  # could not be read
    assert 1024 not in [number for number, _ in often.told()]
