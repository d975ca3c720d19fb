"""How much memory is left is asked of the machine, the control groups and the process's limits."""

import subprocess
import sys
from pathlib import Path

from perfscope.memory import memory_left_bytes, rows_that_fit

MB = 1 << 20


def system(place: Path, *, available_mb: int) -> tuple[Path, Path]:
    """Directories as the kernel shows them: /proc, and control groups without a limit."""
    proc, groups = place / "proc", place / "cgroup"
    (proc / "self").mkdir(parents=True)
    (proc / "meminfo").write_text(
        f"MemTotal: {1 << 40} kB\nMemAvailable: {available_mb << 10} kB\n"
    )
    (proc / "self" / "cgroup").write_text("12:cpu:/old\n0::/batch/job\n")
    (groups / "batch" / "job").mkdir(parents=True)
    return proc, groups


def test_what_the_machine_has_available(tmp_path: Path) -> None:
    proc, groups = system(tmp_path, available_mb=300)
    assert memory_left_bytes(proc=proc, groups=groups) == 300 * MB


def test_the_narrowest_control_group_counts_wherever_it_stands_above(tmp_path: Path) -> None:
    proc, groups = system(tmp_path, available_mb=300)
    (groups / "batch" / "job" / "memory.max").write_text("max\n")
    (groups / "batch" / "job" / "memory.current").write_text(f"{10 * MB}\n")
    (groups / "batch" / "memory.max").write_text(f"{90 * MB}\n")
    (groups / "batch" / "memory.current").write_text(f"{40 * MB}\n")
    assert memory_left_bytes(proc=proc, groups=groups) == 50 * MB
    (groups / "batch" / "memory.current").write_text(f"{95 * MB}\n")
    assert memory_left_bytes(proc=proc, groups=groups) == 0


def test_files_that_lie_idle_make_room(tmp_path: Path) -> None:
    proc, groups = system(tmp_path, available_mb=300)
    job = groups / "batch" / "job"
    (job / "memory.max").write_text(f"{100 * MB}\n")
    (job / "memory.current").write_text(f"{90 * MB}\n")
    (job / "memory.stat").write_text(f"anon {20 * MB}\ninactive_file {60 * MB}\n")
    assert memory_left_bytes(proc=proc, groups=groups) == 70 * MB


def test_control_groups_of_version_1_are_heard(tmp_path: Path) -> None:
    proc, groups = system(tmp_path, available_mb=300)
    (proc / "self" / "cgroup").write_text("12:cpu:/old\n8:memory:/slurm/job\n0::/\n")
    job = groups / "memory" / "slurm" / "job"
    job.mkdir(parents=True)
    (job / "memory.limit_in_bytes").write_text(f"{9223372036854771712}\n")
    (job / "memory.usage_in_bytes").write_text(f"{90 * MB}\n")
    assert memory_left_bytes(proc=proc, groups=groups) == 300 * MB
    (job.parent / "memory.limit_in_bytes").write_text(f"{100 * MB}\n")
    (job.parent / "memory.usage_in_bytes").write_text(f"{90 * MB}\n")
    (job.parent / "memory.stat").write_text(f"inactive_file 5\ntotal_inactive_file {30 * MB}\n")
    assert memory_left_bytes(proc=proc, groups=groups) == 40 * MB


def test_where_nothing_is_known_there_is_no_limit(tmp_path: Path) -> None:
    assert memory_left_bytes(proc=tmp_path, groups=tmp_path) > 1 << 60


def test_a_limit_on_the_address_space_is_heard() -> None:
    code = "from perfscope.memory import *; print(memory_left_bytes())"
    limited = ["bash", "-c", f'ulimit -v 800000; exec "{sys.executable}" -c "{code}"']
    shown = subprocess.run(limited, check=True, capture_output=True, text=True, timeout=60)
    assert 0 < int(shown.stdout) < 800_000 << 10


def test_calls_that_fit() -> None:
    assert rows_that_fit(1 << 30) < rows_that_fit(1 << 34)
    assert rows_that_fit(0) == 1
