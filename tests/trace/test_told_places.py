"""Places that the agent tells as texts are those that samples have."""

from perfscope.trace.model import Frame
from perfscope.trace.operands import frame_of
from perfscope.trace.searched import searched


def test_a_comprehension_or_lambda_is_part_of_the_function_around_it() -> None:
    for inner in ("<listcomp>", "<genexpr>", "<lambda>.<locals>.<listcomp>"):
        told = f"vectorize.<locals>.{inner}\x1f/job/prepare.py\x1f12"
        assert frame_of(told) == Frame("vectorize", "/job/prepare.py", 12)


def test_a_list_that_is_searched_in_one_is_searched_by_the_function() -> None:
    row = {
        "place": "vectorize.<locals>.<listcomp>\x1f/job/prepare.py\x1f12",
        "name": "VOCAB",
        "how": "index",
        "kind": "list",
        "looks": 22,
        "length": 3000.0,
        "most": 3000,
        "asked": 22,
        "instructions": 13,
    }
    (found,) = searched({"operands": {"searched": [row]}})
    assert found.frame.key == ("vectorize", "/job/prepare.py")
