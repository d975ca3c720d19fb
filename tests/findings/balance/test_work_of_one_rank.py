"""Work that one rank does alone in each step, in a function of its own or at lines of its own."""

import pytest

from tests.findings.analyzed import analyze_trace
from tests.support.trace_builder import TraceBuilder


def test_a_rank_that_alone_does_what_it_has_more_of_works_alone() -> None:
    builder = TraceBuilder(2, end_s=200.0)
    at = 1.0
    for _ in range(40):
        for tenth in range(1, 15):
            builder.rank(0).stack(at + tenth / 10, [("sort", "/job/train.py", 12)])
        for number, work_s in enumerate((1.5, 0.1)):
            builder.rank(number).op("MPI_Allreduce", at + work_s, at + 1.6)
        at += 1.6
    for number in range(2):
        builder.rank(number).init(1.0).finalize(at)
    finding = analyze_trace(builder.build()).findings["load_imbalance"]
    assert finding.title == "Rank 0 works alone in sort() (train.py:12) while rank 1 waits"
    assert finding.actions[0].startswith("Split the work in sort() (train.py:12) across all ranks")


@pytest.mark.parametrize(("line", "verb"), [(30, "works alone in"), (20, "works longer than")])
def test_lines_of_a_common_function_that_one_rank_runs_in_each_step(line: int, verb: str) -> None:
    """As in `if rank == 0:` between a gather and a broadcast: both ranks are in main() before."""
    builder, at = TraceBuilder(2, end_s=200.0), 1.0
    for _ in range(60):
        for number, work_s in enumerate((0.5, 0.2)):
            rank = builder.rank(number)
            for tick in range(round(20 * work_s)):
                here = 20 if tick < 4 else line
                rank.stack(at + 0.05 * tick + 0.01, [("main", "/job/train.py", here)])
            rank.op("MPI_Allreduce", at + work_s, at + 0.501)
        at += 0.501
    for number in range(2):
        builder.rank(number).init(1.0).finalize(at)
    finding = analyze_trace(builder.build()).findings["load_imbalance"]
    assert finding.title.startswith(f"Rank 0 {verb} ")
    # rank 1 spends 0.2 s of each step there: it cannot be said not to have been seen
    assert ", rank 1 12.0 s" in finding.actions[0]
    assert "no other rank" not in finding.actions[0]


def test_what_a_library_does_where_no_code_of_the_program_runs_is_not_to_be_split() -> None:
    """As at the end of a program, where it waits for the other ranks."""
    builder, at = TraceBuilder(2, end_s=200.0), 1.0
    ending = ("Basics.shutdown", "/usr/lib/python3.12/site-packages/moving/basics.py", 152)
    for _ in range(40):
        for number, work_s in enumerate((1.5, 0.1)):
            rank = builder.rank(number).stack(at + 0.05, [("train", "/job/train.py", 12)])
            for tenth in range(1, round(10 * work_s)):
                rank.stack(at + tenth / 10, [ending])
            rank.op("MPI_Allreduce", at + work_s, at + 1.6)
        at += 1.6
    for number in range(2):
        builder.rank(number).init(1.0).finalize(at)
    finding = analyze_trace(builder.build()).findings["load_imbalance"]
    assert finding.status.is_fault
    assert "shutdown" not in finding.title
    assert not any("shutdown" in action for action in finding.actions)
