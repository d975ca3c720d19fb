"""Test suites of MPI end recorded as they end unrecorded, and what is called a difference."""

import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from benchmarks.mpi_suites import mpi4py_suite
from benchmarks.mpi_suites.__main__ import parts, table
from benchmarks.mpi_suites.outcomes import HUNG, Ending, Place, compare, differences
from benchmarks.mpi_suites.programs import printed
from tests.support import environments
from tests.support.requirements import missing

PASSED = Ending("0", {"a": "passed", "b": "passed"})
LONGEST_S = {"mpi4py": 120.0, "mpich": 20.0, "openmpi": 20.0, "imb": 120.0}
# programs of the other suites say themselves how many ranks they want
SHORT = (
    *("test_cco_obj_inter", "test_cco_pr_buf", "test_comm", "test_comm_inter", "test_errhandler"),
    *("test_p2p_buf", "test_request", "test_threads"),
)
"""Parts of mpi4py's that make, copy and free communicators, requests and handlers quickly."""
YIELDING = ("MPIR_CVAR_CH4_PROGRESS_THROTTLE", "OMPI_MCA_mpi_yield_when_idle")
"""What has the ranks of MPICH and of Open MPI leave their CPU to others while they wait."""
RANKS = [*(("mpi4py", ranks) for ranks in (1, 2, 3, 4)), ("mpich", 4), ("openmpi", 2), ("imb", 2)]


def test_a_test_that_ends_otherwise_or_never_runs_is_a_difference() -> None:
    assert differences(PASSED, PASSED) == []
    assert differences(PASSED, Ending("0", {"a": "passed", "b": "failed"})) == [
        "b: passed, recorded failed"
    ]
    assert differences(PASSED, Ending("139", {"a": "passed"})) == [
        "b: passed, recorded not run",
        "exit code: 0, recorded 139",
    ]
    assert differences(PASSED, Ending(HUNG, {"a": "passed", "b": "began"})) == [
        "b: passed, recorded began",
        "exit code: 0, recorded did not end",
    ]


def test_a_job_that_hangs_unrecorded_says_nothing_of_what_it_did_not_come_to() -> None:
    hung = Ending(HUNG, {"a": "passed", "b": "began"})
    assert differences(hung, PASSED) == []
    assert differences(hung, Ending("0", {"a": "failed", "b": "passed", "c": "passed"})) == [
        "a: passed, recorded failed"
    ]


def test_a_line_inside_of_another_ranks_is_no_difference() -> None:
    apart = Ending("0", printed=("child", "parent 1"))
    assert differences(apart, Ending("0", printed=("chparent 1", "ild"))) == []
    assert differences(apart, Ending("0", printed=("chparent 1",))) == [
        *("not printed: child", "not printed: parent 1", "printed: chparent 1")
    ]


def test_only_what_differs_every_time_counts() -> None:
    failed = Ending("1", {"a": "passed", "b": "failed"})

    def answers(*endings: Ending) -> Iterator[Ending]:
        yield from endings

    now_and_then = answers(PASSED, failed, failed, failed)
    assert compare(lambda _recorded: next(now_and_then)).different == ()
    always = compare(lambda recorded: failed if recorded else PASSED)
    assert always.different == ("b: passed, recorded failed", "exit code: 0, recorded 1")
    assert (always.tests, always.passed, always.is_whole) == (2, 2, True)


def test_a_frame_of_a_crash_is_no_line_that_a_job_prints() -> None:
    crash = (
        "[node:1234] Signal: Segmentation fault (11)\n"
        "[node:1234] [ 0] /lib/libc.so.6(+0x3c050)[0x7f1c2a]\n{}"
        "[node:1234] [ 1] ./cfree(main+0x2)[0x55d0]\n"
    )
    frame = "[node:1234] [ 2] /a b/libperfscope_recorder.so(MPI_Send+0x1f)[0x7f1c]\n"
    told = ("[node:#] Signal: Segmentation fault (#)",)
    assert printed(crash.format("")) == printed(crash.format(frame)) == told


def test_a_row_replaces_its_own_and_leaves_the_others() -> None:
    found = {"parts": {"a": {"tests": 2, "passed": 1, "different": ["b"]}}, "machine": "here"}
    before = table({"imb mpich 2": {**found, "machine": "there"}, "imb mpich 4": found})
    after = table(
        {"imb mpich 4": {**found, "machine": "new"}, "mpi4py mpich 1": {"parts": {}}}, before
    )
    assert [line.split(" | ")[-1] for line in after.splitlines()[2:]] == ["there |", "new |"]
    assert after.splitlines()[:3] == before.splitlines()[:3]


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize(("suite", "ranks"), RANKS)
@pytest.mark.parametrize("name", environments.MPI_NAMES)
def test_a_suite_ends_recorded_as_unrecorded(
    suite: str, ranks: int, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = Place(environments.mpi(name).name, ranks, LONGEST_S[suite])
    # Intel MPI's mpirun looks for its other parts there.
    monkeypatch.setenv("PATH", str(place.binaries), prepend=os.pathsep)
    assert different(suite, place) == []


@pytest.mark.timeout(1200)
@pytest.mark.parametrize(
    "name",
    [  # what each does with its own handles is asked call by call in tests/native/recorder
        pytest.param(name, marks=[pytest.mark.long] if name != "mpich" else [])
        for name in environments.MPI_NAMES
    ],
)
def test_handles_made_and_freed_quickly_do_what_they_do_unrecorded(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = Place(environments.mpi(name).name, 2, 2 * LONGEST_S["mpi4py"])
    monkeypatch.setenv("PATH", str(place.binaries), prepend=os.pathsep)
    for variable in YIELDING:
        monkeypatch.setenv(variable, "1")
    suite = suite_of_mpi4py()
    assert set(SHORT) <= {*mpi4py_suite.parts(suite)}
    # In one job: most of the time of eight would be that in which Python and MPI start. Without
    # numpy's arrays the same calls are made for a third of the kinds of buffers.
    part, options = f"({'|'.join(SHORT)})", ("--no-numpy",)
    found = compare(partial(mpi4py_suite.run_part, place, suite, part, options=options))
    assert found.is_whole
    assert found.passed > 2 * len(SHORT)
    assert found.different == ()


def suite_of_mpi4py() -> Path:
    try:
        return mpi4py_suite.fetch()
    except OSError as reason:
        missing(str(reason))


def different(suite: str, place: Place) -> list[tuple[str, tuple[str, ...]]]:
    """The parts of a suite of which tests end otherwise when recorded, with these tests."""
    try:
        chosen = list(parts(suite, place))
    except OSError as reason:
        missing(str(reason))
    compared = [(name, compare(run_once)) for name, run_once in chosen]
    assert sum(result.passed for _, result in compared) > len(compared) > 0
    return [(name, result.different) for name, result in compared if result.different]
