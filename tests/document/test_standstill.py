"""What is said of a job that stood still until somebody ended it, and what its figures are of."""

from typing import Any

import pytest

from perfscope.schema.enums import EndKind, PhaseKind
from perfscope.trace.model import Ending, RowFlag
from tests.findings.analyzed import analyze_trace
from tests.support.trace_builder import RankBuilder, TraceBuilder

ENDED_S = 60.0
TRAIN = [("<module>", "/w/train.py", 9), ("train", "/w/train.py", 7)]
CHECK = [("<module>", "/w/train.py", 11), ("check", "/w/train.py", 5)]


def hung(*last: str, ranks: int = 2, first_s: float = 1.0, end: Ending | None = None) -> Any:
    """A job of twenty steps that ranks end in calls, `compute` or a phase, and stay in these.

    Returns:
        The document of the run, which SIGTERM ends after a minute.
    """
    builder = TraceBuilder(ranks, end_s=ENDED_S)
    builder.set(exit_code=143, environment={"signals_received": ["SIGTERM"]})
    for number, what in enumerate(last):
        rank = builder.rank(number).init(first_s)
        for step in range(20):
            at_s = first_s + step * 0.2
            rank.step(step, at_s, at_s + 0.2).phase(PhaseKind.TRAIN, at_s, at_s + 0.15)
            rank.op("MPI_Allreduce", at_s + 0.15, at_s + 0.2, sent=8, received=8)
            rank.stack(at_s + 0.01, TRAIN)
        begin_s = first_s + 4.0 + number / 100
        stay(rank, what, begin_s, ENDED_S)
        rank.set(ending=end or Ending(EndKind.KILLED, 15))
    return analyze_trace(builder.build()).document()


def stay(rank: RankBuilder, what: str, begin_s: float, end_s: float) -> None:
    rank.stack(begin_s + 1.0, CHECK if what == "compute" else TRAIN)
    if what.startswith("hvd."):
        rank.phase(PhaseKind.USER, begin_s, end_s, name=what, flags=RowFlag.OPEN)
    elif what != "compute":
        rank.op(what, begin_s, end_s, flags=RowFlag.OPEN)


def test_a_deadlock_is_told_with_who_called_what_and_is_no_time_of_the_program() -> None:
    found = hung("MPI_Allreduce", "MPI_Barrier")
    sentence = found["verdict"]["sentence"]
    assert sentence.startswith(
        "The run was stopped by SIGTERM, 60.0 s after the start. In its last 55.0 s no rank "
        "made progress. MPI_Allreduce and MPI_Barrier #20 on MPI_COMM_WORLD: its members called "
        "different operations, which can never end: rank 0 called MPI_Allreduce in train() "
        "(train.py:7), rank 1 called MPI_Barrier in train() (train.py:7)."
    )
    assert found["run"]["focus_of_analysis_s"] == pytest.approx([1.0, 5.01])
    assert "closed where all ranks began to wait for each other" in found["run"]["focus_reason"]
    parts = {part["label"]: part["seconds"] for part in found["breakdown"]}
    assert parts["Deadlock"] == pytest.approx(54.99)
    assert sum(part["seconds"] for part in found["breakdown"]) == pytest.approx(ENDED_S)


def test_calls_that_wait_for_horovod_are_a_deadlock_too() -> None:
    found = hung("hvd.allreduce", "hvd.broadcast")
    assert (
        "no rank made progress. Ranks are apart: rank 0 is in train()"
        in (found["verdict"]["sentence"])
    )
    assert found["run"]["focus_of_analysis_s"] == pytest.approx([1.0, 5.01])


def test_who_works_while_others_wait_is_told_and_stays_in_the_window() -> None:
    """Nobody knows whether the work would have ended."""
    found = hung("MPI_Allreduce", "compute")
    assert (
        "In its last 55.0 s no rank began or finished a call, phase or step. MPI_Allreduce #20 on "
        "MPI_COMM_WORLD: rank 0 waits for rank 1; rank 1 is in check() (train.py:5)."
    ) in found["verdict"]["sentence"]
    assert found["run"]["focus_of_analysis_s"][1] == pytest.approx(ENDED_S)
    assert "Deadlock" not in {part["label"] for part in found["breakdown"]}


@pytest.mark.parametrize(
    "last", [("compute", "compute"), ("MPI_Allreduce", "MPI_Barrier")], ids=["works", "ended well"]
)
def test_of_a_job_that_works_or_ended_by_itself_nothing_is_said(last: tuple[str, str]) -> None:
    end = None if "compute" in last else Ending(EndKind.FINALIZED, 0)
    assert "In its last" not in hung(*last, end=end)["verdict"]["sentence"]


def test_what_took_as_long_before_is_no_standstill() -> None:
    builder = TraceBuilder(2, end_s=ENDED_S)
    builder.set(exit_code=143, environment={"signals_received": ["SIGTERM"]})
    for number in (0, 1):
        rank = builder.rank(number).init(1.0)
        rank.op("MPI_Allreduce", 2.0, 3.0).op("MPI_Barrier", 33.0, 34.0)
        stay(rank, "compute" if number else "MPI_Allreduce", 34.0, ENDED_S)
        rank.set(ending=Ending(EndKind.KILLED, 15))
    sentence = str(analyze_trace(builder.build()).document()["verdict"])
    assert "stopped by SIGTERM" in sentence
    assert "In its last" not in sentence


def test_stopped_processes_give_no_sign_of_life_until_they_are_ended() -> None:
    builder = TraceBuilder(2, end_s=5.0)
    builder.set(exit_code=143, environment={"signals_received": ["SIGTERM"]}, wall_ns=60 * 10**9)
    for number in (0, 1):
        rank = builder.rank(number).init(1.0).op("MPI_Allreduce", 4.0, 4.5).stack(4.6, TRAIN)
        rank.set(ending=Ending(EndKind.KILLED, 9), silent_ns=55 * 10**9)
    document: Any = analyze_trace(builder.build()).document()
    assert document["verdict"]["sentence"].startswith(
        "The run was stopped by SIGTERM, 60.0 s after the start. In its last 55.5 s no rank "
        "began or finished a call, phase or step. Both ranks are in train() (train.py:7), "
        "without a sign of life for 55.0 s."
    )


def test_processes_that_do_not_come_out_of_the_start_of_mpi_are_told() -> None:
    builder = TraceBuilder(1, end_s=30.0)
    builder.set(exit_code=143, environment={"signals_received": ["SIGTERM"], "ranks_requested": 4})
    rank = builder.rank(0).op("MPI_Init", 0.5, 30.0, flags=RowFlag.OPEN)
    rank.set(ending=Ending(EndKind.KILLED, 15))
    document: Any = analyze_trace(builder.build()).document()
    assert (
        "In its last 29.5 s no process came out of MPI_Init. MPI_Init ends when all processes of "
        "the job have called it: 1 process of the 4 that the command asks for can be seen in it."
    ) in document["verdict"]["sentence"]
