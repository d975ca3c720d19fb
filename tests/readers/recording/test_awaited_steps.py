"""Waits for work that several steps began are shared among these steps."""

from pathlib import Path

import pytest

from perfscope.readers import open_recording
from perfscope.readers.recording.awaited_steps import NAME
from perfscope.readers.recording.layout import HeaderFlag
from perfscope.schema.enums import PhaseKind
from perfscope.trace.model import Trace
from tests.support.trace_invariants import check_trace
from tests.support.write_recording import ProcessWriter, write_run

SAID = "Rank 0: {} steps returned before the work was done: how long each took is not known, and "
SAID += "each has an equal part of the wait for all."


def recorded(
    directory: Path,
    steps: list[tuple[int, float, float]],
    waits: list[tuple[float, float]],
    evaluations: list[tuple[float, float]] | None = None,
) -> Trace:
    process = ProcessWriter(rank=0, size=1, pid=100, flags=HeaderFlag.EXITED)
    process.header |= {"exit_ns": process.mono(20.0)}
    for number, begin_s, end_s in steps:
        process.step(number, begin_s, end_s)
    for begin_s, end_s in waits:
        process.phase(PhaseKind.TRAIN, begin_s, end_s, NAME)
    for begin_s, end_s in evaluations or ():
        process.phase(PhaseKind.EVALUATE, begin_s, end_s, "accuracy")
    process.write(directory)
    write_run(
        directory, command=["python", "train.py"], launcher={"kind": "direct"}, ranks_requested=1
    )
    trace = open_recording(directory)
    check_trace(trace)
    return trace


def lengths(trace: Trace) -> list[float]:
    (rank,) = trace.ranks
    return [round(float(spent) / 1e9, 6) for spent in rank.steps["t1"] - rank.steps["t0"]]


def test_steps_begun_since_the_wait_before_have_equal_parts_and_keep_their_own(
    tmp_path: Path,
) -> None:
    calls = [(0, 1.0, 3.0), (1, 3.0, 3.1), (2, 3.1, 6.2), (3, 6.2, 6.3), (4, 6.3, 8.4)]
    trace = recorded(tmp_path, calls, [(3.2, 6.2), (6.4, 8.4)])
    # the first one compiles for two seconds, and the three wait for three
    assert lengths(trace) == [3.0, 1.1, 1.1, 1.1, 1.1]
    assert trace.notes == [SAID.format(5)]
    assert len(trace.ranks[0].phases) == 0


def test_a_program_that_waits_in_each_step_is_left_as_it_is(tmp_path: Path) -> None:
    calls = [(0, 1.0, 2.0), (1, 2.0, 2.5), (2, 2.5, 3.5)]
    trace = recorded(tmp_path, calls, [(1.5, 2.0), (2.1, 2.5), (2.6, 3.5)])
    assert lengths(trace) == [1.0, 0.5, 1.0]
    assert trace.notes == []


def test_steps_between_which_some_were_left_out_are_left_as_they_are(tmp_path: Path) -> None:
    trace = recorded(tmp_path, [(0, 1.0, 1.1), (7, 2.0, 4.0)], [(2.1, 4.0)])
    assert lengths(trace) == [0.1, 2.0]
    assert trace.notes == []


def test_a_wait_that_no_step_comes_before_is_no_phase_either(tmp_path: Path) -> None:
    trace = recorded(tmp_path, [(0, 3.0, 3.1), (1, 3.1, 3.2)], [(1.0, 2.0)])
    assert lengths(trace) == [0.1, 0.1]
    assert trace.notes == []
    assert len(trace.ranks[0].phases) == 0


@pytest.mark.parametrize("count", [1, 3])
def test_steps_that_were_called_in_an_evaluation_begin_behind_it(
    count: int, tmp_path: Path
) -> None:
    calls = [(number, 3.0 + number / 10, 3.1 + number / 10) for number in range(count)]
    calls[-1] = (*calls[-1][:2], 9.2)
    trace = recorded(tmp_path, calls, [(6.2, 9.2)], [(2.0, 6.2)])
    assert lengths(trace) == [3.0 / count] * count
    (rank,) = trace.ranks
    (evaluation,) = rank.phases
    assert rank.steps["t0"][0] == evaluation["t1"]


@pytest.mark.parametrize("end_s", [9.2, 9.5])
def test_steps_inside_a_call_that_evaluates_are_left_as_they_are(
    end_s: float, tmp_path: Path
) -> None:
    """A framework's evaluation is a call of its own: what begins in it ends in it as well."""
    calls = [(0, 3.0, 3.1), (1, 3.1, 9.2)]
    trace = recorded(tmp_path, calls, [(3.2, 9.2)], [(2.0, end_s)])
    assert lengths(trace) == [3.1, 3.1]


def test_an_evaluation_that_is_over_leaves_the_steps_behind_it_alone(tmp_path: Path) -> None:
    trace = recorded(tmp_path, [(0, 1.0, 1.1), (1, 1.1, 3.1)], [(1.2, 3.1)], [(0.5, 0.9)])
    assert lengths(trace) == [1.05, 1.05]
