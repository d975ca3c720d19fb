"""Who starts the job counts whom the kernel ends for want of memory, and a recording tells it."""

import json
from pathlib import Path

import pytest

from perfscope.record.launch import RecordingOptions
from perfscope.record.launcher import recognize
from perfscope.record.memory_kills import KillCounter, kill_counter
from perfscope.record.process import Ending
from perfscope.record.run_file import RunFile


def host(place: Path, group: str, *, events: dict[str, int], host_kills: int | None) -> None:
    """Lays out /proc and /sys/fs/cgroup below a directory."""
    (place / "proc/self").mkdir(parents=True)
    (place / "proc/self/cgroup").write_text(f"4:memory:/other\n0::{group}\n")
    if host_kills is not None:
        (place / "proc/vmstat").write_text(f"pgfault 12\noom_kill {host_kills}\n")
    for name, kills in events.items():
        folder = place / "groups" / name
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "memory.events").write_text(f"low 0\noom 9\noom_kill {kills}\noom_group_kill 0\n")


def counter_in(place: Path) -> KillCounter | None:
    return kill_counter(proc=place / "proc", groups=place / "groups")


@pytest.mark.parametrize(
    ("group", "events", "host_kills", "scope", "count"),
    [
        ("/job_7/step_batch", {"job_7": 3, "job_7/step_batch": 1}, 8, "group", 3),
        ("/", {"": 4}, 8, "group", 4),  # of a container, which sees its own group as the root
        ("/../../outside", {"": 4, "outside": 5}, 8, "group", 4),
        ("/job_7", {}, 8, "host", 8),
    ],
)
def test_the_widest_group_in_sight_counts_else_the_host(
    tmp_path: Path, group: str, events: dict[str, int], host_kills: int, scope: str, count: int
) -> None:
    host(tmp_path, group, events=events, host_kills=host_kills)
    counter = counter_in(tmp_path)
    assert counter is not None
    assert (counter.scope, counter.read()) == (scope, count)


def test_a_kernel_that_counts_nothing(tmp_path: Path) -> None:
    assert counter_in(tmp_path) is None
    host(tmp_path, "/", events={}, host_kills=None)
    (tmp_path / "proc/vmstat").write_text("oom_kill many\n")
    assert counter_in(tmp_path) is None


def test_run_json_holds_the_counts_of_start_and_end(tmp_path: Path) -> None:
    host(tmp_path, "/job_7", events={"job_7": 2}, host_kills=8)
    command = ["mpirun", "-n", "2", "python", "train.py"]
    run = RunFile(
        tmp_path, command, recognize(command, {}), RecordingOptions(), _kills=counter_in(tmp_path)
    )
    run.write_start()
    assert noted(tmp_path) == {"of": "group", "start": 2, "end": None}
    (tmp_path / "groups/job_7/memory.events").write_text("oom_kill 3\n")
    run.write_end(Ending(137))
    assert noted(tmp_path) == {"of": "group", "start": 2, "end": 3}


def noted(directory: Path) -> object:
    return json.loads((directory / "run.json").read_text())["oom_kills"]
