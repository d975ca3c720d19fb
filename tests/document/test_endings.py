"""How ranks ended, in words, and who took the others along."""

from collections.abc import Mapping

import pytest

from perfscope.document.analysis import analysis
from perfscope.document.endings import account_of_ends, ending_text, endings, first_to_fail
from perfscope.metrics.results import Options
from perfscope.schema.enums import EndKind
from perfscope.trace.model import Ending, Format, Raised, RowFlag, Trace
from tests.support.trace_builder import TraceBuilder

ERROR = Raised("ValueError", "no such batch", "/home/user/slow.py", 15)
STOPPED = Raised("KeyboardInterrupt", "", "/home/user/slow.py", 9)


def trace_of(
    ends: Mapping[int, Ending], *, at_s: Mapping[int, float], inside: str = "MPI_Allreduce"
) -> Trace:
    """Ranks that initialized MPI and were in an operation when they ended."""
    builder = TraceBuilder(len(ends), end_s=20.0)
    for number, ending in ends.items():
        rank = builder.rank(number).init(1.0)
        if inside == "MPI_Finalize":
            rank.finalize(5.0, exit_s=at_s[number])
        rank.op(inside, 5.0, at_s[number], flags=RowFlag.OPEN)
        rank.set(ending=ending, end_ns=round(at_s[number] * 1e9))
    return builder.build()


@pytest.mark.parametrize(
    ("ending", "text"),
    [
        (Ending(EndKind.FINALIZED, 0), "finalized"),
        (Ending(EndKind.FINALIZED, 3), "finalized, exit code 3"),
        (Ending(EndKind.EXITED, 2), "exited with code 2 without MPI_Finalize"),
        (Ending(EndKind.ABORTED, 3), "called MPI_Abort with code 3"),
        (Ending(EndKind.KILLED, 9), "killed by SIGKILL (9) in MPI_Allreduce"),
        (Ending(EndKind.KILLED, 99), "killed by signal 99 in MPI_Allreduce"),
        (
            Ending(EndKind.UNKNOWN),
            (
                "no record of how it ended, last seen in MPI_Allreduce: killed from outside, or "
                "still running"
            ),
        ),
        (
            Ending(EndKind.EXITED, 1, raised=ERROR),
            "ended with ValueError at slow.py:15, exit code 1",
        ),
        (
            Ending(EndKind.KILLED, 9, raised=ERROR),
            "ended with ValueError at slow.py:15, then was killed by SIGKILL (9)",
        ),
        (
            Ending(EndKind.ABORTED, 1, raised=ERROR),
            "ended with ValueError at slow.py:15, then called MPI_Abort with code 1",
        ),
        (
            Ending(EndKind.KILLED, 2, raised=STOPPED),
            "interrupted (KeyboardInterrupt) at slow.py:9, then was killed by SIGINT (2)",
        ),
    ],
)
def test_in_words(ending: Ending, text: str) -> None:
    trace = trace_of({0: ending}, at_s={0: 6.0})
    assert ending_text(trace, trace.ranks[0]) == text


def test_an_exception_before_mpi_finalize_that_never_returned() -> None:
    ending = Ending(EndKind.ABORTED_IN_TEARDOWN, 15, raised=ERROR)
    trace = trace_of({0: ending}, at_s={0: 6.0}, inside="MPI_Finalize")
    assert ending_text(trace, trace.ranks[0]) == (
        "ended with ValueError at slow.py:15, then waited in MPI_Finalize until it was killed by "
        "SIGTERM (15)"
    )


def test_who_failed_by_itself_comes_before_whom_the_launcher_ended() -> None:
    killed = Ending(EndKind.KILLED, 9)
    ends = {0: killed, 1: Ending(EndKind.EXITED, 5), 2: killed}
    trace = trace_of(ends, at_s={0: 5.9, 1: 6.0, 2: 6.1})
    assert first_to_fail(trace) is trace.ranks[1]
    assert [row.is_first for row in endings(trace)] == [False, True, False]
    assert account_of_ends(trace) == (
        "The run was cut short 6.00 s after the start: rank 1 exited with code 5 without "
        "MPI_Finalize; 2 other ranks ended after it."
    )
    trace.exit_code, trace.elsewhere_ns = 0, 1
    assert account_of_ends(trace).endswith(
        "2 other ranks ended after it. The job itself went on with other ranks and ended well: "
        "perfscope restarts tells of all its attempts."
    )


def test_of_ranks_that_were_killed_the_first_one_counts() -> None:
    killed = Ending(EndKind.KILLED, 9)
    trace = trace_of({0: killed, 1: killed}, at_s={0: 6.2, 1: 6.0})
    assert account_of_ends(trace) == (
        "The run was cut short 6.00 s after the start: rank 1 was killed by SIGKILL (9) in "
        "MPI_Allreduce; 1 other rank ended after it."
    )


def test_an_exception_counts_from_when_it_was_raised() -> None:
    """The rank that raised it waits in MPI_Finalize longer than the crash that follows."""
    builder = TraceBuilder(2, end_s=20.0)
    builder.rank(0).init(1.0).set(ending=Ending(EndKind.KILLED, 11), end_ns=8 * 10**9)
    builder.rank(1).init(1.0).finalize(5.0)
    builder.rank(1).set(ending=Ending(EndKind.ABORTED_IN_TEARDOWN, 15, raised=ERROR))
    trace = builder.build()
    assert first_to_fail(trace) is trace.ranks[1]
    assert "cut short 5.00 s after the start: rank 1 ended with ValueError" in account_of_ends(
        trace
    )


@pytest.mark.parametrize("signals", [[], ["SIGINT"]])
def test_a_run_stopped_by_its_user_names_no_rank(signals: list[str]) -> None:
    ending = Ending(EndKind.KILLED, 2, raised=None if signals else STOPPED)
    trace = trace_of({0: ending, 1: ending}, at_s={0: 6.2, 1: 6.0})
    trace.environment = {"signals_received": signals}
    assert first_to_fail(trace) is None
    assert account_of_ends(trace) == (
        "The run was stopped by SIGINT (Ctrl-C), 6.20 s after the start."
    )


def test_a_run_of_which_nothing_tells_the_end() -> None:
    trace = trace_of({0: Ending(EndKind.UNKNOWN)}, at_s={0: 6.0})
    assert account_of_ends(trace) == (
        "The run was cut short, 6.00 s after the start (rank 0: no record of how it ended, last "
        "seen in "
        "MPI_Allreduce: killed from outside, or still running)."
    )


def test_a_launcher_that_was_killed() -> None:
    trace = trace_of({0: Ending(EndKind.UNKNOWN)}, at_s={0: 6.0})
    trace.environment = {"signal": 9}
    assert account_of_ends(trace) == (
        "The run was cut short 6.00 s after the start: the command itself was killed by SIGKILL, "
        "and its ranks ended with it."
    )


def test_a_run_that_ended_well_needs_no_account() -> None:
    ends = {0: Ending(EndKind.FINALIZED, 0), 1: Ending(EndKind.EXITED, 0)}
    assert account_of_ends(trace_of(ends, at_s={0: 6.0, 1: 6.0})) == ""


@pytest.mark.parametrize(
    ("count", "host", "told"),
    [
        (
            1,
            "node0",
            ["the kernel ended 1 process for lack of memory on this host at that time", ""],
        ),
        (
            2,
            "node0",
            ["the kernel ended 2 processes for lack of memory on this host at that time"] * 2,
        ),
        (2, "node1", ["", ""]),
    ],
)
def test_as_many_killed_ranks_as_the_host_counted(count: int, host: str, told: list[str]) -> None:
    """The kernel ends a rank, the launcher those that are left."""
    killed = Ending(EndKind.KILLED, 9)
    ends = {0: killed, 1: killed, 2: Ending(EndKind.KILLED, 11), 3: Ending(EndKind.EXITED, 1)}
    trace = trace_of(ends, at_s={0: 6.0, 1: 6.2, 2: 7.0, 3: 7.0})
    trace.environment = {"oom_kills": {host: count}}
    texts = [ending_text(trace, rank) for rank in trace.ranks]
    for text, words in zip(texts[:2], told, strict=True):
        assert text == f"killed by SIGKILL (9) in MPI_Allreduce{'; ' if words else ''}{words}"
    assert not any("kernel" in text for text in texts[2:])


def test_a_file_that_ends_early_says_nothing_of_how_the_job_ended() -> None:
    trace = trace_of({0: Ending(EndKind.UNKNOWN)}, at_s={0: 6.0})
    trace.format = Format.OTF2
    told = account_of_ends(trace)
    assert told == (
        "The trace ends before the run does (rank 0: end unknown, last seen in MPI_Allreduce)."
    )
    [check] = [row for row in analysis(trace, Options())["quality"] if row["id"] == "endings"]
    assert check["title"] == "How 1 of 1 ranks ended is not in the trace"
    assert "killed" not in check["detail"]


@pytest.mark.parametrize(
    ("killed_s", "signal", "first"), [(6.0, 9, 0), (14.5, 9, 1), (16.0, 9, 1), (6.0, 15, 1)]
)
def test_who_was_killed_long_before_others_failed_is_the_first(
    killed_s: float, signal: int, first: int
) -> None:
    """A launcher kills who is left when one has failed, and not before; SIGTERM may be for all."""
    ends = {0: Ending(EndKind.KILLED, signal), 1: Ending(EndKind.KILLED, 6)}
    trace = trace_of(ends, at_s={0: killed_s, 1: 15.0})
    assert first_to_fail(trace) is trace.ranks[first]
