"""Several threads that call MPI at once, and the sampler's view of threads."""

import os
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from tests.native.recorder import running
from tests.native.recorder.conftest import Start
from tests.native.recorder.decode import SAMPLE, Record, Recording
from tests.support.environments import Mpi
from tests.support.requirements import require_root, require_tool

PROVIDED_MULTIPLE = 256
PROCESS, SYSTEM, NODE, TREE = 1, 2, 3, 6
MIB = 1 << 20
CALLS = 300


def check_location(recording: Recording, tid: int) -> None:
    """One thread's records: complete, in order, each request with its own completion."""
    records = [r for r in recording.records if r.tid == tid and r.kind in (1, 2)]
    reductions = [r for r in records if r.kind == 1 and r.name == "MPI_Allreduce"]
    assert [r.seq for r in reductions] == list(range(CALLS))
    assert len({r.comm for r in reductions}) == 1
    made = [r.request for r in records if r.kind == 1 and r.name in ("MPI_Irecv", "MPI_Isend")]
    done = [r.request for r in records if r.kind == 2]
    assert made == done
    calls = [r for r in records if r.kind == 1]
    assert all(a.t1 <= b.t0 for a, b in pairwise(calls))


def test_two_threads_calling_at_once(each_abi: Mpi, start: Start) -> None:
    job = start(each_abi, 2, "threads.py", str(CALLS)).succeeded()
    for recording in job.recordings:
        assert recording.flags & PROVIDED_MULTIPLE
        for name in ("MPI_Allreduce", "MPI_Irecv", "MPI_Isend", "MPI_Waitall"):
            assert recording.totals[name].count == 2 * CALLS
        assert recording.totals["MPI_Irecv"].received == 2 * CALLS * 24
        tids = {r.tid for r in recording.operations("MPI_Allreduce")}
        assert len(tids) == 2
        assert recording.header["main_tid"] not in tids
        for tid in tids:
            check_location(recording, tid)


def samples(recording: Recording, kind: int) -> list[Record]:
    """Samples of one kind in time order."""
    return [r for r in recording.of_kind(SAMPLE) if r.op == kind]


def test_the_sampler_sees_threads_memory_and_processor_time(library: Path, tmp_path: Path) -> None:
    command = running.python_command("resources.py")
    variables = {"PERFSCOPE_SAMPLE_HZ": "20"}
    job = running.run(command, library, tmp_path / "run", variables=variables).succeeded()
    [recording] = job.recordings
    header, process = recording.header, samples(recording, PROCESS)
    assert (recording.rank, header["size"], header["sampler_hz"]) == (0, 1, 20)
    assert len(process) >= 10
    assert max(r.sent for r in process) - process[0].sent >= 38_000_000
    threads = [r.peer for r in process]
    assert threads.count(2) > len(threads) // 2  # neither the sampler nor the ignored thread
    assert max(r.tag for r in process) >= 1
    assert process[-1].received - process[0].received > 300_000_000
    assert all(a.received <= b.received for a, b in pairwise(process))
    [burner] = [thread for thread in recording.threads if thread.name == "burner"]
    assert burner.cpu_ns > 300_000_000
    assert burner.runnable_seen > 0
    assert "perfscope" not in {thread.name for thread in recording.threads}
    assert 0 < int(header["sampler_cpu_ns"]) < 300_000_000
    assert int(header["alive_ns"]) == process[-1].t0


INNER = """
import os, threading, time
import ctypes
recorder = ctypes.CDLL(os.environ["PERFSCOPE_RECORDER"])
assert recorder.ps_open() == 0
recorder.ps_set_rank(0, 1)
assert int(os.readlink("/proc/self")) != os.getpid()
kept = bytearray(b"x") * 40_000_000  # before the first sample, which may be the only one
recorder.ps_sampler_start()
end = time.monotonic() + 1.5
while time.monotonic() < end or time.thread_time() < 0.5:
    pass
"""


def test_threads_and_memory_are_its_own_where_proc_is_that_of_an_outer_namespace(
    library: Path, tmp_path: Path
) -> None:
    """Its own number is there that of another process, and no thread has the numbers listed."""
    outer = [str(require_tool("unshare")), "--pid", "--fork"]
    require_root("a PID namespace")
    # the first processes of a namespace have numbers that kernel threads have outside
    others = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    try:
        last = f"echo {others.pid - 1} > /proc/sys/kernel/ns_last_pid"
        command = [*outer, "sh", "-c", f'{last}; "$@"; exit $?', "sh", sys.executable, "-c", INNER]
        variables = {"PERFSCOPE_SAMPLE_HZ": "20"}
        job = running.run(command, library, tmp_path / "run", variables=variables).succeeded()
    finally:
        others.kill()
        others.wait()
    [recording] = job.recordings
    assert recording.header["pid"] == others.pid
    process = samples(recording, PROCESS)
    assert {r.peer for r in process} == {1}  # not the sampler's own
    assert {r.tag for r in process} <= {0, 1}
    [main] = recording.threads
    assert main.cpu_ns > 300_000_000
    tree = samples(recording, TREE)
    assert max(r.sent for r in tree) > 40 * MIB
    assert {r.request for r in tree} == {0}


def test_the_memory_of_descendants_is_added_up(library: Path, tmp_path: Path) -> None:
    job = running.run(running.python_command("family.py"), library, tmp_path / "run").succeeded()
    [recording] = job.recordings
    first = samples(recording, TREE)[0]
    assert first.request == 2
    # what each holds, and an interpreter of which most is shared
    assert 40 * MIB < first.sent < 70 * MIB
    assert 50 * MIB < first.received < 90 * MIB
    resident = samples(recording, PROCESS)[0].sent
    assert first.sent <= resident


def test_threads_that_wait_for_a_device_are_counted(library: Path, tmp_path: Path) -> None:
    """The parent of a vfork sleeps as a thread does that waits for a disk."""
    held = tmp_path / "hold.so"
    source = running.JOBS / "hold.c"
    subprocess.run([require_tool("cc"), "-w", "-shared", "-fPIC", "-o", held, source], check=True)
    command = [*running.python_command("blocked.py"), held]
    variables = {"PERFSCOPE_SAMPLE_HZ": "50"}
    job = running.run(command, library, tmp_path / "run", variables=variables).succeeded()
    [recording] = job.recordings
    blocked = [record.seq for record in samples(recording, PROCESS)]
    assert set(blocked) <= {0, 1}
    assert blocked.count(1) >= 5


def test_samples_of_system_and_node(library: Path, tmp_path: Path) -> None:
    command = running.python_command("resources.py")
    [recording] = running.run(command, library, tmp_path / "run").succeeded().recordings
    system, node = samples(recording, SYSTEM), samples(recording, NODE)
    assert all(a.request <= b.request for a, b in pairwise(system))
    assert all(a.sent <= b.sent for a, b in pairwise(system))
    total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    for record in node:
        assert 0 < record.sent < record.received
        assert abs(record.received - total) < total // 50
        assert record.peer >= 0
    assert recording.header["cpus_allowed"] == len(os.sched_getaffinity(0))


def test_no_sampler_when_it_is_switched_off(library: Path, tmp_path: Path) -> None:
    command = running.python_command("resources.py")
    variables = {"PERFSCOPE_SAMPLE_HZ": "0"}
    job = running.run(command, library, tmp_path / "run", variables=variables).succeeded()
    [recording] = job.recordings
    assert recording.of_kind(SAMPLE) == []
    assert recording.header["sampler_hz"] == 0


def test_the_affinity_of_the_job_is_noted(library: Path, tmp_path: Path) -> None:
    only = min(os.sched_getaffinity(0))
    script = str(running.JOBS / "resources.py")
    program = f"import os; os.sched_setaffinity(0, [{only}]); exec(open({script!r}).read())"
    job = running.run([sys.executable, "-c", program], library, tmp_path / "run").succeeded()
    [recording] = job.recordings
    assert recording.header["cpus_allowed"] == 1
    assert recording.texts[5] == [str(only)]


def test_the_affinity_of_a_job_is_that_of_all_threads_that_work(
    library: Path, tmp_path: Path
) -> None:
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) < 2:
        pytest.skip("needs two CPUs")
    command = running.python_command("bound_threads.py")
    [recording] = running.run(command, library, tmp_path / "run").succeeded().recordings
    assert recording.header["cpus_allowed"] == 2
    both = f"{cpus[0]}-{cpus[-1]}" if len(cpus) == 2 else f"{cpus[0]},{cpus[-1]}"
    assert recording.texts[5][-1] == both
