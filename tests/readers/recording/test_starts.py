"""What the agent took in processes that recorded nothing, from the notes that they left."""

import json
from pathlib import Path

from perfscope.readers.recording.starts import MOST_READ, read_starts
from perfscope.trace.started import Started, started
from tests.support.trace_builder import TraceBuilder


def note(folder: Path, number: int, **values: object) -> None:
    folder.mkdir(exist_ok=True)
    path = folder / f"{number}-1.json"
    path.write_text(json.dumps({"owner_pid": 7, **values}), encoding="utf-8")


def test_the_first_forks_stand_for_all_of_them(tmp_path: Path) -> None:
    folder = tmp_path / "vm"
    note(folder, 1, fork_cpu_ns=100)
    note(folder, 2, fork_cpu_ns=300)
    note(folder, 3, start_cpu_ns=5000)
    note(folder, 4, owner_pid=8, fork_cpu_ns=1)
    note(folder, 5, fork_cpu_ns=10**9)
    (folder / "5-1.rec").touch()  # has records of its own
    found = read_starts([folder])
    assert found["vm", 7].told(10) == {"processes": 11, "cpu_ns": 10 * 200 + 5000}
    assert found["vm", 7].told(0) == {"processes": 3, "cpu_ns": 2 * 200 + 5000}
    assert found["vm", 8].told(0) == {"processes": 1, "cpu_ns": 1}


def test_of_very_many_notes_some_stand_for_all(tmp_path: Path) -> None:
    for number in range(2 * MOST_READ):
        note(tmp_path / "vm", number, start_cpu_ns=1000)
    found = read_starts([tmp_path / "vm"])["vm", 7]
    assert len(found.loaded_ns) == MOST_READ
    assert found.told(0) == {"processes": 2 * MOST_READ, "cpu_ns": 2000 * MOST_READ}


def test_odd_notes_are_no_starts(tmp_path: Path) -> None:
    folder = tmp_path / "vm"
    for number, odd in enumerate(["1", None, True, -1, 1e300, [1]]):
        note(folder, number, fork_cpu_ns=odd)
        note(folder, 100 + number, owner_pid=odd, fork_cpu_ns=5)
    (folder / "9-1.json").write_text("{", encoding="utf-8")
    assert read_starts([folder])["vm", 7].told(0)["cpu_ns"] == 0
    rank = TraceBuilder(1, end_s=1.0).build().ranks[0]
    untold: list[object] = ["x", {"processes": "1", "cpu_ns": -5}, {}, 3]
    for told in untold:
        rank.metadata = {"started": told}
        assert started(rank) == Started()
