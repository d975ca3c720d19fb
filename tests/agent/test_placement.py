"""Where memory, files and workers of a process are; machines with NUMA nodes are mocks."""

import os
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from perfscope.agent.perfscope_agent import metadata, placement, stacks, start, topology
from tests.agent.jobs import RANK_ZERO, Job

NUMA_MAPS = """\
55d0 default file=/usr/bin/python3 mapped=40 mapmax=2 N0=30 N1=10 kernelpagesize_kB=4
7f00 default anon=1000 dirty=1000 active=0 N0=250 N1=750 kernelpagesize_kB=4
7f10 default anon=2 dirty=2 N1=2 kernelpagesize_kB=2048
7f18 interleave:0-1 anon=800 dirty=800 N0=400 N1=400 kernelpagesize_kB=4
7f20 default
7f30 default stack
"""
MOUNTS = """\
21 1 259:1 / / rw,relatime shared:1 - ext4 /dev/root rw
30 21 0:25 / {lustre} rw,relatime - lustre mds@tcp:/work rw
31 21 0:26 / /proc rw - proc proc rw
broken line
"""


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A mock of /sys and /proc: two NUMA nodes with CPUs and one with memory alone."""
    nodes = tmp_path / "node"
    for node, cpus in (("0", "0-1"), ("1", "2-3"), ("2", "")):
        (nodes / f"node{node}").mkdir(parents=True)
        (nodes / f"node{node}" / "cpulist").write_text(f"{cpus}\n")
    (nodes / "online").write_text("0-2\n")
    proc = tmp_path / "proc"
    (proc / "fd").mkdir(parents=True)
    (proc / "numa_maps").write_text(NUMA_MAPS)
    (proc / "statm").write_text("9000 1042 100 1 0 500 0\n")
    (proc / "mountinfo").write_text(MOUNTS.format(lustre=tmp_path / "scratch"))
    (tmp_path / "scratch").mkdir()
    monkeypatch.setattr(topology, "_NODE", str(nodes))
    monkeypatch.setattr(placement, "_PROC", str(proc))
    monkeypatch.setattr(placement, "_moves", placement._Moves())
    monkeypatch.setattr(metadata, "facts", {})
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: {0, 1, 2, 3})
    return tmp_path


def runs_on(machine: Path, cpu: int) -> None:
    """Writes the state of the main thread as the kernel does after it ran on a CPU."""
    place = machine / "proc" / "task" / str(os.getpid())
    place.mkdir(parents=True, exist_ok=True)
    fields = ["S", *(["0"] * 35), str(cpu), "0", "0"]
    (place / "stat").write_text(f"{os.getpid()} (py thon) {' '.join(fields)}\n")


@pytest.mark.usefixtures("machine")
def test_nodes_with_their_cpus() -> None:
    assert topology.numa_nodes() == {"0": "0-1", "1": "2-3"}
    assert topology.topology()["numa"] == {"0": "0-1", "1": "2-3"}


@pytest.mark.usefixtures("machine")
def test_own_pages_are_added_up_in_bytes() -> None:
    """Libraries lie where anybody read them first; interleaved memory lies where it shall."""
    assert placement.bytes_by_node() == {"0": 250 * 4096, "1": 750 * 4096 + 2 * (2 << 20)}


def test_the_main_thread_is_followed_from_node_to_node(machine: Path) -> None:
    assert placement.begin(topology.numa_nodes())
    for cpu in (0, 1, 2, 3, 0, 9, 1):
        runs_on(machine, cpu)
        placement.watch()
    placement.note()
    assert metadata.facts["numa"]["moves"] == 2
    assert metadata.facts["numa"]["bytes_by_node"]["0"] == 250 * 4096


@pytest.mark.usefixtures("machine")
def test_a_process_bound_to_one_node_is_not_watched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: {2, 3})
    assert not placement.begin(topology.numa_nodes())


def test_a_very_large_process_is_left_alone(machine: Path) -> None:
    placement.begin(topology.numa_nodes())
    (machine / "proc" / "statm").write_text(f"1 {1 << 30} 1 1 0 1 0\n")
    placement.note()
    assert metadata.facts["numa"] == {"moves": 0}


def test_open_files_lead_to_their_mounts(machine: Path) -> None:
    data = machine / "scratch" / "train.h5"
    data.write_bytes(b"x")
    (machine / "proc" / "fd" / "3").symlink_to(data)
    (machine / "proc" / "fd" / "4").symlink_to("/proc/self/maps")
    (machine / "proc" / "fd" / "5").symlink_to("/nowhere/at/all")
    placement.note()
    rows = {row["mount"]: row for row in metadata.facts["file_systems"]}
    assert rows[str(machine / "scratch")] == {
        "mount": str(machine / "scratch"),
        "type": "lustre",
        "files": 1,
    }
    assert set(rows) == {"/", str(machine / "scratch")}
    (machine / "proc" / "fd" / "3").unlink()
    placement.note()
    assert len(metadata.facts["file_systems"]) == 2  # what was closed since stays known


def test_one_part_that_is_forbidden_leaves_the_others(machine: Path) -> None:
    placement.begin(topology.numa_nodes())
    (machine / "proc" / "numa_maps").unlink()
    placement.note()
    assert "numa" not in metadata.facts
    assert metadata.facts["children_cpu_s"] >= 0
    assert metadata.facts["file_systems"]


@pytest.mark.parametrize(
    ("layout", "count"),
    [
        (b"\xd0\x0b\xd1\x0b" + bytes(24) + b"\x08\x00" + bytes(2), 8),
        (b"\xd0\x0b\xd3\x0b" + bytes(24) + b"\xff\xff" + bytes(2), 0),  # all servers
        (b"\xd0\x0b\xd6\x0b" + bytes(100), 0),  # a layout in parts
        (b"\xd0\x0b\xd1\x0b", 0),
        (b"", 0),
    ],
)
def test_stripes_of_a_lustre_layout(layout: bytes, count: int) -> None:
    assert placement.stripe_count(layout) == count


def test_a_recorded_process_notes_its_children_and_its_files(job: Callable[..., Job]) -> None:
    text = """
import subprocess, sys, time
burn = "import time\\nwhile time.process_time() < 0.3: pass"
subprocess.run([sys.executable, "-I", "-S", "-c", burn], check=True)
time.sleep(0.2)
"""
    found = job(text, variables=RANK_ZERO).process.metadata
    assert found["agent_notes"] == []
    assert 0.25 < found["children_cpu_s"] < 3.0
    assert all(row["type"] and row["files"] for row in found["file_systems"])
    assert found["topology"]["cpu_features"]
    if found["topology"]["numa_nodes"] == 1:
        assert "numa" not in found


class NoNotes:
    """What the sampler asks of a recorder that notes no stacks: only to wait."""

    def __init__(self) -> None:
        self._over = threading.Event()

    def stack_notes_start(self, *_: Any) -> None:
        """Nothing is prepared."""

    def stack_notes_stop(self) -> None:
        self._over.set()

    def stack_notes_wait(self, due_ns: list[int]) -> int:
        return 0 if self._over.wait(max(0, due_ns[0] - time.monotonic_ns()) / 1e9) else 1

    def stack_is_noted(self) -> bool:
        return False

    def ignore_thread(self, thread_id: int) -> None:
        """There is nobody who counts threads."""


def test_it_is_noted_once_before_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that is killed later leaves what was known after half a minute."""
    monkeypatch.setattr(stacks, "_LATER_S", 0.2)
    seen: list[str] = []
    forkable: list[bool] = []

    def later(busy: Any) -> None:
        forkable.append(not busy.locked())
        seen.append("later")

    waiting: Any = NoNotes()
    sampler = stacks.Sampler(50.0, waiting, lambda: seen.append("first"), later)
    sampler.start()
    deadline = time.monotonic() + 10
    while "later" not in seen and time.monotonic() < deadline:
        time.sleep(0.02)
    time.sleep(0.1)
    sampler.stop()
    assert seen == ["first", "later"]
    assert forkable == [True]  # forks do not wait while memory and mounts are looked at


def test_looking_does_not_hold_up_forks_and_writing_does(monkeypatch: pytest.MonkeyPatch) -> None:
    busy = threading.Lock()
    held: dict[str, bool] = {}
    monkeypatch.setattr(placement, "note", lambda: held.update(look=busy.locked()))
    monkeypatch.setattr(metadata, "write", lambda: held.update(write=busy.locked()))
    start._later(busy)
    assert held == {"look": False, "write": True}
    assert not busy.locked()


def test_only_open_files_are_asked_for_their_stripes(
    machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A path of the command line may lie on a mount that is dead, or not mounted before it is."""
    asked: list[object] = []

    def layout(path: object, _name: str) -> bytes:
        asked.append(path)
        return b"\xd0\x0b\xd1\x0b" + bytes(24) + b"\x04\x00" + bytes(2)

    monkeypatch.setattr(os, "getxattr", layout)
    monkeypatch.setattr(sys, "argv", ["x", f"--data={machine}/scratch/a", f"{machine}/scratch/b"])
    placement.note()
    (row,) = (r for r in metadata.facts["file_systems"] if r["type"] == "lustre")
    assert (row["files"], asked) == (2, [])
    (machine / "proc" / "fd" / "7").symlink_to(machine / "scratch" / "c")
    placement.note()
    (row,) = (r for r in metadata.facts["file_systems"] if r["type"] == "lustre")
    assert (row["stripes"], asked) == (4, [7])
