"""How much memory is left is asked of the machine, the control groups and the process's limits."""

import subprocess
import sys
from pathlib import Path

from perfscope.readers.common.memory import memory_left_bytes, rows_that_fit

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


def test_where_nothing_is_known_there_is_no_limit(tmp_path: Path) -> None:
    assert memory_left_bytes(proc=tmp_path, groups=tmp_path) > 1 << 60


def test_a_limit_on_the_address_space_is_heard() -> None:
    code = "from perfscope.readers.common.memory import *; print(memory_left_bytes())"
    limited = ["bash", "-c", f'ulimit -v 800000; exec "{sys.executable}" -c "{code}"']
    shown = subprocess.run(limited, check=True, capture_output=True, text=True, timeout=60)
    assert 0 < int(shown.stdout) < 800_000 << 10


def test_calls_that_fit() -> None:
    assert rows_that_fit(1 << 30) < rows_that_fit(1 << 34)
    assert rows_that_fit(0) == 1
