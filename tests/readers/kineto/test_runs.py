"""Profiles of several runs in one folder are never joined, and the error says which is of which."""

import gzip
import json
from pathlib import Path

import pytest

from perfscope.errors import UnreadableInputError
from perfscope.readers.registry import open_trace
from tests.support.requirements import require_reference
from tests.support.write_kineto import BASE_NS, KinetoWriter

S = 1_000_000_000
HOUR = 3600.0


def profile(
    path: Path,
    rank: int | None,
    *,
    size: int = 2,
    start_s: float = 0.0,
    pid: int | None = None,
    host: str = "",
) -> None:
    """One second of a rank; without a rank it knows nothing of a job."""
    number = rank or 0
    writer = KinetoWriter(
        rank=number,
        world_size=size,
        host=host,
        pid=1000 + number if pid is None else pid,
        base_ns=BASE_NS + int(start_s * S),
        is_distributed=rank is not None,
    )
    writer.step(5, 0, S)
    writer.allreduce(S // 10, S // 2, launch=S // 20)
    path.parent.mkdir(parents=True, exist_ok=True)
    writer.write(path)


def refusal(folder: Path) -> UnreadableInputError:
    with pytest.raises(UnreadableInputError, match="of 2 runs") as caught:
        open_trace(folder)
    return caught.value


def test_runs_of_other_sizes_at_other_times_are_told_apart(tmp_path: Path) -> None:
    for rank in range(8):
        profile(tmp_path / f"rank-{rank}.json", rank, size=8)
    for rank in range(8, 10):
        profile(tmp_path / f"rank-{rank}.json", rank - 8, start_s=204 * HOUR, pid=rank)
    said = refusal(tmp_path)
    assert "run 1: 8 of 8 ranks, from 2026-09-21" in said.why
    assert "and 5 more" in said.why
    assert f"run 2: 2 of 2 ranks, 204.0 h later ({tmp_path.name}/rank-8.json, " in said.why


def test_runs_of_other_sizes_at_the_same_time_are_told_apart(tmp_path: Path) -> None:
    profile(tmp_path / "a.json", 0, size=4)
    profile(tmp_path / "b.json", 1, size=2)
    assert "a.json" in refusal(tmp_path).why


def test_other_ranks_of_a_later_run_are_told_apart(tmp_path: Path) -> None:
    profile(tmp_path / "a.json", 0)
    profile(tmp_path / "b.json", 1, start_s=HOUR)
    refusal(tmp_path)


def test_a_restarted_job_is_two_runs(tmp_path: Path) -> None:
    for rank in range(2):
        profile(tmp_path / f"a{rank}.json", rank, pid=10 + rank)
        profile(tmp_path / f"b{rank}.json", rank, pid=20 + rank, start_s=4.0)
    said = refusal(tmp_path).why
    assert "/a0.json" in said.split("; run 2")[0]
    assert "/b0.json" in said.split("; run 2")[1]


def test_jobs_beside_each_other_are_told_apart_by_their_folders(tmp_path: Path) -> None:
    for rank in range(2):
        profile(tmp_path / "one" / f"{rank}.json", rank, pid=10 + rank)
        profile(tmp_path / "two" / f"{rank}.json", rank, pid=20 + rank, start_s=0.1)
    assert "one/0.json, one/1.json); run 2" in refusal(tmp_path).why


def test_programs_of_one_process_at_other_times_are_no_ranks(tmp_path: Path) -> None:
    profile(tmp_path / "monday.json", None, pid=1)
    profile(tmp_path / "friday.json", None, pid=2, start_s=96 * HOUR)
    refusal(tmp_path)


def test_hosts_whose_clocks_are_set_wrong_are_one_run(tmp_path: Path) -> None:
    """Each host has ranks of its own, and together they are the job."""
    for rank in range(4):
        host = f"node{rank // 2}"
        profile(tmp_path / f"{rank}.json", rank, size=4, host=host, start_s=HOUR * (rank // 2))
    assert len(open_trace(tmp_path).ranks) == 4


def test_a_profile_that_names_no_job_belongs_to_what_it_lies_beside(tmp_path: Path) -> None:
    profile(tmp_path / "rank0.json", 0)
    profile(tmp_path / "rank1.json", None, pid=7, start_s=0.2)
    assert len(open_trace(tmp_path).ranks) == 2


def test_real_profiles_of_two_jobs_are_told_apart(tmp_path: Path) -> None:
    for path in require_reference("torch_gloo4").glob("*.json"):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    other = require_reference("kineto/hta/trace_filter/sampled_rank-1.json.gz")
    document = json.loads(gzip.decompress(other.read_bytes()))
    (tmp_path / "other.json").write_text(json.dumps(document))
    said = refusal(tmp_path)
    assert "4 of 4 ranks" in said.why
    assert "1 of 128 ranks" in said.why
