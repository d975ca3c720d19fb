"""The corpus: what counts as the same result, and what its table marks as not right."""

from collections.abc import Callable

import pytest

from benchmarks.corpus.__main__ import PROGRAMS, table
from benchmarks.corpus.runs import PROGRAMS as FOLDER
from benchmarks.corpus.runs import (
    TIMED,
    Outcome,
    Program,
    Ran,
    _is_same,
    _of_the_same_steps,
    measure,
)
from tests.support.environments import Environment

TRAINERS = [one for one in PROGRAMS if one.environment == "ecosystem" or one.shell]
"""Those of which no other test is."""


def outcome(
    *,
    is_same: bool = True,
    steps: tuple[int, float | None] = (30, 30.0),
    samples_per_s: tuple[float | None, float | None] = (95.0, 100.0),
) -> Outcome:
    return Outcome(
        program=Program("sharded", "one of pytorch/examples", "torch", ("torchrun",), 2),
        is_same=is_same,
        overhead=0.01,
        ranks=2,
        steps=steps,
        samples_per_s=samples_per_s,
        unlabeled=0.02,
        loud=(),
        verdict="Nothing to fix.",
    )


def test_every_program_of_the_folder_is_run() -> None:
    assert sorted(f"{one.name}.py" for one in PROGRAMS) == sorted(
        path.name for path in FOLDER.glob("*.py")
    )


@pytest.mark.parametrize(
    ("one", "marked"),
    [
        (outcome(), []),
        (outcome(is_same=False), ["**no**"]),
        (outcome(steps=(29, 30.0)), ["**29 of 30**"]),
        (outcome(steps=(29, None)), []),
        (outcome(samples_per_s=(80.0, 100.0)), ["**80, 100**"]),
        (outcome(samples_per_s=(None, 100.0)), ["**not known**, 100"]),
        (outcome(samples_per_s=(80.0, None)), []),
    ],
)
def test_what_is_not_right_is_bold(one: Outcome, marked: list[str]) -> None:
    cells = [cell.strip() for cell in table([one]).splitlines()[-1].split("|")]
    assert [cell for cell in cells if "**" in cell] == marked


def test_a_number_is_read_behind_its_word_and_times_do_not_count() -> None:
    ran = Ran(b"steps 30\nseconds 1.25\nloss 0.5\n", 0, 1.0)
    assert (ran.said("steps"), ran.said("loss"), ran.said("samples/s")) == (30.0, 0.5, None)
    assert TIMED.sub(b"", ran.stdout) == b"steps 30\n\nloss 0.5\n"
    assert TIMED.sub(b"", b"[2026-11-25 23:32:18,123] [INFO] ready") == b" [INFO] ready"


def test_lines_of_several_ranks_may_run_into_each_other() -> None:
    one, other = (
        Ran(b"rank 0 is ready\nrank 1 is ready\n", 0, 1.0),
        Ran(b"rank 0 rank 1 is is ready\nready\n", 0, 1.0),
    )
    assert _is_same(one, other, 2)
    assert not _is_same(one, other, 1)
    assert not _is_same(one, Ran(b"rank 0 is ready\n", 0, 1.0), 2)


def test_times_do_not_count_where_lines_run_into_each_other_either() -> None:
    one, other = (
        Ran(b"[17:44:11] Rank 0[17:44:11] Rank 1\n\n", 0, 1.0),
        Ran(b"[17:44:15] Rank 1\n[17:44:15] Rank 0\n", 0, 1.0),
    )
    assert _is_same(one, other, 2)
    assert not _is_same(one, Ran(b"[17:44:15] Rank 1\n[17:44:15] Rank 1\n", 0, 1.0), 2)


def test_what_ranks_print_is_not_the_same_where_they_have_each_others_numbers() -> None:
    one, other, third = (
        Ran(b"rank 0 loss 0.5\nrank 1 loss 0.6\nready\n", 0, 1.0),
        Ran(b"rank 1 loss 0.5\nrank 0 loss 0.6\nready\n", 0, 1.0),
        Ran(b"ready\nrank 1 loss 0.6\nrank 0 loss 0.5\n", 0, 1.0),
    )
    assert not _is_same(one, other, 2)
    assert _is_same(one, third, 2)
    assert not _is_same(one, Ran(one.stdout, 1, 1.0), 2)


def test_rates_are_of_the_steps_that_the_program_measures() -> None:
    assert _of_the_same_steps(Ran(b"steps 60\nrate from step 20\n", 0, 1.0)) == "step:19-59"
    assert _of_the_same_steps(Ran(b"steps 60\nsamples/s 20\n", 0, 1.0)) == ""


@pytest.mark.long
@pytest.mark.parametrize("program", TRAINERS, ids=lambda program: program.name)
def test_a_program_as_people_start_it(
    program: Program, environment: Callable[[str], Environment]
) -> None:
    environment(program.environment)
    found = measure(program)
    assert found.is_same
    assert found.ranks == program.ranks
    assert found.steps[1] in (None, found.steps[0])
    assert found.unlabeled is not None
    assert found.unlabeled < 0.05
    assert found.samples_per_s[1] is None or found.samples_per_s[0] is not None
