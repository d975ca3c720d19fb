"""Processes that do not end by themselves, fork, or see others end."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from perfscope.record.leftovers import bring_in, remove_scratch
from perfscope.record.summary import MAGIC
from tests.native.recorder import running
from tests.native.recorder.conftest import Start
from tests.native.recorder.decode import PHASE
from tests.support.environments import Mpi
from tests.support.recording import job_variables

EXITED, FINALIZED, MPI_USED = 16, 4, 1


def ends(directory: Path) -> dict[int, list[tuple[int, int]]]:
    """By the process that waited: (pid, wait status) of the children it saw end."""
    found: dict[int, list[tuple[int, int]]] = {}
    for path in directory.glob("*/*.ends"):
        for line in path.read_text().splitlines():
            pid, ticks, status, when_ns = (int(word) for word in line.split())
            assert (ticks, when_ns > 0) == (0, True)
            found.setdefault(int(path.stem), []).append((pid, status))
    return found


def test_a_killed_rank_keeps_its_records_and_its_open_call(mpi: Mpi, start: Start) -> None:
    job = start(mpi, 2, "killed.py")
    assert job.exit_code != 0
    killed = job.recordings[1]
    assert len(killed.operations("MPI_Allreduce")) == 500
    [receive] = killed.operations("MPI_Recv")
    assert (receive.t1, receive.peer, receive.tag) == (0, 0, 5)
    assert killed.totals["MPI_Allreduce"].count == 500
    assert "MPI_Recv" not in killed.totals
    assert killed.flags & (EXITED | FINALIZED | MPI_USED) == MPI_USED
    seen = [entry for children in ends(job.directory).values() for entry in children]
    assert (killed.header["pid"], signal.SIGKILL) in seen


def test_forked_children_record_nothing(mpi: Mpi, start: Start) -> None:
    job = start(mpi, 2, "forking.py").succeeded()
    assert len(job.recordings) == 2
    for recording in job.recordings:
        assert [r.name for r in recording.operations()][1:] == [
            "MPI_Barrier",
            "MPI_Barrier",
            "MPI_Finalize",
        ]
        assert recording.flags & (EXITED | FINALIZED) == EXITED | FINALIZED
        seen = ends(job.directory)[int(recording.header["pid"])]
        assert [status for _, status in seen] == [5 << 8, signal.SIGKILL]


def test_a_forked_child_that_asks_records_into_files_of_its_own(
    library: Path, tmp_path: Path
) -> None:
    """A phase that its parent opened is not the one of that place in its own file."""
    command = running.python_command("forked_recording.py")
    job = running.run(command, library, tmp_path / "run").succeeded()
    told = {r.header["pid"]: r for r in job.recordings}
    parent, child = (told[pid] for pid in sorted(told))
    phases = [[(r.names[p.comm], p.t1 > 0) for p in r.of_kind(PHASE)] for r in (parent, child)]
    assert phases == [[("parent", True)], [("child", True), ("open", False)]]
    codes = [(r.flags & EXITED, r.header["exit_code"]) for r in (parent, child)]
    assert codes == [(EXITED, 0), (EXITED, 3)]
    assert child.header["sampler_hz"] == 10


def test_a_process_that_leaves_without_exit_tells_its_code(library: Path, tmp_path: Path) -> None:
    program = (
        "import ctypes, os; ctypes.CDLL(os.environ['PERFSCOPE_RECORDER']).ps_open();"
        "child = os.fork(); child or os._exit(9); os.waitpid(child, 0); os._exit(5)"
    )
    job = running.run([sys.executable, "-c", program], library, tmp_path / "run")
    assert job.exit_code == 5
    [recording] = job.recordings
    assert recording.flags & EXITED
    assert recording.header["exit_code"] == 5


WAITERS = {
    "waitpid": "os.waitpid(pid, 0)[1]",
    "wait": "os.wait()[1]",
    "wait3": "os.wait3(0)[1]",
    "wait4": "os.wait4(pid, 0)[1]",
}


def run_python(program: str, library: Path, directory: Path) -> subprocess.CompletedProcess[str]:
    """Runs a Python program with the recorder preloaded."""
    directory.mkdir(exist_ok=True)
    return subprocess.run(
        [sys.executable, "-c", program],
        env=job_variables(running.preload_variables(library, directory)),
        capture_output=True,
        text=True,
        timeout=running.TIMEOUT_S,
        check=False,
    )


def test_every_way_to_wait_sees_how_a_child_ended(library: Path, tmp_path: Path) -> None:
    for name, wait in WAITERS.items():
        program = f"import os\npid = os.fork()\nif pid == 0: os.kill(os.getpid(), 6)\nprint({wait})"
        done = run_python(program, library, tmp_path / name)
        assert done.stdout == f"{int(signal.SIGABRT)}\n"
        [[(_, status)]] = ends(tmp_path / name).values()
        assert status == signal.SIGABRT


def test_waitid_is_noted_once_and_only_when_it_takes_the_child(
    library: Path, tmp_path: Path
) -> None:
    program = """
import errno, os
pid = os.fork()
if pid == 0: os._exit(3)
peeked = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
taken = os.waitid(os.P_PID, pid, os.WEXITED)
assert (peeked.si_pid, peeked.si_status) == (taken.si_pid, taken.si_status) == (pid, 3)
try:
    os.waitpid(pid, 0)
except ChildProcessError as error:
    assert error.errno == errno.ECHILD
else:
    raise SystemExit("no error")
"""
    done = run_python(program, library, tmp_path / "run")
    assert (done.returncode, done.stderr) == (0, "")
    [[(_, status)]] = ends(tmp_path / "run").values()
    assert status == 3 << 8


KILLED = """
#include <signal.h>
#include <sys/types.h>
#include <unistd.h>

int posix_fallocate(int file, off_t offset, off_t bytes)
{
    return ftruncate(file, offset + bytes) + kill(getpid(), SIGKILL);
}
int posix_fallocate64(int, off_t, off_t) __attribute__((alias("posix_fallocate")));
"""


def test_killed_while_its_files_are_made_a_process_leaves_no_recording_that_tells_nothing(
    library: Path, tmp_path: Path
) -> None:
    """It is made as long as it is when its space has been obtained, and has no header yet."""
    variables = {"LD_PRELOAD": f"{running.interposing(KILLED, tmp_path)}:{library}"}
    command = running.python_command("forked_recording.py")
    done = running.run(command, library, tmp_path / "run", variables=variables)
    assert done.exit_code == -signal.SIGKILL
    [unnamed] = (tmp_path / "run").glob("*/*.rec*")
    assert unnamed.stat().st_size > 0
    assert unnamed.suffix == ".new"
    recorded = unnamed.with_name("another.rec.new")  # of a file system that refused to rename it
    recorded.write_bytes(MAGIC)
    remove_scratch(tmp_path / "run")
    assert [one.name for one in (tmp_path / "run").glob("*/*.rec*")] == [recorded.name]


def test_killed_while_files_on_its_node_are_made_a_process_leaves_nothing_there(
    library: Path, tmp_path: Path
) -> None:
    local = tmp_path / "local"
    local.mkdir()
    preloaded = f"{running.interposing(KILLED, tmp_path)}:{library}"
    variables = {"LD_PRELOAD": preloaded, "PERFSCOPE_LOCAL_DIR": str(local)}
    command = running.python_command("forked_recording.py")
    done = running.run(command, library, tmp_path / "run", variables=variables)
    assert done.exit_code == -signal.SIGKILL
    assert [one.name for one in local.glob("*/*.rec*")] == ["own.rec.new"]
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("PERFSCOPE_LOCAL_DIR", str(local))
        assert bring_in(tmp_path / "run") == []
    assert list(local.iterdir()) == []


REFUSING = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <sys/syscall.h>

int rename(const char *from, const char *to)
{
    errno = EROFS;
    return -1;
}

long syscall(long number, long a, long b, long c, long d, long e, long f)
{
    long (*forward)(long, long, long, long, long, long, long) = dlsym(RTLD_NEXT, "syscall");
    return number == SYS_renameat2 ? rename("", "") : forward(number, a, b, c, d, e, f);
}
"""


def test_where_files_cannot_be_renamed_the_records_and_the_job_go_on(
    library: Path, tmp_path: Path
) -> None:
    program = (
        "import ctypes, os; recorder = ctypes.CDLL(os.environ['PERFSCOPE_RECORDER']);"
        "assert recorder.ps_open() == 0; recorder.ps_phase_begin.restype = ctypes.c_uint64;"
        "place = recorder.ps_phase_begin(12, recorder.ps_name(b'own', 3), 0, 0);"
        "recorder.ps_phase_end(ctypes.c_uint64(place)); print('done', flush=True); os._exit(5)"
    )
    variables = {"LD_PRELOAD": f"{running.interposing(REFUSING, tmp_path)}:{library}"}
    command = [sys.executable, "-c", program]
    job = running.run(command, library, tmp_path / "run", variables=variables)
    assert (job.exit_code, job.stdout, job.stderr) == (5, "done\n", "")
    assert job.recordings == []
    [unnamed] = job.directory.glob("*/*.rec.new")
    unnamed.rename(unnamed.with_suffix(""))  # what its name tells, done where that can be
    [recording] = job.recordings
    assert (recording.flags & EXITED, recording.header["exit_code"]) == (EXITED, 5)
    assert [(recording.names[one.comm], one.t1 > 0) for one in recording.of_kind(PHASE)] == [
        ("own", True)
    ]
    notes = [note for texts in recording.texts.values() for note in texts]
    assert any(".rec.new and cannot be renamed: Read-only file system." in one for one in notes)


def test_ordinary_processes_leave_nothing(library: Path, tmp_path: Path) -> None:
    program = "import subprocess, sys; subprocess.run([sys.executable, '-c', ''], check=True)"
    done = run_python(program, library, tmp_path / "run")
    assert done.returncode == 0
    assert list((tmp_path / "run").rglob("*")) == []


def test_without_a_directory_nothing_happens(mpich: Mpi, start: Start, tmp_path: Path) -> None:
    start(mpich, 2, "calls.py", "10", "0", variables={"PERFSCOPE_DIR": ""}).succeeded()
    assert list((tmp_path / "run").rglob("*")) == []
