"""The sweep that a finding offers can be copied into a shell as it stands."""

import shlex

import pytest

from perfscope.findings.core.sweep_command import OWN, doubled, sweep_command
from perfscope.trace.model import Trace
from tests.support.trace_builder import TraceBuilder


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
        (1, 64, (1, 4, 8, 16, 64)),
        (1, 32, (1, 2, 4, 16, 32)),
        (1, 1000, (1, 4, 32, 256, 1000)),
        (4, 2, (4,)),
        (3, 7, (3, 6, 7)),
    ],
)
def test_values_double_up_to_the_last(first: int, last: int, values: tuple[int, ...]) -> None:
    assert doubled(first, last) == values


@pytest.mark.parametrize(
    ("command", "changed"),
    [
        ("mpirun -n 2 -x OMP_NUM_THREADS=8 python t.py", "-x OMP_NUM_THREADS={omp_num_threads}"),
        ("/usr/bin/env -u A B=1 OMP_NUM_THREADS=8 t.py", "B=1 OMP_NUM_THREADS={omp_num_threads}"),
        ("mpiexec -genv OMP_NUM_THREADS 8 -n 2 t.py", "-genv OMP_NUM_THREADS {omp_num_threads}"),
    ],
)
def test_a_value_that_the_command_sets_itself_becomes_a_place(command: str, changed: str) -> None:
    words = shlex.split(sweep_command(run_of(*command.split()), {"OMP_NUM_THREADS": (1, 8)}))
    assert words[:4] == ["perfscope", "sweep", "--var", "omp_num_threads=1,8"]
    assert changed in " ".join(words)
    assert "OMP_NUM_THREADS=8" not in words


@pytest.mark.parametrize("command", ["mpirun -x OMP_NUM_THREADS t.py", "t.py OMP_NUM_THREADS=8"])
def test_other_words_with_the_name_are_left_alone(command: str) -> None:
    text = sweep_command(run_of(*command.split()), {"OMP_NUM_THREADS": (1, 8)})
    assert text == f"perfscope sweep --env OMP_NUM_THREADS=1,8 -- {command}"
