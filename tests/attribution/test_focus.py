"""The focus of analysis: its default and what the user may ask for."""

from dataclasses import replace

import pytest

from perfscope.attribution.focus import Focus, focus_of_analysis
from perfscope.errors import ExitCode, UsageError
from perfscope.metrics.compute import compute
from perfscope.metrics.results import Options
from perfscope.schema.enums import EndKind, PhaseKind
from perfscope.trace.model import Ending, Format, Trace
from tests.support.trace_builder import TraceBuilder

S = 10**9


def two_ranks() -> TraceBuilder:
    builder = TraceBuilder(2, end_s=10.0)
    builder.rank(0).init(1.0).finalize(8.0)
    builder.rank(1).init(1.5).finalize(9.0)
    return builder


def span(focus: Focus) -> tuple[float, float]:
    return focus.start_ns / S, focus.end_ns / S


def test_from_the_last_init_to_the_last_finalize() -> None:
    focus = focus_of_analysis(two_ranks().build())
    assert span(focus) == (1.5, 9.0)
    assert focus.kind == "communication_lifetime"
    assert focus.length_ns == 7_500_000_000


def test_a_killed_rank_closes_it() -> None:
    builder = two_ranks()
    builder.rank(0).set(
        finalize_enter_ns=None, end_ns=6 * S, ending=Ending(EndKind.KILLED, 9), operations=None
    )
    trace = builder.build()
    trace.ranks[0].operations = trace.ranks[1].operations[:0]
    focus = focus_of_analysis(trace)
    assert span(focus) == (1.5, 6.0)
    assert "rank 0 (killed)" in focus.reason


def test_the_end_of_its_program_closes_it_where_a_rank_fails() -> None:
    """Python writes the traceback and is taken down then, while the launcher ends the others."""
    builder = TraceBuilder(2, end_s=10.0)
    builder.rank(0).init(1.0).set(
        program_end_ns=5 * S, end_ns=7 * S, ending=Ending(EndKind.EXITED, 1)
    )
    builder.rank(1).init(1.5).set(ending=Ending(EndKind.KILLED, 15))
    focus = focus_of_analysis(builder.build())
    assert span(focus) == (1.5, 5.0)
    assert "rank 0 (exited)" in focus.reason


def test_python_is_taken_down_after_it() -> None:
    builder = two_ranks()
    builder.rank(0).op("MPI_Barrier", 5.0, 6.5).set(program_end_ns=6 * S)
    assert span(focus_of_analysis(builder.build())) == (1.5, 9.0), "rank 1 may work until then"
    builder.rank(1).op("MPI_Barrier", 6.0, 6.5).set(program_end_ns=6 * S)
    focus = focus_of_analysis(builder.build())
    assert span(focus) == (1.5, 6.5), "one that only embeds Python communicates on"
    assert "program of the last one ends" in focus.reason
    builder.rank(1).set(program_end_ns=7 * S)
    assert span(focus_of_analysis(builder.build())) == (1.5, 7.0)


def test_giving_back_the_objects_of_a_program_that_is_over_is_no_part_of_it() -> None:
    """Nothing of the program is on the stack from 5.5 s on, and mpi4py frees what it has."""
    taken_down = ("_shutdown", "/usr/lib/python3.11/threading.py", 1541)
    waits = ("_thread.lock.acquire", "<built-in>", 0)
    for stack, end in (((taken_down,), 5.5), ((taken_down, waits), 7.0)):
        builder = two_ranks()
        for number in range(2):
            rank = builder.rank(number).set(program_end_ns=7 * S)
            rank.op("MPI_Comm_free", 7.0, 7.1).stack(5.0, [("main", "/job/train.py", 3)])
            for tick in range(3):
                rank.stack(5.5 + tick / 2, stack)
        assert span(focus_of_analysis(builder.build())) == (1.5, end)


def test_dropped_detail_closes_it() -> None:
    builder = two_ranks()
    builder.rank(1).set(detail_end_ns=4 * S)
    focus = focus_of_analysis(builder.build())
    assert span(focus) == (1.5, 4.0)
    assert "records of rank 1 end" in focus.reason


def test_without_communication_from_the_first_step() -> None:
    builder = TraceBuilder(1, end_s=10.0)
    builder.rank(0).step(0, 2.0, 3.0).step(1, 3.0, 4.0).phase(PhaseKind.EVALUATE, 5.0, 6.0)
    focus = focus_of_analysis(builder.build())
    assert (*span(focus), focus.kind) == (2.0, 6.0, "steps")


@pytest.mark.parametrize(("over_s", "closes_s"), [(9.0, 9.0), (3.0, 6.0), (None, 6.0)])
def test_what_a_program_does_behind_its_last_step_is_in_it(
    over_s: float | None, closes_s: float
) -> None:
    """As it is of one that communicates: results may be written there."""
    builder = TraceBuilder(1, end_s=9.5)
    rank = builder.rank(0).step(0, 2.0, 3.0).step(1, 3.0, 4.0).phase(PhaseKind.EVALUATE, 5.0, 6.0)
    if over_s is not None:
        rank.set(program_end_ns=round(over_s * S))
    focus = focus_of_analysis(builder.build())
    assert (*span(focus), focus.kind) == (2.0, closes_s, "steps")
    assert ("until its program ends" in focus.reason) is (closes_s == over_s)


def test_programs_without_communication_are_over_with_the_last_of_them() -> None:
    builder = TraceBuilder(2, end_s=9.5)
    for number, over_s in enumerate((9.0, 7.0)):
        rank = builder.rank(number).step(0, 2.0, 3.0).step(1, 3.0, 4.0)
        rank.set(program_end_ns=round(over_s * S))
    assert span(focus_of_analysis(builder.build())) == (2.0, 9.0)
    builder.rank(1).set(program_end_ns=None)
    assert span(focus_of_analysis(builder.build())) == (2.0, 4.0)


def test_without_anything_the_life_of_the_process() -> None:
    focus = focus_of_analysis(TraceBuilder(1, end_s=10.0).build())
    assert (*span(focus), focus.kind) == (0.0, 10.0, "process_lifetime")


@pytest.mark.parametrize("kind", [Format.KINETO, Format.OTF2])
def test_of_profiles_only_what_all_ranks_have(kind: Format) -> None:
    builder = TraceBuilder(3, end_s=13.0)
    for rank, (start, end) in enumerate([(0.0, 10.0), (3.0, 13.0), (1.0, 12.0)]):
        builder.rank(rank).set(start_ns=int(start * S), end_ns=int(end * S))
    trace = replace(builder.build(), format=kind)
    focus = focus_of_analysis(trace)
    if kind is Format.OTF2:
        assert (*span(focus), focus.kind) == (0.0, 13.0, "whole_trace")
        return
    assert (*span(focus), focus.kind) == (3.0, 10.0, "common_window")
    assert "first event of rank 1 to the last of rank 0" in focus.reason


def test_profiles_without_a_common_moment_are_judged_whole() -> None:
    builder = TraceBuilder(2, end_s=5.0)
    builder.rank(0).set(end_ns=2 * S)
    builder.rank(1).set(start_ns=3 * S)
    focus = focus_of_analysis(replace(builder.build(), format=Format.KINETO))
    assert (*span(focus), focus.kind) == (0.0, 5.0, "whole_trace")
    assert "no moment in common" in focus.reason


def test_a_job_that_ended_before_it_began() -> None:
    builder = TraceBuilder(2, end_s=10.0)
    builder.rank(0).init(1.0)
    builder.rank(0).set(end_ns=2 * S, ending=Ending(EndKind.KILLED, 9))
    builder.rank(1).init(5.0).finalize(9.0)
    assert focus_of_analysis(builder.build()).kind == "process_lifetime"


def marked() -> Trace:
    builder = two_ranks()
    rank = builder.rank(0)
    rank.phase(PhaseKind.EVALUATE, 3.0, 4.0).phase(PhaseKind.EVALUATE, 6.0, 7.0)
    rank.phase(PhaseKind.USER, 2.0, 2.5, name="mine", epoch=8)
    for number in range(4):
        rank.step(number, 2.0 + number, 2.8 + number, epoch=number // 2)
    builder.rank(1).step(2, 4.5, 5.0, epoch=1)
    return builder.build()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2:5", (2.0, 5.0)),
        ("2.5:", (2.5, 10.0)),
        (":3", (0.0, 3.0)),
        ("-5:1e300", (0.0, 10.0)),
        ("phase:evaluate", (3.0, 7.0)),
        ("phase:user:mine", (2.0, 2.5)),
        ("epoch:1", (4.0, 5.8)),
        ("epoch:8", (2.0, 2.5)),
        ("step:2", (4.0, 5.0)),
        ("step:1-2", (3.0, 5.0)),
        (" step:0-0 ", (2.0, 2.8)),
    ],
)
def test_what_the_user_asks_for(text: str, expected: tuple[float, float]) -> None:
    results = compute(marked(), Options(focus=text))
    assert span(results.focus) == pytest.approx(expected)
    assert results.focus.kind == text.strip()
    assert results.ledger.ns.sum(axis=0).tolist() == results.ledger.life_ns.tolist()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "5",
        "x:y",
        "nan:3",
        "5:2",
        "100:200",
        "phase:nothing",
        "phase:",
        "epoch:99",
        "epoch:-1",
        "step:x",
        "step:",
        "step:9-12",
        "step:3-1",
        "epoch:1e3",
        "step:99999999999999999999",
    ],
)
def test_what_cannot_be_asked_for(text: str) -> None:
    with pytest.raises(UsageError) as raised:
        compute(marked(), Options(focus=text))
    assert raised.value.exit_code is ExitCode.USAGE
    assert len(raised.value.lines()) == 3
