"""The sweep that a finding offers can be copied into a shell as it stands."""

from __future__ import annotations

import shlex

import pytest

from perfscope.findings.sweep_command import OWN, doubled, sweep_command
from perfscope.trace.builder import TraceBuilder
from perfscope.trace.model import Trace


def run_of(*command: str) -> Trace:
    return TraceBuilder(1, end_s=1.0).set(command=command).build()


def test_the_words_of_the_command_come_back() -> None:
    command = ("mpirun", "-n", "2", "python", "my train.py", "--name", "a'b", "$HOME", "*.npy")
    text = sweep_command(run_of(*command), {"OMP_NUM_THREADS": (1, 8)}, oversubscribe=True)
    words = shlex.split(text)
    assert words[: words.index("--")] == [
        *("perfscope", "sweep", "--env", "OMP_NUM_THREADS=1,8", "--oversubscribe")
    ]
    assert tuple(words[words.index("--") + 1 :]) == command


def test_braces_that_a_sweep_would_fill_are_kept() -> None:
    text = sweep_command(run_of("run.sh", "{ranks}", "${HOME}", '{"a": 1}', "{}"), {"A": (1,)})
    assert shlex.split(text)[-4:] == ["{{ranks}}", "${HOME}", '{"a": 1}', "{}"]


@pytest.mark.parametrize(
    "command", [(), ("python", "--token=[redacted]"), ("python", "x" * 400), ("python", "a\nb")]
)
def test_a_command_that_cannot_be_copied_is_left_to_the_reader(command: tuple[str, ...]) -> None:
    assert sweep_command(run_of(*command), {"A": (1, 2)}).endswith(f"-- {OWN}")


@pytest.mark.parametrize(
    ("first", "last", "values"),
    [
        (1, 1, (1,)),
        (1, 2, (1, 2)),
        (1, 8, (1, 2, 4, 8)),
        (1, 64, (1, 2, 4, 8, 64)),
        (4, 2, (4,)),
        (3, 7, (3, 6, 7)),
    ],
)
def test_values_double_up_to_the_last(first: int, last: int, values: tuple[int, ...]) -> None:
    assert doubled(first, last) == values
