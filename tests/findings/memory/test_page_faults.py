"""Memory that is taken anew in each step, in closed form, and what else the kernel does."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from perfscope.findings.core.finding import Finding
from perfscope.findings.facts.facts import Facts
from perfscope.findings.memory.page_faults import judge
from perfscope.schema.enums import Basis, Status
from perfscope.units import format_seconds
from tests.findings.analyzed import Analyzed, analyze_trace
from tests.findings.operands.operand_runs import HOT, MAIN, OTHER, operand, site
from tests.support.trace_builder import FrameLike, TraceBuilder

STEPS = 40


def judged(*, kernel: float, faults_per_s: int, read_per_s: int = 0) -> Finding:
    run = analyzed(kernel=kernel, faults_per_s=faults_per_s, read_per_s=read_per_s)
    return run.findings["page_faults"]


def analyzed(
    *, kernel: float, faults_per_s: int, read_per_s: int = 0, sites: Sequence[dict[str, Any]] = ()
) -> Analyzed:
    """Two ranks that work for 0.4 s and exchange for 0.1 s, a part of it in the kernel."""
    builder = TraceBuilder(2, end_s=1.0 + 0.5 * STEPS + 1.0)
    for number in range(2):
        rank = builder.rank(number).init(1.0).finalize(1.0 + 0.5 * STEPS)
        rank.set(metadata={"operands": {"looks": 10, "cpu_ns": 1, "sites": list(sites)}})
        for step, begin in rank.steps(STEPS, 0.5):
            rank.op("MPI_Allreduce", begin + 0.4, begin + 0.5, comm=0, seq=step)
            for part, line in ((0.0, HOT), (0.2, OTHER)) if sites else ():
                rank.stack(begin + part, (MAIN, line))
        for tick in range(5 * STEPS + 20):
            at = tick / 10
            faults = round(faults_per_s * at)
            rank.main_sample(at, cpu_s=at, kernel_s=kernel * at, minor_faults=faults)
            rank.process_sample(at, cpu_s=at, runnable=1)
            rank.system_sample(at, read_bytes=round(read_per_s * at))
    return analyze_trace(builder.build())


def test_arrays_that_are_fresh_in_each_step() -> None:
    finding = judged(kernel=0.25, faults_per_s=5000)
    assert finding.status is Status.FAIL
    assert finding.gain_s == pytest.approx(0.25 * 0.4 * STEPS, rel=0.02)
    assert finding.gain_basis is Basis.UPPER_BOUND
    assert finding.ranks == (0, 1)
    assert "MALLOC_MMAP_THRESHOLD_" in finding.actions[0]


@pytest.mark.parametrize(
    ("rows", "contents", "is_computed", "is_named"),
    [
        pytest.param(4096, 1, True, True, id="computed anew"),
        pytest.param(4096, 10, False, False, id="updated in place"),
        pytest.param(4095, 10, True, False, id="small enough to be kept"),
    ],
)
@pytest.mark.parametrize("is_shrunk", [False, True])
def test_an_array_too_large_to_be_kept_tells_the_line(
    rows: int, contents: int, is_computed: bool, is_named: bool, is_shrunk: bool
) -> None:
    """Of 4096 x 1024 doubles, 32 MiB, none is kept; an input that stays is not allocated anew.

    That is asked where the page faults themselves tell no line.
    """
    form = {"shape": [rows, 1024], "elements": [rows << 10, rows << 10]}
    if is_shrunk:  # the shape that is told is that of the last look, after larger ones
        form["shape"], is_named = [100, 100], False
    made = {"computed": ["covariance"]} if is_computed else {}
    line = site(operand(**form, contents=contents), contents=contents, **made)
    run = analyzed(kernel=0.25, faults_per_s=5000, sites=[line])
    unknown = tuple(replace(one, place=None) for one in run.results.fault_times)
    found = judge(Facts(replace(run.results, fault_times=unknown), run.replay))
    assert isinstance(found, Finding)
    assert [(one.function, one.line) for one in found.where] == [HOT[::2]] * is_named
    assert ("`covariance` of 4,096 × 1,024 float64" in found.summary) is is_named


def test_the_title_has_the_mean_and_the_range_ends_at_the_rank_with_most() -> None:
    """Rank 1 has a smaller share of ten times as much work."""
    run = analyzed(kernel=0.25, faults_per_s=5000)
    first, second = run.results.fault_times
    more = replace(second, work_s=10 * second.work_s, fault_s=8 * second.fault_s)
    results = replace(run.results, fault_times=(first, more))
    found = judge(Facts(results, run.replay))
    assert isinstance(found, Finding)
    first_s, most_s = (one.again * one.fault_s / one.threads for one in (first, more))
    assert f"{format_seconds((first_s + most_s) / 2)} per rank" in found.title
    assert found.gain is not None
    assert found.gain.spent is not None
    assert found.gain.spent.most_s == pytest.approx(most_s)


@pytest.mark.parametrize(
    ("kernel", "faults_per_s", "read_per_s"),
    [(0.02, 20_000, 0), (0.25, 10, 0), (0.25, 5000, 1_000_000_000)],
    ids=["little", "system calls", "files"],
)
def test_what_is_none_of_that(kernel: float, faults_per_s: int, read_per_s: int) -> None:
    found = judged(kernel=kernel, faults_per_s=faults_per_s, read_per_s=read_per_s)
    assert found.status is Status.PASS


def test_a_wait_that_gives_its_cpu_away_is_no_page_fault() -> None:
    """In the exchanges half the time is the kernel's, in the work none; pages come all along."""
    builder = TraceBuilder(1, end_s=1.0 + 0.5 * STEPS + 1.0)
    rank = builder.rank(0).init(1.0).finalize(1.0 + 0.5 * STEPS)
    for step in range(STEPS):
        begin = 1.0 + 0.5 * step
        rank.step(step, begin, begin + 0.5).op("MPI_Barrier", begin + 0.3, begin + 0.5, seq=step)
    kernel_s = 0.0
    for tick in range(5 * STEPS + 20):
        at = tick / 10
        kernel_s += 0.05 if (tick - 11) % 5 >= 3 and tick > 10 else 0.0
        rank.main_sample(at, cpu_s=at, kernel_s=kernel_s, minor_faults=5000 * tick)
        rank.process_sample(at, cpu_s=at, runnable=1)
        rank.system_sample(at, read_bytes=0)
    assert analyze_trace(builder.build()).findings["page_faults"].status is Status.PASS


COMMIT = ("sqlite3.Connection.commit", "<built-in>", 0)


@pytest.mark.parametrize(
    ("leaf", "status"),
    [
        ((COMMIT,), Status.PASS),
        ((), Status.FAIL),
        ((COMMIT, ("fsync", "<system-call>", 0)), Status.FAIL),  # the kernel's time is another's
    ],
)
def test_what_the_kernel_does_with_files_is_no_page_fault(
    leaf: tuple[FrameLike, ...], status: Status
) -> None:
    """Each fifth tenth of a second goes to commits in a database, half of it in the kernel.

    That takes and gives back some memory, too; so does what is computed between, for nothing.
    """
    builder = TraceBuilder(1, end_s=62.0)
    rank = builder.rank(0).init(0.5).finalize(61.5)
    lines = {True: ("add", "/job/walk.py", 8), False: ("move", "/job/walk.py", 21)}
    faults, kernel_s = 0, 0.0
    for tick in range(600):
        at, writes = 1.0 + tick / 10, tick % 5 == 0
        faults += 600 + tick % 7 if writes else 60 + 40 * (tick % 3)
        kernel_s += 0.05 if writes else 0.0
        below = leaf if writes else ()
        for part in (0.02, 0.07):
            rank.stack(at + part, [("main", "/job/walk.py", 40), lines[writes], *below])
        rank.main_sample(at + 0.1, cpu_s=at, kernel_s=kernel_s, minor_faults=faults)
        rank.process_sample(at + 0.1, rss_bytes=(2 + tick % 2) << 27, cpu_s=at, runnable=1)
        rank.system_sample(at + 0.1, read_bytes=0)
    assert analyze_trace(builder.build()).findings["page_faults"].status is status


def judged_by_line(*, fresh_in: str, kept_bytes_per_fault: int = 0) -> Finding:
    """A rank that reads for some tenths of each second and trains for the others, by its stacks.

    Pages are touched in one of the two functions, and the kernel takes 0.1 ms for each.
    """
    lines = {"read": ("read", "/job/train.py", 8), "train": ("train", "/job/train.py", 21)}
    builder = TraceBuilder(1, end_s=62.0)
    rank = builder.rank(0).init(0.5).finalize(61.5)
    faults = 0
    for tick in range(600):
        at = 1.0 + tick / 10
        name = "read" if tick % 10 < 2 + tick % 3 else "train"
        if name == fresh_in:
            faults += 400
        rank.stack(at + 0.02, [("main", "/job/train.py", 40), lines[name]])
        rank.stack(at + 0.07, [("main", "/job/train.py", 40), lines[name]])
        rank.main_sample(at + 0.1, cpu_s=at, kernel_s=1e-4 * faults, minor_faults=faults)
        kept = 1 << 28 if tick % 2 else 1 << 27
        rank.process_sample(
            at + 0.1, rss_bytes=kept + kept_bytes_per_fault * faults, cpu_s=at, runnable=1
        )
        rank.system_sample(at + 0.1, read_bytes=0)
    return analyze_trace(builder.build()).findings["page_faults"]


@pytest.mark.parametrize(("fresh_in", "line"), [("train", 21), ("read", 8)])
def test_the_line_that_takes_memory_is_told_also_where_less_time_is_spent(
    fresh_in: str, line: int
) -> None:
    found = judged_by_line(fresh_in=fresh_in)
    assert [(one.function, one.line) for one in found.where] == [(fresh_in, line)]
    assert f"{fresh_in}() (train.py:{line})" in found.title


def test_memory_that_stays_is_not_taken_again() -> None:
    """Each page must be touched once, however it is allocated: no setting gives that back."""
    found = judged_by_line(fresh_in="train", kept_bytes_per_fault=4096)
    assert found.status is Status.PASS


def test_memory_that_goes_up_and_down_below_its_peak_is_taken_again() -> None:
    found = judged_by_line(fresh_in="train", kept_bytes_per_fault=400)
    assert found.status is Status.FAIL
    assert "freed before" in found.summary
