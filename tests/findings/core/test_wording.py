"""Places as findings name them."""

import pytest

from perfscope.findings.core.wording import plain


@pytest.mark.parametrize(
    ("recorded", "named"),
    [
        ("train", "train"),
        ("produce.<locals>.<listcomp>", "produce"),
        ("shrink.<locals>.<listcomp>.<listcomp>", "shrink"),
        ("make.<locals>.Straggler.on_batch_begin", "Straggler.on_batch_begin"),
        ("main.<locals>.load.<locals>.<lambda>", "load"),
        ("<module>", "<module>"),
        ("<listcomp>", "<listcomp>"),
    ],
)
def test_a_function_is_called_by_the_innermost_name_it_has(recorded: str, named: str) -> None:
    assert plain(recorded) == named
