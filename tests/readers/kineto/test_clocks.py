"""Clocks of profiles that name no host: never worse than they were, else put right."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from perfscope.attribution.preparation import prepare
from perfscope.document.analysis import analysis
from perfscope.metrics.devices.devices import devices
from perfscope.metrics.efficiency.pop import NO_COMMUNICATION
from perfscope.metrics.results import Options
from perfscope.readers.registry import open_trace
from perfscope.trace.devices import DeviceKind
from perfscope.trace.model import Trace
from tests.support.requirements import require_reference
from tests.support.write_kineto import KinetoWriter

US, MS = 1000, 1_000_000
Ends = npt.NDArray[np.int64]  # (rank, collective)


@dataclass(frozen=True)
class Job:
    """Ranks that reach an all-reduce within `late_ns` of each other and leave within `apart_ns`."""

    ranks: int = 8
    rounds: int = 40
    late_ns: int = 300 * US
    length_ns: int = 400 * US
    apart_ns: int = 7 * US
    seed: int = 0

    def write(
        self, folder: Path, offsets_ns: Sequence[int] = (), drifts_ppm: Sequence[float] = ()
    ) -> Ends:
        """Writes the profiles, which name no host; returns the true ends."""
        random = np.random.default_rng(self.seed)
        writers = [KinetoWriter(rank=rank, world_size=self.ranks) for rank in range(self.ranks)]
        ends = np.zeros((self.ranks, self.rounds), np.int64)
        for turn in range(self.rounds):
            begin = 5 * MS * turn
            starts = begin + random.integers(0, self.late_ns, self.ranks)
            last = int(starts.max()) + int(self.length_ns * random.uniform(0.8, 1.2))
            ends[:, turn] = last + random.integers(0, self.apart_ns, self.ranks)
            for rank, writer in enumerate(writers):
                offset = offsets_ns[rank] if offsets_ns else 0
                drift = 1 + (drifts_ppm[rank] if drifts_ppm else 0.0) * 1e-6
                moments = (begin, int(starts[rank]), int(ends[rank, turn]), begin + 5 * MS - US)
                launch, start, end, over = (int(moment * drift) + offset for moment in moments)
                writer.step(turn, launch, over)
                writer.allreduce(start, end, launch=launch)
        for rank, writer in enumerate(writers):
            document = writer.document()
            del document["host_name"]
            (folder / f"rank{rank}.json").write_text(json.dumps(document))
        return ends


def ends_of(trace: Trace) -> Ends:
    found = []
    for rank in trace.ranks:
        assert rank.devices is not None
        rows = rank.devices.rows
        found.append(rows["t1"][rows["kind"] == DeviceKind.COMMUNICATION])
    return np.array(found)


def spread_ns(ends: Ends) -> float:
    """How far the ends of one collective usually lie apart."""
    return float(np.median(np.ptp(ends, axis=0)))


JOBS = [
    Job(),
    Job(late_ns=100 * US, length_ns=150 * US),
    Job(ranks=2, rounds=3, late_ns=2 * MS, length_ns=20 * US),
    Job(ranks=5, rounds=25, late_ns=3 * US, length_ns=MS, apart_ns=60 * US),
]


@pytest.mark.parametrize("job", JOBS)
def test_good_clocks_are_not_made_worse(job: Job, tmp_path: Path) -> None:
    true = job.write(tmp_path)
    trace = open_trace(tmp_path)
    assert {rank.clock_domain for rank in trace.ranks} == set(range(job.ranks))
    assert spread_ns(ends_of(trace)) <= spread_ns(true)


@pytest.mark.parametrize("job", JOBS[:2])
def test_collectives_of_ranks_without_a_host_are_matched(job: Job, tmp_path: Path) -> None:
    job.write(tmp_path)
    found = devices(prepare(open_trace(tmp_path)))
    assert found is not None
    assert found.communication.reason is None
    assert found.communication.matched == job.rounds


def test_hosts_whose_devices_alone_communicate_are_not_damaged(tmp_path: Path) -> None:
    """Nothing that hosts did needs their clocks, and kernels measured those of the devices."""
    Job(ranks=2, late_ns=70 * MS, length_ns=10 * MS).write(tmp_path, (0, 3000 * MS))
    found = analysis(open_trace(tmp_path), Options())
    assert found["run"]["damage"] == []
    assert found["devices"]["communication"]["reason"] is None
    assert found["metrics"]["transfer_efficiency"]["reason"] == NO_COMMUNICATION  # of hosts
    [clocks] = [row for row in found["quality"] if row["id"] == "clocks"]
    assert "could be compared" not in clocks["detail"]
    assert "0 of 0" not in clocks["detail"]


def test_known_offsets_and_drift_are_taken_out(tmp_path: Path) -> None:
    job = Job(ranks=4, rounds=400)
    true = job.write(tmp_path, (0, 5 * MS, -300 * MS, 40 * US), (0.0, 20.0, -30.0, 5.0))
    ends = ends_of(open_trace(tmp_path))
    assert spread_ns(ends) <= spread_ns(true)
    differences = (ends - ends[0]) - (true - true[0])
    assert np.abs(np.median(differences, axis=1)).max() <= job.apart_ns


def test_real_profiles_keep_their_clock_without_the_name_of_their_host(tmp_path: Path) -> None:
    """Four ranks of gloo on one machine, whose clocks were the same."""
    folder = require_reference("torch_gloo4")
    for path in folder.glob("*.json"):
        document = json.loads(path.read_text())
        document.pop("host_name", None)
        (tmp_path / path.name).write_text(json.dumps(document))
    same, told = open_trace(folder), open_trace(tmp_path)
    assert len({rank.clock_domain for rank in told.ranks}) == 4

    def spread(trace: Trace) -> float:
        return spread_ns(np.array([rank.operations["t1"] for rank in trace.ranks]))

    assert spread(told) <= 1.05 * spread(same)


@pytest.mark.parametrize("name", ["kineto/hta/trace_filter", "torch_gloo4"])
def test_collectives_of_real_profiles_end_no_farther_apart_than_they_did(name: str) -> None:
    """On all ranks, against their own clocks: what aligning them moved is taken back."""
    trace = open_trace(require_reference(name))
    aligned = []
    for rank in trace.ranks:
        rows = rank.operations
        if rank.devices is not None:
            rows = rank.devices.rows[rank.devices.rows["kind"] == DeviceKind.COMMUNICATION]
        aligned.append(rows["t1"])
    count = min(map(len, aligned))
    assert count >= 10
    ends = np.array([one[:count] for one in aligned])
    moved = np.array([[rank.clock_offset_ns] for rank in trace.ranks])
    assert spread_ns(ends) <= spread_ns(ends - moved)
