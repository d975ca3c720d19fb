"""A job that outlasts its bound of space: whole windows stay, and totals of all."""

import json
import os
import random
import signal
import subprocess
import time
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from perfscope.readers.recording.reader import open_recording
from perfscope.trace.model import Rank, Trace
from perfscope.trace.operations import code_of
from perfscope.trace.splicing import spliced
from perfscope.trace.thinning import RankThinning, WindowSource, is_selected
from tests.programs.long_day import EVERY_EVALUATION, EVERY_HALF, NUMBERS
from tests.support.environments import Mpi
from tests.support.processes import started
from tests.support.recording import perfscope_command
from tests.support.requirements import require_tool
from tests.support.waiting import wait_for

PROGRAM = Path(__file__).parents[1] / "programs" / "long_day.py"
BOUND_BYTES = 1 << 20
STEPS = 6000
DAY_STEPS = 86_400
RANKS = 2
UNUSUAL = 16  # the longest steps, and the longest stretches before one
FIRST, LAST, STARTING = 8, 8, 3  # of the first ones some end before the first step
TIMEOUT_S = 3000.0
REDUCE, ALLREDUCE, SENDRECV = map(code_of, ("MPI_Reduce", "MPI_Allreduce", "MPI_Sendrecv"))
LARGE_STEPS = """
from mpi4py import MPI
import perfscope
world, one, other = MPI.COMM_WORLD, bytearray(1), bytearray(1)
for step in range(300):
    with perfscope.step():
        for _ in range(200):
            world.Sendrecv(one, 0, 1, other, 0, 1)
"""
STORM = """
import time
from mpi4py import MPI
world, number = MPI.COMM_WORLD, bytearray(8)
for _ in range(550):
    for _ in range(40):
        world.Sendrecv_replace(number, 1 - world.rank, 0, 1 - world.rank, 0)
    time.sleep(0.016)
world.Barrier()
"""
"""At most 2,500 messages a second for 9 seconds or more, and a single collective behind them."""


def recorded(
    mpi: Mpi,
    place: Path,
    ranks: int,
    *arguments: str,
    program: Path = PROGRAM,
    refusing: Path | None = None,
) -> Trace:
    """What a job of so many steps left, within the bound or with what refuses it more space."""
    command = mpi.python_command(ranks, program, *arguments)
    limit = [] if refusing else ["--max-size", str(BOUND_BYTES)]
    variables = {**mpi.variables, **({"LD_PRELOAD": str(refusing)} if refusing else {})}
    with started(
        perfscope_command("run", *limit, "--", *command), cwd=place, variables=variables
    ) as job:
        _, errors = job.communicate(timeout=TIMEOUT_S)
    assert job.returncode == 0, errors
    return open_recording(place / "trace")


def check_size(trace: Trace) -> None:
    """No rank took more space than it may."""
    for rank in trace.ranks:
        files = Path(trace.source).glob(f"*/{rank.pid}-*.[dr]e[cf]")
        assert sum(path.stat().st_size for path in files) <= BOUND_BYTES


def check_totals(trace: Trace, place: Path, steps: int) -> None:
    """Totals are what the program counted itself, whatever was thinned away."""
    for rank in trace.ranks:
        counted = json.loads((place / f"counted-{rank.number}.json").read_text(encoding="ascii"))
        calls = {code: total[0] for code, total in rank.totals.items()}
        assert calls[SENDRECV] == counted["messages"] == steps
        assert calls[ALLREDUCE] == counted["reductions"] + counted["halves"]
        assert calls[REDUCE] == counted["evaluations"]
        assert rank.totals[ALLREDUCE][2] == 8 * (
            NUMBERS * counted["reductions"] + 8 * counted["halves"]
        )
        cells = rank.call_totals[~rank.call_totals["is_phase"]]
        for code, total in rank.totals.items():
            own = cells[cells["op"] == code]
            names = ("count", "ns", "sent", "received")
            assert tuple(int(own[name].sum()) for name in names) == total
        assert len(np.unique(cells["comm"][cells["op"] == ALLREDUCE])) == 2
        assert rank.dropped_records == 0


def check_steps(trace: Trace, steps: int) -> None:
    """All steps are in the sums, and so is each evaluation as a phase."""
    for rank in trace.ranks:
        assert int(rank.step_blocks["count"].sum()) == steps
        assert int(rank.step_blocks["samples"].sum()) == 8 * steps
        assert rank.thinning is not None
        assert rank.thinning.windows[WindowSource.STEP] == steps
        known = rank.steps["t1"] - rank.steps["t0"]
        assert int(rank.step_blocks["longest_ns"].max()) >= int(known.max())
        evaluations = rank.call_totals[rank.call_totals["is_phase"]]
        assert int(evaluations["count"].sum()) == -(-steps // EVERY_EVALUATION)


def chosen_steps(thinning: RankThinning, *, levels_before: int = 0) -> set[int]:
    """Numbers of the steps that chance keeps at the level of a rank, or at one before it."""
    numbers = np.arange(thinning.windows[WindowSource.STEP])
    level = thinning.level - levels_before
    return set(np.flatnonzero(is_selected(numbers, level)).tolist())


def unusual_steps(rank: Rank, thinning: RankThinning) -> set[int]:
    """Numbers of the steps that were kept for their length when others were taken out."""
    steps = thinning.windows[WindowSource.STEP]
    windows = rank.windows[rank.windows["source"] == WindowSource.STEP]
    kept = set(windows["number"].tolist())
    since = 1 + max(number for number in range(steps) if number not in kept)
    assert since <= steps - LAST  # what came after was not thinned yet
    return {number for number in kept - chosen_steps(thinning) if FIRST <= number < since}


def check_kept(trace: Trace) -> int:
    """Kept windows hold all their calls, are those of their level, and match; the highest level.

    A rank may end or be killed while it takes windows out. Some of the level before are there then,
    and what was unusual before beside what is now.
    """
    for rank in trace.ranks:
        assert rank.thinning is not None
        windows = rank.windows[rank.windows["source"] == WindowSource.STEP]
        kept = set(windows["number"].tolist())
        assert chosen_steps(rank.thinning) - kept == set()
        assert set(range(FIRST - STARTING)) <= kept
        unusual = unusual_steps(rank, rank.thinning)
        assert unusual
        if len(unusual) > 2 * UNUSUAL:
            assert len(unusual - chosen_steps(rank.thinning, levels_before=1)) <= 4 * UNUSUAL
        longest = rank.step_blocks[np.argmax(rank.step_blocks["longest_ns"])]
        assert int(longest["longest"]) in kept
        table = rank.operations
        for window in windows[1:-1]:
            inside = table[(table["t0"] >= window["t0"]) & (table["t0"] < window["t1"])]
            calls, number = Counter(inside["op"].tolist()), int(window["number"])
            assert calls[SENDRECV] == 1
            assert calls[ALLREDUCE] == 1 + (number % EVERY_HALF == 0)
            assert calls[REDUCE] == (number % EVERY_EVALUATION == 0)
    return max(rank.thinning.level for rank in trace.ranks if rank.thinning)


def check_matching(trace: Trace, *, cut_off: int = 0) -> None:
    """Put together, all calls of all ranks find their partners, but those that a kill cut off.

    A rank may have returned from its last collective when another is killed before it has.
    """
    from perfscope.matching.waits import split_operations

    whole = spliced(trace)
    assert whole.kept is not None
    waits = split_operations(whole)
    assert sum(waits.unmatched.values()) <= cut_off
    messages = sum(np.count_nonzero(rank.operations["op"] == SENDRECV) for rank in whole.ranks)
    assert messages - cut_off <= waits.messages.matched <= messages


def check(trace: Trace, place: Path, steps: int) -> None:
    """All of this."""
    check_size(trace)
    check_totals(trace, place, steps)
    check_steps(trace, steps)
    assert check_kept(trace) > 0
    check_matching(trace)


def test_steps_are_thinned_and_totals_are_not(mpich: Mpi, tmp_path: Path) -> None:
    check(recorded(mpich, tmp_path, RANKS, str(STEPS)), tmp_path, STEPS)


@pytest.mark.long
def test_a_day_on_four_ranks(mpich: Mpi, tmp_path: Path) -> None:
    check(recorded(mpich, tmp_path, 4, str(DAY_STEPS)), tmp_path, DAY_STEPS)


QUOTA = """
#include <errno.h>
#include <unistd.h>

int posix_fallocate(int file, off_t offset, off_t bytes)
{
    return offset + bytes > 917504 ? EDQUOT : ftruncate(file, offset + bytes) ? errno : 0;
}
int posix_fallocate64(int, off_t, off_t) __attribute__((alias("posix_fallocate")));
"""


def test_steps_are_thinned_where_a_quota_is_used_up(mpich: Mpi, tmp_path: Path) -> None:
    """Stands in for a file system with quotas, whose space may be written to again."""
    source, refusing = tmp_path / "quota.c", tmp_path / "quota.so"
    source.write_text(QUOTA, encoding="ascii")
    subprocess.run([require_tool("cc"), "-shared", "-fPIC", "-o", refusing, source], check=True)
    trace = recorded(mpich, tmp_path, RANKS, str(STEPS), refusing=refusing)
    assert any("quota exceeded" in note for note in trace.notes)
    check_size(trace)
    check_totals(trace, tmp_path, STEPS)
    check_steps(trace, STEPS)
    assert check_kept(trace) > 0


def test_without_steps_collectives_cut_the_run(mpich: Mpi, tmp_path: Path) -> None:
    steps = 3 * STEPS // 2
    trace = recorded(mpich, tmp_path, RANKS, str(steps), "unmarked")
    check_size(trace)
    check_totals(trace, tmp_path, steps)
    check_matching(trace)
    assert {rank.thinning.source for rank in trace.ranks if rank.thinning} == {
        WindowSource.COLLECTIVE
    }


def test_where_hardly_anything_is_collective_the_clock_cuts_the_run(
    mpich: Mpi, tmp_path: Path
) -> None:
    """What finds room of it lasts some five seconds."""
    program = tmp_path / "storm.py"
    program.write_text(STORM, encoding="ascii")
    trace = recorded(mpich, tmp_path, RANKS, program=program)
    for rank in trace.ranks:
        assert rank.dropped_records == 0
        assert rank.thinning is not None
        assert rank.thinning.level > 0
    kept = spliced(trace).kept
    assert kept is not None
    assert kept.source is WindowSource.TIME


def test_where_few_steps_find_room_the_longest_leave_it_to_those_of_chance(
    mpich: Mpi, tmp_path: Path
) -> None:
    program = tmp_path / "large_steps.py"
    program.write_text(LARGE_STEPS, encoding="ascii")
    trace = recorded(mpich, tmp_path, 1, program=program)
    (thinning,) = (rank.thinning for rank in trace.ranks)
    assert thinning is not None
    assert 1 <= thinning.level <= 6
    assert len(unusual_steps(trace.ranks[0], thinning)) < UNUSUAL
    assert spliced(trace).kept is not None


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.long) for seed in (1, 2))]
)
def test_a_kill_loses_no_call(mpich: Mpi, tmp_path: Path, seed: int) -> None:
    """A rank is killed while steps are thinned: kept steps are whole, totals complete."""
    chance = random.Random(seed)
    command = mpich.python_command(RANKS, PROGRAM, "forever")
    recording = perfscope_command("run", "--max-size", str(BOUND_BYTES), "--", *command)
    counts = [tmp_path / f"count-{rank}" for rank in range(RANKS)]

    def returned(rank: int) -> int:
        is_there = counts[rank].exists() and counts[rank].stat().st_size
        return int.from_bytes(counts[rank].read_bytes(), "little") if is_there else 0

    with started(recording, cwd=tmp_path, variables=mpich.variables) as job:
        # on a busy machine ranks that wait for each other take their time
        wait_for("thinning", lambda: min(map(returned, range(RANKS))) > STEPS, longest_s=240.0)
        time.sleep(chance.uniform(0, 0.5))
        victim = int((tmp_path / f"pid-{chance.randrange(RANKS)}").read_text(encoding="ascii"))
        os.kill(victim, signal.SIGKILL)
        job.wait(60)
    trace = open_recording(tmp_path / "trace")
    for rank in trace.ranks:
        done = returned(rank.number)
        halves = -(-done // EVERY_HALF)
        assert done + halves <= rank.totals[ALLREDUCE][0] <= done + halves + 2
        assert rank.thinning is not None
        assert rank.thinning.level > 0
        # the program counts a step when its calls have returned, the recorder with the next one
        assert done - 1 <= rank.thinning.windows[WindowSource.STEP] <= done
    check_size(trace)
    check_kept(trace)
    check_matching(trace, cut_off=RANKS)
