"""Which rank wrote a profile: told, named, of one process, or guessed; and which one is taken."""

import json
from pathlib import Path

import pytest

from perfscope.cli.main import main
from perfscope.metrics.compute import compute
from perfscope.readers.registry import open_trace
from perfscope.trace.model import Trace
from tests.support.requirements import require_reference
from tests.support.write_kineto import BASE_NS, KinetoWriter

S = 1_000_000_000


def profile(
    path: Path,
    *,
    pid: int,
    start_s: float = 0.0,
    host: str = "node0",
    rank: int | None = None,
    step: int = 1,
) -> None:
    """One second of a process; without a rank it knows nothing of a job."""
    writer = KinetoWriter(
        rank=rank or 0, world_size=2, host=host, pid=pid, base_ns=BASE_NS + int(start_s * S)
    )
    writer.is_distributed = rank is not None
    writer.step(step, 0, S)
    writer.kernel("gemm", S // 10, S // 2, launch=S // 20)
    path.parent.mkdir(parents=True, exist_ok=True)
    writer.write(path)


def processes(trace: Trace) -> list[tuple[int, int]]:
    return [(rank.number, rank.pid) for rank in trace.ranks]


def test_two_profiles_of_one_process_are_one_rank(tmp_path: Path) -> None:
    """What `schedule(repeat=2)` with the default names leaves behind on one GPU."""
    profile(tmp_path / "node0_4711.1790000000000.pt.trace.json", pid=4711)
    profile(tmp_path / "node0_4711.1790000009000.pt.trace.json", pid=4711, start_s=9, step=7)
    trace = open_trace(tmp_path)
    assert (trace.world_size, processes(trace)) == (1, [(0, 4711)])
    assert trace.ranks[0].steps["number"].tolist() == [1]
    (note,) = [note for note in trace.notes if "another profile of rank 0" in note]
    assert "node0_4711.1790000009000.pt.trace.json" in note
    assert "9.0 s after node0_4711.1790000000000.pt.trace.json" in note
    assert "process 4711 on node0 wrote both" in note


def test_processes_without_a_rank_are_numbered_in_order_of_time(tmp_path: Path) -> None:
    for place, (pid, start) in enumerate([(11, 0.1), (10, 0.0), (11, 5.0), (10, 5.1)]):
        profile(tmp_path / f"{place}.json", pid=pid, start_s=start)
    trace = open_trace(tmp_path)
    assert processes(trace) == [(0, 10), (1, 11)]
    assert any("No rank is named in 4 files" in note and "(2)" in note for note in trace.notes)


def test_equal_process_numbers_of_two_hosts_are_two_ranks(tmp_path: Path) -> None:
    profile(tmp_path / "a.json", pid=1, host="node0")
    profile(tmp_path / "b.json", pid=1, host="node1", start_s=0.1)
    assert processes(open_trace(tmp_path)) == [(0, 1), (1, 1)]


def test_a_process_is_not_profiled_twice_at_a_time(tmp_path: Path) -> None:
    """Containers of one host number their processes alike."""
    profile(tmp_path / "a.json", pid=1)
    profile(tmp_path / "b.json", pid=1, start_s=0.1)
    assert processes(open_trace(tmp_path)) == [(0, 1), (1, 1)]


def test_a_folder_may_name_the_rank(tmp_path: Path) -> None:
    """Later folders begin earlier: by time alone the ranks would be the other way round."""
    profile(tmp_path / "rank_0" / "profiles" / "trace.json", pid=20, start_s=0.2)
    profile(tmp_path / "rank_1" / "profiles" / "trace.json", pid=21)
    trace = open_trace(tmp_path)
    assert processes(trace) == [(0, 20), (1, 21)]
    assert any("names of files or folders: of 2 files" in note for note in trace.notes)


def test_a_folder_around_all_files_names_no_rank(tmp_path: Path) -> None:
    folder = tmp_path / "rank7_experiment"
    profile(folder / "a.json", pid=30)
    profile(folder / "b.json", pid=31, start_s=0.1)
    assert processes(open_trace(folder)) == [(0, 30), (1, 31)]


def test_processes_of_one_name_at_one_time_are_all_kept(tmp_path: Path) -> None:
    """Names may hold the rank within the node."""
    profile(tmp_path / "a" / "rank0.json", pid=40, host="node0")
    profile(tmp_path / "b" / "rank0.json", pid=40, host="node1", start_s=0.1)
    trace = open_trace(tmp_path)
    assert [(rank.number, rank.host) for rank in trace.ranks] == [(0, "node0"), (1, "node1")]
    assert any("another process has at the same time" in note for note in trace.notes)


def test_of_several_profiles_that_of_most_ranks_is_taken(tmp_path: Path) -> None:
    """Rank 0 was also profiled alone, 20 s earlier."""
    profile(tmp_path / "early.json", pid=50, rank=0, step=1)
    profile(tmp_path / "zero.json", pid=50, rank=0, start_s=20, step=9)
    profile(tmp_path / "one.json", pid=51, rank=1, start_s=20.1, step=9)
    trace = open_trace(tmp_path)
    assert [rank.steps["number"].tolist() for rank in trace.ranks] == [[9], [9]]
    assert any("early.json is another profile of rank 0" in note for note in trace.notes)


def test_a_thread_without_a_number_is_not_the_main_one(tmp_path: Path) -> None:
    writer = KinetoWriter()
    writer.event("X", "user_annotation", "other", 0, dur=5.0, pid=writer.pid, tid="None")
    writer.step(1, S, 2 * S)
    trace = open_trace(writer.write(tmp_path / "rank0.pt.trace.json"))
    assert [step["number"] for step in trace.ranks[0].steps] == [1]


def test_a_job_of_unknown_size_is_not_called_a_process_without_communication(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    writer = KinetoWriter()
    writer.step(0, 0, 100 * S // 1000)
    writer.host_event("aten::linear", 0, 90 * S // 1000, "cpu_op")
    document = writer.document()
    document["distributedInfo"] = {"backend": "nccl"}
    path = tmp_path / "rank.json"
    path.write_text(json.dumps(document))
    main(["analyze", str(path), "-o", str(tmp_path)])
    printed = " ".join(capsys.readouterr().out.split())
    assert "says neither how many ranks there are" in printed
    assert "there is only one process" not in printed


@pytest.mark.parametrize("size", [None, 1])
def test_one_rank_whose_job_may_have_others_has_no_efficiency(
    size: int | None, tmp_path: Path
) -> None:
    """Its collectives would be transfer alone, and its load balance 1."""
    document = json.loads(require_reference("torch_gloo4/rank0.pt.trace.json").read_text())
    del document["distributedInfo"]
    if size is not None:
        document["distributedInfo"] = {"backend": "gloo", "world_size": size}
    path = tmp_path / "rank0.json"
    path.write_text(json.dumps(document))
    results = compute(open_trace(path))
    found = results.efficiency.parallel_efficiency
    assert (found.value is None) == (size is None)
    assert [one.id for one in results.damage] == ["unknown_size"] * (size is None)
    if size is None:
        assert found.reason is not None
        assert "how many ranks" in found.reason


@pytest.mark.parametrize("size", [None, 2])
def test_several_ranks_of_a_job_of_unknown_size_have_no_efficiency(
    size: int | None, tmp_path: Path
) -> None:
    """Others, of which no file was given, may have worked longer than all of these."""
    for rank in (0, 1):
        source = require_reference(f"torch_gloo4/rank{rank}.pt.trace.json")
        document = json.loads(source.read_text())
        told = {"backend": "gloo", "rank": rank, "world_size": size}
        document["distributedInfo"] = {name: one for name, one in told.items() if one is not None}
        for event in document["traceEvents"]:
            event.get("args", {}).pop("Process Group Ranks", None)
        (tmp_path / f"rank{rank}.json").write_text(json.dumps(document))
    results = compute(open_trace(tmp_path))
    found = results.efficiency.parallel_efficiency
    assert (found.value is None) == (size is None)
    assert "unknown_size" in {one.id for one in results.damage} or size is not None
    assert size is not None or "2 ranks that communicate" in (found.reason or "")
