"""Places in the source as people read them, and what a recording's code belongs to."""

import pytest

from perfscope.places import place
from perfscope.readers.recording.definitions import Definitions
from perfscope.readers.recording.interning import Interning


@pytest.mark.parametrize(
    ("recorded", "told"),
    [
        ("train", "train() (a.py:3)"),
        ("produce.<locals>.<listcomp>", "produce() (a.py:3)"),
        ("shrink.<locals>.<listcomp>.<listcomp>", "shrink() (a.py:3)"),
        ("make.<locals>.Straggler.on_batch_begin", "Straggler.on_batch_begin() (a.py:3)"),
        ("main.<locals>.load.<locals>.<lambda>", "load() (a.py:3)"),
        ("<module>", "a.py:3"),
        ("<listcomp>", "a.py:3"),
    ],
)
def test_a_place_is_called_by_the_innermost_name_it_has_or_its_line(
    recorded: str, told: str
) -> None:
    assert place(recorded, "/job/a.py", 3) == told


def test_a_file_that_every_package_has_is_told_with_its_package() -> None:
    assert place("main", "/job/trainer/__main__.py", 9) == "main() (trainer/__main__.py:9)"


@pytest.mark.parametrize(
    ("code", "function"),
    [
        ("evaluate.<locals>.<listcomp>", "evaluate"),
        ("<listcomp>", "evaluate"),  # before Python 3.11
        ("<lambda>", "<module>"),
    ],
)
def test_code_without_a_name_is_part_of_the_function_it_stands_in(code: str, function: str) -> None:
    definitions = Definitions()
    definitions.names.update({1: "evaluate\x1f/job/a.py\x1f7", 2: f"{code}\x1f/job/a.py\x1f8"})
    definitions.stacks[1] = (1, 2)
    interning = Interning(1)
    interning.number(definitions, rank=0)
    assert [(one.function, one.line) for one in interning.frames] == [
        ("evaluate", 7),
        (function, 8),
    ]
