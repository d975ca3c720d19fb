"""Bounded recordings: size limit, full disk, file size limit, no directory to write to."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.native.recorder import running
from tests.native.recorder.conftest import Start
from tests.native.recorder.decode import METRIC, OPERATION, SAMPLE, STEP, Recording, decode_all
from tests.support.environments import Mpi
from tests.support.recording import job_variables
from tests.support.requirements import missing, require_root, require_tool

DISK_FULL, SIZE_LIMIT, FINALIZED, EXITED = 32, 64, 4, 16
MIB = 1 << 20
CALLS = 64_000
"""More than fit a small file system also if one rank alone has all of it."""


def check_detail_stopped(recording: Recording, flag: int) -> None:
    """Detail ended early, totals and context did not."""
    header = recording.header
    detail = recording.operations()
    assert recording.totals["MPI_Allreduce"].count == CALLS
    assert recording.totals["MPI_Allreduce"].sent == 8 * CALLS
    assert 0 < len(detail) < CALLS
    assert int(header["dropped"]) > 0
    assert int(header["first_drop_ns"]) >= max(r.t1 for r in detail)
    assert recording.flags & (DISK_FULL | SIZE_LIMIT | FINALIZED) == flag | FINALIZED
    # Kept for what comes after the detail has stopped.
    assert len(recording.of_kind(METRIC)) == 1
    assert any(r.t0 > int(header["first_drop_ns"]) for r in recording.of_kind(SAMPLE))


def test_the_size_limit_stops_detail_and_keeps_totals(any_mpi: Mpi, start: Start) -> None:
    limit = MIB
    job = start(
        any_mpi, 2, "calls.py", str(CALLS), "0", variables={"PERFSCOPE_MAX_BYTES": str(limit)}
    ).succeeded()
    for recording in job.recordings:
        check_detail_stopped(recording, SIZE_LIMIT)
        assert recording.path.stat().st_size <= limit
        capacity = (limit - limit // 8 - 65536) // 64  # the rest is for definitions
        assert recording.header["capacity"] == capacity
        detail = [r for r in recording.records if r.kind == OPERATION]
        assert len(detail) <= capacity - capacity // 8


SMALL = {
    "tmpfs": "mount -t tmpfs -o size=1m none {place}",
    # Without extents there is no fallocate: space is obtained by writing.
    "ext2": "truncate -s 1600K {place}.img && mkfs.ext2 -q -m 0 -N 64 {place}.img"
    " && mount -o loop {place}.img {place}",
    "ext4": "truncate -s 1900K {place}.img && mkfs.ext4 -q -m 0 -N 64 -O ^has_journal {place}.img"
    " && mount -o loop {place}.img {place}",
}


@pytest.mark.parametrize("system", SMALL)
def test_a_full_disk_stops_detail_and_not_the_job(
    mpich: Mpi, library: Path, tmp_path: Path, system: str
) -> None:
    require_root("mount a small file system")
    if system != "tmpfs":
        require_tool(f"mkfs.{system}")
        if not Path("/dev/loop-control").exists():
            missing("loop devices")
    unshare = require_tool("unshare")
    small, kept = tmp_path / "small", tmp_path / "kept"
    small.mkdir()
    job = shlex.join(mpich.python_command(2, running.JOBS / "calls.py", str(CALLS), "0"))
    script = f"""
{SMALL[system].format(place=shlex.quote(str(small)))} || exit 99
mkdir {shlex.quote(str(small / "run"))}
{job} || exit $?
cp -r {shlex.quote(str(small / "run"))} {shlex.quote(str(kept))}
"""
    variables = running.preload_variables(library, small / "run") | dict(mpich.variables)
    done = subprocess.run(
        [unshare, "--mount", "sh", "-c", script],
        env=job_variables(variables),
        capture_output=True,
        text=True,
        timeout=running.TIMEOUT_S,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    recordings = decode_all(kept)
    assert len(recordings) == 2
    for recording in recordings:
        check_detail_stopped(recording, DISK_FULL)
        assert any("No space left" in note for note in recording.texts[6])


QUOTA = """
#include <errno.h>
#include <unistd.h>

int posix_fallocate(int file, off_t offset, off_t bytes)
{
    return offset > 300000 ? EDQUOT : ftruncate(file, offset + bytes) ? errno : 0;
}
int posix_fallocate64(int, off_t, off_t) __attribute__((alias("posix_fallocate")));
"""


def test_a_quota_that_is_used_up_stops_detail_and_not_the_job(
    mpich: Mpi, library: Path, tmp_path: Path
) -> None:
    """Stands in for a file system with quotas: space beyond the first chunk is refused."""
    refusing = running.interposing(QUOTA, tmp_path)
    command = mpich.python_command(2, running.JOBS / "calls.py", str(CALLS), "0")
    variables = {**mpich.variables, "LD_PRELOAD": f"{refusing}:{library}"}
    job = running.run(command, library, tmp_path / "run", variables=variables).succeeded()
    for recording in job.recordings:
        check_detail_stopped(recording, DISK_FULL)
        assert any("quota exceeded" in note for note in recording.texts[6])


def test_a_file_size_limit_of_the_job_sends_no_signal(any_mpi: Mpi, start: Start) -> None:
    job = start(any_mpi, 2, "calls.py", str(CALLS), "0", str(MIB // 2)).succeeded()
    for recording in job.recordings:
        check_detail_stopped(recording, DISK_FULL)
        assert any("file size limit" in note for note in recording.texts[6])


def test_a_directory_that_cannot_be_written_is_silent(
    mpich: Mpi, library: Path, tmp_path: Path
) -> None:
    blocked = tmp_path / "blocked"
    blocked.write_text("a file where the directory should be")
    variables = {**mpich.variables, "PERFSCOPE_DIR": str(blocked)}
    command = mpich.python_command(2, running.JOBS / "calls.py", "10", "0")
    running.run(command, library, tmp_path / "run", variables=variables).succeeded()
    assert blocked.is_file()


def test_a_record_file_that_cannot_be_made_leaves_a_note(library: Path, tmp_path: Path) -> None:
    """The first chunk does not fit into the process's file size limit, the note does."""
    program = "import ctypes, os; print(ctypes.CDLL(os.environ['PERFSCOPE_RECORDER']).ps_open())"
    command = ["sh", "-c", f"ulimit -f 64; exec {shlex.join([sys.executable, '-c', program])}"]
    job = running.run(command, library, tmp_path / "run").succeeded()
    assert job.stdout == "1\n"
    [definitions] = (tmp_path / "run").glob("*/*.def")
    assert b"Nothing was recorded" in definitions.read_bytes()
    assert list((tmp_path / "run").glob("*/*.rec")) == []


def test_a_flood_of_unsuccessful_tests_is_one_record(mpi: Mpi, start: Start) -> None:
    polls = 20_000
    job = start(mpi, 1, "calls.py", "1", str(polls)).succeeded()
    [recording] = job.recordings
    tests = recording.operations("MPI_Test")
    assert sum(r.request for r in tests) == polls == recording.totals["MPI_Test"].count
    assert len(tests) < polls / 10


def test_the_files_belong_to_the_process(mpich: Mpi, start: Start) -> None:
    job = start(mpich, 2, "calls.py", "1", "0").succeeded()
    for recording in job.recordings:
        header = recording.header
        assert recording.path.name == f"{int(header['pid'])}-{int(header['start_ticks'])}.rec"
        assert recording.path.parent.name == header["host"] == os.uname().nodename
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        assert header["boot_id"] == boot
        assert recording.path.stat().st_size == 65536 + 64 * int(header["claimed"])


def test_old_records_do_not_count_as_memory_of_the_job(library: Path, tmp_path: Path) -> None:
    job = running.run(running.python_command("many_events.py"), library, tmp_path / "run")
    [recording] = job.succeeded().recordings
    assert len(recording.of_kind(STEP)) == 400_000  # 25 MB
    resident, pages = (int(word) for word in job.stdout.split())
    assert resident < pages / 20  # the header and what the sampler is reading stay


def test_memory_of_the_job_beside_a_full_buffer_is_left_alone(
    library: Path, tmp_path: Path
) -> None:
    command = running.python_command("beyond_capacity.py")
    variables = {"PERFSCOPE_MAX_BYTES": str(MIB)}
    job = running.run(command, library, tmp_path / "run", variables=variables).succeeded()
    assert job.stdout == "128 of 128\n"
    [recording] = job.recordings
    assert int(recording.header["claimed"]) > 100_000 > int(recording.header["capacity"])
    # Names stop before the file of definitions is full: what else must be told still is.
    definitions = recording.path.with_suffix(".def").stat().st_size
    assert MIB // 8 * 3 // 4 < definitions < MIB // 8 * 15 // 16


def test_a_program_that_replaces_the_process_has_files_of_its_own(
    library: Path, tmp_path: Path
) -> None:
    job = running.run(running.python_command("replacing.py"), library, tmp_path / "run")
    first, second = sorted(job.succeeded().recordings, key=lambda r: len(r.path.name))
    assert second.path.name == f"{first.path.stem}-1.rec"
    assert (first.header["pid"], first.rank) == (second.header["pid"], 0)
    assert second.rank == 1
    assert first.flags & EXITED == 0
    assert second.flags & EXITED == EXITED


LIMITS = {
    "cpu.max": "150000 100000",
    "memory.max": "1073741824",
    "memory.current": "4096",
    "cpu/cpu.cfs_quota_us": "150000",
    "cpu/cpu.cfs_period_us": "100000",
    "memory/memory.limit_in_bytes": "1073741824",
    "memory/memory.usage_in_bytes": "4096",
}


def test_limits_of_the_control_group_are_noted(library: Path, tmp_path: Path) -> None:
    """Both versions laid over the real ones in a mount namespace."""
    require_root("mount over /sys/fs/cgroup")
    place = "/sys/fs/cgroup"
    script = f"mount -t tmpfs none {place} && mkdir {place}/cpu {place}/memory || exit 99\n"
    script += "".join(f"echo {text} > {place}/{name}\n" for name, text in LIMITS.items())
    script += shlex.join([str(word) for word in running.python_command("resources.py")])
    command: list[str | Path] = [require_tool("unshare"), "--mount", "sh", "-c", script]
    [recording] = running.run(command, library, tmp_path / "run").succeeded().recordings
    assert recording.header["cgroup_cpu_quota_us"] == 1_500_000
    assert recording.header["cgroup_memory_limit"] == 1 << 30
    assert {r.request for r in recording.of_kind(SAMPLE) if r.op == 3} == {4096}


@pytest.mark.parametrize(("hidden", "others", "is_known"), [(0, 4000, True), (1, 0, False)])
def test_cpus_are_told_of_where_all_that_are_allowed_are_seen(
    library: Path, tmp_path: Path, hidden: int, others: int, is_known: bool
) -> None:
    """Of more CPUs than are read the first ones suffice; containers may count theirs from 0 on."""
    require_root("mount over /proc/stat")
    allowed = sorted(os.sched_getaffinity(0))
    stat, cpus = tmp_path / "stat", [*allowed[hidden:], *range(5000, 5000 + others)]
    lines = ["cpu 0", *(f"cpu{cpu} 100 20 3 4 5 6 7 8 9 10" for cpu in cpus), "intr 0", ""]
    stat.write_text("\n".join(lines), encoding="utf-8")
    script = f"mount --bind {shlex.quote(str(stat))} /proc/stat || exit 99\n"
    script += shlex.join([str(word) for word in running.python_command("resources.py")])
    command: list[str | Path] = [require_tool("unshare"), "--mount", "sh", "-c", script]
    [recording] = running.run(command, library, tmp_path / "run").succeeded().recordings
    seen = {(r.peer, r.sent, r.received) for r in recording.of_kind(SAMPLE) if r.op == 12}
    count, tick_ns = len(allowed), 10**9 // os.sysconf("SC_CLK_TCK")
    assert seen == ({(count, 136 * count * tick_ns, 8 * count * tick_ns)} if is_known else set())
