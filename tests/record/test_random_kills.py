"""Whatever ends a job, at whatever moment: every call that returned is in the recording."""

import contextlib
import os
import random
import shutil
import signal
import sys
import time
from pathlib import Path

import pytest

from tests.native.recorder.decode import decode_all
from tests.programs.counting import WAYS
from tests.support.environments import Mpi
from tests.support.memory_group import kills, may_be_made, short_of_memory
from tests.support.processes import is_alive, perfscope_started
from tests.support.recording import analyze
from tests.support.waiting import wait_for

PROGRAM = Path(__file__).parents[1] / "programs" / "counting.py"
RANKS = 2
VICTIMS = ("rank", "ranks", "launcher", "perfscope", "group")
SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGSEGV, signal.SIGABRT)
KINDS: list[tuple[str, int | str]] = [
    *((who, how) for who in VICTIMS for how in SIGNALS),
    *(("itself", way) for way in WAYS if way != "memory" or may_be_made()),
]
ENDS = int(os.environ.get("PERFSCOPE_ENDS", "300"))
"""Of the long test; docs/accuracy.md holds the outcome of 1,000."""


def rank_pids(directory: Path) -> list[int] | None:
    """The pids of the ranks, as soon as all have counted a call."""
    files = [directory / f"pid-{rank}" for rank in range(RANKS)]
    counts = [directory / f"count-{rank}" for rank in range(RANKS)]
    if not all(file.exists() and file.stat().st_size for file in (*files, *counts)):
        return None
    return [int(file.read_text(encoding="ascii")) for file in files]


def strike(who: str, how: int, process_id: int, ranks: list[int]) -> None:
    """Sends the signal."""
    if who == "group":
        os.killpg(process_id, how)
        return
    task = Path(f"/proc/{process_id}/task/{process_id}/children")
    children = [int(word) for word in task.read_text(encoding="ascii").split()]
    launchers = [c for c in children if b"mpi" in Path(f"/proc/{c}/cmdline").read_bytes()]
    victims = {"rank": ranks[1:], "ranks": ranks, "perfscope": [process_id], "launcher": launchers}
    for victim in victims[who]:
        os.kill(victim, how)


def run_once(mpi: Mpi, directory: Path, chance: random.Random, who: str, how: int | str) -> int:
    """Ends one job in one way and checks what is left; how many calls had returned."""
    if how != "memory":
        return end_one(mpi, directory, chance, who, how)
    with short_of_memory() as group:
        return end_one(mpi, directory, chance, who, how, group=group)


def end_one(
    mpi: Mpi,
    directory: Path,
    chance: random.Random,
    who: str,
    how: int | str,
    *,
    group: Path | None = None,
) -> int:
    """The same, with the control group in which the job is to run out of memory."""
    temporary = directory / "tmp"
    temporary.mkdir(parents=True)
    own = [str(how), str(chance.randrange(1, 3000))] if isinstance(how, str) else ["nothing", "0"]
    command = mpi.python_command(RANKS, PROGRAM, *own)
    variables = {**mpi.variables, "TMPDIR": str(temporary), "COUNTING_GROUP": str(group)}
    with perfscope_started(command, cwd=directory, variables=variables) as process:
        ranks = wait_for("all ranks", lambda: rank_pids(directory))
        if isinstance(how, int):
            time.sleep(chance.uniform(0, 0.3))
            strike(who, how, process.pid, ranks)
        if group:
            wait_for("the kernel", lambda: kills(group))
        time.sleep(0.5)
        for pid in ranks:  # a job may go on without its launcher, or wait for the rank that ended
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        wait_for("the end", lambda: not any(is_alive(pid) for pid in ranks))
        wait_for("the end", lambda: not is_alive(process.pid))
    counts = [directory / f"count-{rank}" for rank in range(RANKS)]
    returned = [int.from_bytes(file.read_bytes(), "little") for file in counts]
    for rank, recording in zip(range(RANKS), decode_all(directory / "trace"), strict=True):
        ended = [record for record in recording.operations("MPI_Barrier") if record.t1]
        # The last one may have returned without being counted by the program.
        assert returned[rank] <= len(ended) <= returned[rank] + 1
        assert recording.rank == rank
    assert list(temporary.rglob("*perfscope*")) == []
    return sum(returned)


def check(mpi: Mpi, directory: Path, seed: int, kinds: list[tuple[str, int | str]]) -> int:
    """Ends a job in each of these ways; every fifth recording is analyzed, too."""
    chance = random.Random(seed)
    calls = 0
    for number, (who, how) in enumerate(kinds):
        place = directory / str(number)
        calls += run_once(mpi, place, chance, who, how)
        if number % 5 == 0:
            done = analyze(place / "trace")
            assert "Traceback" not in done.stdout + done.stderr
        shutil.rmtree(place, ignore_errors=True)  # a launcher that outlives its ranks may write yet
    return calls


def test_no_returned_call_is_lost(mpich: Mpi, tmp_path: Path) -> None:
    kinds: list[tuple[str, int | str]] = [
        ("rank", signal.SIGKILL),
        ("launcher", signal.SIGTERM),
        ("itself", "_exit"),
        *(kind for kind in KINDS if kind[1] == "memory"),
    ]
    assert check(mpich, tmp_path, 1, kinds) > 0


@pytest.mark.long
def test_no_returned_call_is_lost_in_hundreds_of_ends(mpich: Mpi, tmp_path: Path) -> None:
    seed = int(os.environ.get("PERFSCOPE_SEED", "0")) or random.randrange(1 << 32)
    kinds = random.Random(seed).choices(KINDS, k=ENDS)
    sys.stdout.write(f"PERFSCOPE_SEED={seed}\n")
    calls = check(mpich, tmp_path, seed, kinds)
    sys.stdout.write(f"{len(kinds)} ends, {calls} returned calls, none lost\n")
