"""Dumps of the flight recorder: real ones of gloo, a rank that never came, and hostile pickles."""

import json
import os
import pickle
import struct
import subprocess
from pathlib import Path
from typing import Any

import pytest

from perfscope.document.analysis import analysis
from perfscope.errors import UnreadableInputError
from perfscope.metrics.results import Options
from perfscope.readers.flight_recorder.plain_pickle import NotPlainError, plain_value
from perfscope.readers.registry import open_traces
from perfscope.schema.other_tools import ToolReport
from tests.readers.flight_recorder import published
from tests.support.environments import environment
from tests.support.trace_invariants import check_trace

PROGRAM = """
import os, torch, torch.distributed as dist
import torch._C._distributed_c10d as c
child = os.fork()
rank = 0 if child else 1
store = dist.FileStore("store", 2)
dist.init_process_group("gloo", store=store, rank=rank, world_size=2)
ones = torch.ones(100)
for _ in range(5): dist.all_reduce(ones)
for name, ending in (("_dump_fr_trace", "pkl"), ("_dump_fr_trace_json", "json")):
    made = getattr(c, name)()
    with open(f"{ending}_rank_{dist.get_rank()}", "wb") as file: file.write(made)
dist.destroy_process_group()
assert rank or os.waitpid(child, 0)[1] == 0
"""


def entry(number: int, *, name: str = "nccl:all_reduce", **told: Any) -> dict[str, Any]:
    frames = [
        {"name": "all_reduce", "filename": "/x/torch/distributed.py", "line": 9},
        {"name": "train", "filename": "train.py", "line": 7},
    ]
    whole = {"process_group": ("0", "default_pg"), "pg_id": 0, "collective_seq_id": number}
    whole |= {"profiling_name": name, "state": "completed", "is_p2p": False, "frames": frames}
    return whole | {"time_created_ns": 1_795_000_000 * 10**9 + number, "input_sizes": [[4]]} | told


def dumped(
    place: Path, *ranks: list[dict[str, Any]], groups: dict[str, object] | None = None
) -> list[Path]:
    paths = []
    for rank, entries in enumerate(ranks):
        path = place / f"nccl_trace_rank_{rank}"
        last = max((one["collective_seq_id"] for one in entries), default=0)
        status = {"0": {"last_enqueued_collective": last, "last_completed_collective": last - 1}}
        members = {name: {"name": name, "ranks": told} for name, told in (groups or {}).items()}
        document = {"version": "2.10", "pg_config": members, "entries": entries}
        document["pg_status"] = status
        path.write_bytes(pickle.dumps(document, protocol=2))
        paths.append(path)
    return paths


def told(paths: list[Path]) -> ToolReport:
    trace = open_traces(paths)
    check_trace(trace)
    return trace.tool_reports[0]


def test_the_rank_that_never_came_is_named_with_the_line(tmp_path: Path) -> None:
    """Ranks 0 and 2 are in the fifth collective; rank 1 has left the fourth and is elsewhere."""
    ahead = [*(entry(n) for n in range(1, 5)), entry(5, state="started")]
    found = told(dumped(tmp_path, ahead, ahead[:4], ahead))
    assert "rank 1 came to collective 4, and rank 0 to 5" in found.says[0]
    assert "train (train.py:7)" in found.says[0]
    unfinished = found.tables[0]
    world = "default_pg (0)"
    assert [row[:3] for row in unfinished.rows] == [(0, world, 5), (2, world, 5)]


def test_groups_of_one_description_are_not_one_group(tmp_path: Path) -> None:
    """Each pair of ranks counts its own collectives; rank 2 never came to the third of its pair."""
    groups: dict[str, object] = {"0": "[0, 1, 2, 3]", "7": "[0, 1]", "8": [2, 3]}

    def pair(name: str, last: int, at: int = 0) -> list[dict[str, Any]]:
        told: dict[str, Any] = {"process_group": (name, "TENSOR"), "pg_id": 3}
        ends: dict[str, Any] = {
            "state": "scheduled",
            "time_created_ns": entry(at)["time_created_ns"],
        }
        return [entry(n, **told) for n in range(1, last)] + [entry(last, **told, **ends)]

    ranks = [pair("7", 9), pair("7", 9), pair("8", 2), pair("8", 3, at=50)]
    trace = open_traces(dumped(tmp_path, *ranks, groups=groups))
    said = trace.tool_reports[0].says
    assert said[0].startswith("In TENSOR (8: ranks 2, 3) rank 2 came to collective 2, and rank 3")
    assert sum("never reached" in one for one in said) == 1
    alone = open_traces(dumped(tmp_path, ranks[0], groups=groups)[:1])
    assert alone.missing_ranks == [1, 2, 3]


def test_only_ranks_that_are_furthest_behind_never_reached_the_next(tmp_path: Path) -> None:
    states = ["completed"] * 2 + ["started"] * 4
    all_of_them = [entry(n, state=state) for n, state in enumerate(states, 1)]
    found = told(dumped(tmp_path, all_of_them, all_of_them[:4], all_of_them[:2]))
    assert "rank 2 came to collective 2, and rank 0 to 6: number 3" in found.says[0]
    assert found.says[0].endswith("was never reached by rank 2.")


def test_a_rank_without_entries_in_what_others_wait_for_never_came_to_it(tmp_path: Path) -> None:
    """Dumps that hold what has not ended alone; rank 3 is in another group."""
    waiting, other = [entry(5, state="started")], entry(9, process_group=("1", "pair"))
    groups: dict[str, object] = {"0": [0, 1, 2], "1": [1, 3]}
    found = told(dumped(tmp_path, waiting, [other], waiting, [other], groups=groups))
    world = "default_pg (0: ranks 0, 1, 2)"
    assert f"In {world} rank 1 came to collective 4 at most, and rank 0 to 5" in found.says[0]
    assert "was never reached by rank 1." in found.says[0]
    assert len(found.says) == 2


def test_what_ended_on_others_alone_is_told_of_the_rank_that_queued_it(tmp_path: Path) -> None:
    queued = [entry(n, state="scheduled") for n in (5, 6)]
    paths = dumped(tmp_path, [entry(5), queued[1]], queued, [entry(5), queued[1]])
    document = pickle.loads(paths[1].read_bytes())
    document["pg_status"]["0"]["last_completed_collective"] = 4
    paths[1].write_bytes(pickle.dumps(document, protocol=2))
    (said, _) = told(paths).says
    assert "collective 5, nccl:all_reduce, ended on ranks 0, 2 and not on rank 1" in said


def test_a_dump_from_before_a_collective_is_no_rank_that_never_came(tmp_path: Path) -> None:
    """Rank 1's was made after the fourth, and the fifth has ended, which takes all ranks."""
    ahead = [entry(n) for n in range(1, 6)]
    paths = dumped(tmp_path, [*ahead, entry(6, state="started")], ahead[:4], ahead)
    said = told(paths).says
    assert said[0].startswith("The dump of rank 1 was made before the other ranks were in")
    assert "collective 5 of default_pg (0)" in said[0]
    assert "rank 2 came to collective 5, and rank 0 to 6" in said[1]


def test_a_file_that_is_older_than_the_call_of_others_is_from_before_it(tmp_path: Path) -> None:
    ahead = [*(entry(n) for n in range(1, 5)), entry(5, state="started")]
    paths = dumped(tmp_path, ahead, ahead[:4])
    os.utime(paths[1], ns=(ahead[4]["time_created_ns"] - 1,) * 2)
    assert told(paths).says[0].startswith("The dump of rank 1 was made before")
    os.utime(paths[1], ns=(ahead[4]["time_created_ns"] + 1,) * 2)
    assert "was never reached by rank 1" in told(paths).says[0]


def test_groups_that_are_others_on_another_rank_are_of_another_run(tmp_path: Path) -> None:
    first, _ = dumped(tmp_path, [entry(1)], [entry(1)], groups={"7": "[0, 1]"})
    (other := tmp_path / "other").mkdir()
    _, second = dumped(other, [entry(1)], [entry(1)], groups={"7": [0, 2]})
    with pytest.raises(UnreadableInputError, match="of several runs"):
        open_traces([first, second])


@pytest.mark.parametrize(("after_s", "is_one"), [(170, True), (190, False)])
def test_what_was_queued_after_another_dumps_timeout_is_of_another_run(
    tmp_path: Path, after_s: int, is_one: bool
) -> None:
    """A rank may be late by as much as others wait for it; then PyTorch ends the job."""
    waiting = [entry(4), entry(5, state="started", timeout_ms=180_000)]
    later = entry(4)["time_created_ns"] + after_s * 10**9
    paths = dumped(tmp_path, waiting, [entry(6, time_created_ns=later, timeout_ms=180_000)])
    if is_one:
        assert len(open_traces(paths).ranks) == 2
        return
    with pytest.raises(UnreadableInputError, match="several runs") as caught:
        open_traces(paths)
    assert "nccl_trace_rank_0 timed out 10 s before" in caught.value.why


def test_dumps_of_some_ranks_are_a_sound_trace(tmp_path: Path) -> None:
    paths = dumped(tmp_path, [entry(1)], [entry(1)], [entry(1)])
    trace = open_traces(paths[1:])
    check_trace(trace)
    assert ([rank.number for rank in trace.ranks], trace.world_size) == ([1, 2], 3)


def test_a_published_hang_of_nccl_names_the_ranks_that_were_made_to_fail(tmp_path: Path) -> None:
    """Their facts, written anew: one never came, the device of the other stands still."""
    found = told(published.write(tmp_path))
    never, queued, held = found.says
    absent, stuck = published.FAULTY
    assert f"rank {absent} came to collective 20536, and rank 13 to 20538" in never
    assert never.endswith(f"number 20537, nccl:all_to_all, was never reached by rank {absent}.")
    assert f"collective 42806, nccl:_all_gather_base, ended on rank 15 and not on rank {stuck}" in (
        queued
    )
    assert "the last 289 operations of 16 ranks" in held


def nested(depth: int) -> tuple[Any, ...]:
    value: tuple[Any, ...] = ()
    for _ in range(depth):
        value = (value, value)
    return value


def test_parts_that_hold_each_other_are_not_written_out(tmp_path: Path) -> None:
    """A pickle of some hundred bytes whose text would have more letters than memory has bytes."""
    odd = entry(1, input_sizes=nested(60), pg_id=10**5000, process_group=("0", nested(60)))
    assert told(dumped(tmp_path, [odd])).says
    with pytest.raises(NotPlainError, match="keys"):
        plain_value(b"\x80\x02})" + b"\x85" * 60 + b"K\x01s.")


def test_collectives_that_differ_are_told(tmp_path: Path) -> None:
    other = entry(2, name="nccl:broadcast")
    found = told(dumped(tmp_path, [entry(1), entry(2)], [entry(1), other]))
    assert any("nccl:broadcast on rank 1" in said for said in found.says)


def test_ranks_that_agree_are_no_hang(tmp_path: Path) -> None:
    found = told(dumped(tmp_path, [entry(1), entry(2)], [entry(1), entry(2)]))
    assert len(found.says) == 1
    document = analysis(open_traces(dumped(tmp_path, [entry(1)])), Options())
    assert document["metrics"]["parallel_efficiency"]["value"] is None


def test_how_late_the_last_rank_was_is_the_known_time(tmp_path: Path) -> None:
    late = [entry(n, time_created_ns=entry(n)["time_created_ns"] + 50_000_000) for n in (1, 2)]
    found = told(dumped(tmp_path, [entry(1), entry(2)], late))
    (row,) = found.tables[-1].rows
    assert row[:3] == ("nccl:all_reduce", 4, None)
    assert row[3] == pytest.approx(0.05)


def test_real_dumps_of_gloo_are_read(tmp_path: Path) -> None:
    python = environment("torch").python
    (tmp_path / "train.py").write_text(PROGRAM)
    variables = {**os.environ, "TORCH_FR_BUFFER_SIZE": "100", "OMP_NUM_THREADS": "1"}
    subprocess.run(
        [python, "train.py"], cwd=tmp_path, check=True, capture_output=True, env=variables
    )
    for ending in ("pkl", "json"):
        found = told(sorted(tmp_path.glob(f"{ending}_rank_*")))
        assert found.tables[-1].rows[0][:2] == ("gloo:all_reduce", 10)
        assert not any("never reached" in said for said in found.says)


class Evil:
    def __reduce__(self) -> Any:
        return os.system, ("touch /tmp/perfscope-was-here",)


@pytest.mark.parametrize("protocol", [0, 2, 4, 5])
def test_nothing_is_ever_executed(tmp_path: Path, protocol: int) -> None:
    path = tmp_path / "rank_0"
    content = {"pg_status": {"0": {"last_enqueued_collective": 1}}, "entries": [Evil()]}
    path.write_bytes(pickle.dumps(content, protocol=protocol))
    with pytest.raises(UnreadableInputError) as raised:
        open_traces([path])
    assert all(raised.value.lines())
    assert not Path("/tmp/perfscope-was-here").exists()


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_plain_data_are_what_pickle_makes_of_them(protocol: int) -> None:
    value = {"a": [1, -1, 1 << 70, 2.5, None, True, "ü" * 300], "b": (), "c": ((1,), (2, 3, 4))}
    assert plain_value(pickle.dumps(value, protocol=protocol)) == value


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\x80\x02",
        b"\x80\x02.",
        b"\x80\x02h\x05.",
        b"\x80\x02K\x01K\x02s.",
        b"\x80\x02K\x01a.",
        b"\x80\x02X" + struct.pack("<I", 1 << 31) + b"abc.",
        b"\x80\x02}]K\x01s.",
        b"\x80\x02t.",
    ],
)
def test_damaged_pickles_end_in_an_error(content: bytes) -> None:
    with pytest.raises(NotPlainError):
        plain_value(content)


def test_a_cut_dump_is_an_error_and_others_are_read(tmp_path: Path) -> None:
    first, second = dumped(tmp_path, [entry(1)], [entry(1)])
    first.write_bytes(first.read_bytes()[:-30])
    with pytest.raises(UnreadableInputError):
        open_traces([first])
    trace = open_traces([first, second])
    assert any("is not a dump" in note for note in trace.notes)


def test_json_of_another_kind_is_no_dump(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(json.dumps({"entries": [1, 2], "collective_seq_id": 4}))
    with pytest.raises(UnreadableInputError, match="tells of no operation"):
        open_traces([path])
