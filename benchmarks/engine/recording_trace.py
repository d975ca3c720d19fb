"""Recordings of any size, laid out as the recorder writes them, block by block."""

import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from perfscope.readers.recording.layout import (
    DEFINITIONS_MAGIC,
    FORMAT_VERSION,
    HEADER_BYTES,
    HEADER_DTYPE,
    MAGIC,
    NO_ID,
    RECORD_BYTES,
    RECORD_DTYPE,
    DefinitionType,
    HeaderFlag,
    RecordKind,
)
from perfscope.schema.enums import PhaseKind
from perfscope.trace.operations import code_of

CALLS_PER_ROUND = 6
ROUNDS_PER_STEP = 50
ROUND_NS = 60_000
BLOCK_ROUNDS = ROUNDS_PER_STEP * 400
START_NS = 1_000_000_000_000
UNIX_NS = 1_700_000_000_000_000_000
TAG = 5
BOOT_ID = "11111111-2222-3333-4444-555555555555"
LIFE_FLAGS = HeaderFlag.MPI | HeaderFlag.FINALIZED | HeaderFlag.EXITED

_ROUND = ("MPI_Isend", "MPI_Irecv", "MPI_Waitall", "", "", "", "MPI_Allreduce", "MPI_Allreduce")
"""Calls of a round; between them two completions and what even ranks send and odd ones receive."""

Times = npt.NDArray[np.int64]
Rows = npt.NDArray[np.void]


def write_recording(place: Path, ranks: int, calls: int) -> list[Path]:
    """A training run in which neighbors exchange messages and all ranks reduce; gives its files.

    Args:
        place: the run directory, which is made.
        ranks: how many, an even number.
        calls: about how many calls of MPI all ranks make together.
    """
    steps = max(calls // (ranks * CALLS_PER_ROUND * ROUNDS_PER_STEP), 2)
    rounds = steps * ROUNDS_PER_STEP
    folder = place / "node0"
    folder.mkdir(parents=True)
    (place / "run.json").write_text(json.dumps(_run(ranks, rounds)), encoding="utf-8")
    arrivals = [_latest_arrivals(ranks, begin, rounds) for begin in _blocks(rounds)]
    return [_write_rank(folder, rank, ranks, rounds, arrivals) for rank in range(ranks)]


def _run(ranks: int, rounds: int) -> dict[str, Any]:
    """What `perfscope run` notes of such a run."""
    return {
        "schema": 1,
        "perfscope": "0.1.0",
        "command": ["mpirun", "-n", str(ranks), "python", "train.py"],
        "host": "node0",
        "boot_id": BOOT_ID,
        "start_unix_ns": UNIX_NS - 1_000_000,
        "start_mono_ns": START_NS - 1_000_000,
        "end_mono_ns": START_NS + (rounds + 2) * ROUND_NS,
        "launcher": {"kind": "mpirun", "flavour": "MPICH", "version": "4.1"},
        "ranks_requested": ranks,
        "exit_code": 0,
        "notes": [],
    }


def _blocks(rounds: int) -> range:
    return range(0, rounds, BLOCK_ROUNDS)


def _work_ns(rank: int, begin: int, rounds: int) -> Times:
    """What a rank computes in each round of a block; a later call gives the same."""
    count = min(BLOCK_ROUNDS, rounds - begin)
    random = np.random.default_rng((rank, begin))
    return random.integers(0, 8_000, count) + 500 * (rank % 4)


def _latest_arrivals(ranks: int, begin: int, rounds: int) -> Times:
    latest = _work_ns(0, begin, rounds)
    for rank in range(1, ranks):
        np.maximum(latest, _work_ns(rank, begin, rounds), out=latest)
    return latest


def _write_rank(folder: Path, rank: int, ranks: int, rounds: int, arrivals: list[Times]) -> Path:
    pid = 100 + rank
    path = folder / f"{pid}-{5000 + rank}.rec"
    header = _header(pid, rank, ranks, rounds)
    claimed = 0
    with path.open("wb") as file:
        file.seek(HEADER_BYTES)
        for begin, latest in zip(_blocks(rounds), arrivals, strict=True):
            rows = _records(pid, rank, begin, _work_ns(rank, begin, rounds), latest)
            _add_totals(header, rows)
            file.write(rows.tobytes())
            claimed += len(rows)
        header["claimed"], header["capacity"] = claimed, max(claimed, 1 << 22)
        file.seek(0)
        file.write(header.tobytes().ljust(HEADER_BYTES, b"\0"))
    path.with_suffix(".def").write_bytes(_definitions(rank, ranks))
    return path


def _records(pid: int, rank: int, begin: int, work: Times, latest: Times) -> Rows:
    """The records of a block of rounds, ordered by time; those of a step come after its rounds."""
    count = len(work)
    number = np.arange(begin, begin + count)
    start = START_NS + ROUND_NS * (number + 1)
    rows = np.zeros((count, len(_ROUND)), RECORD_DTYPE)
    rows["tid"], rows["comm"], rows["seq"] = pid, 0, NO_ID
    rows["peer"], rows["tag"], rows["kind"] = -1, -1, RecordKind.OPERATION
    partner, sends = rank ^ 1, rank % 2 == 0
    names = list(_ROUND)
    names[5] = "MPI_Send" if sends else "MPI_Recv"
    names[3], names[4] = "MPI_Isend", "MPI_Irecv"
    rows["op"] = [code_of(name) for name in names]
    begins = np.array([0, 1_000, 2_000, 9_900, 9_950, 12_000]) + start[:, None]
    rows["t0_ns"][:, :6] = begins
    rows["t1_ns"][:, :6] = begins + np.array([800, 500, 8_000, 0, 0, 2_000])
    for place, gap in ((6, 20_000), (7, 40_000)):
        rows["t0_ns"][:, place] = start + gap + work
        rows["t1_ns"][:, place] = start + gap + latest + 5_000
        rows["seq"][:, place] = 2 * number + place - 6
    rows["kind"][:, 3:5] = RecordKind.COMPLETION
    rows["peer"][:, [0, 1, 3, 4, 5]] = partner
    rows["tag"][:, [0, 1, 3, 4]], rows["tag"][:, 5] = TAG, TAG + 1
    rows["comm"][:, 2] = NO_ID
    rows["request"][:, 0] = rows["request"][:, 3] = 2 * number + 1
    rows["request"][:, 1] = rows["request"][:, 4] = 2 * number + 2
    rows["request"][:, 2] = 2
    rows["sent"][:, [0, 3]] = rows["received"][:, 4] = 1024
    rows["sent" if sends else "received"][:, 5] = 64
    rows["sent"][:, 6:] = rows["received"][:, 6:] = [4096, 8]
    steps = rows.reshape(-1, ROUNDS_PER_STEP * len(_ROUND))
    first = START_NS + ROUND_NS * (number[::ROUNDS_PER_STEP] + 1) - 2_000
    ends = _ends_of_steps(pid, number[::ROUNDS_PER_STEP] // ROUNDS_PER_STEP, first)
    return np.concatenate([steps, ends], axis=1).reshape(-1)


def _ends_of_steps(pid: int, number: Times, begin: Times) -> Rows:
    """A record of each step and of its two phases."""
    rows = np.zeros((len(number), 3), RECORD_DTYPE)
    rows["tid"], rows["comm"], rows["peer"], rows["tag"] = pid, NO_ID, -1, -1
    rows["seq"] = number[:, None]
    rows["kind"] = [RecordKind.PHASE, RecordKind.PHASE, RecordKind.STEP]
    rows["op"] = [PhaseKind.FORWARD, PhaseKind.OPTIMIZER, 0]
    length = ROUND_NS * ROUNDS_PER_STEP
    rows["t0_ns"] = begin[:, None] + np.array([0, length * 3 // 4, 0])
    rows["t1_ns"] = begin[:, None] + np.array([length * 3 // 4, length - 500, length])
    rows["sent"][:, 2] = 32
    return rows


def _add_totals(header: np.void, rows: Rows) -> None:
    calls = rows[rows["kind"] == RecordKind.OPERATION]
    for code in np.unique(calls["op"]).tolist():
        own, total = calls[calls["op"] == code], header["totals"][code]
        total["count"] += np.uint64(len(own))
        total["ns"] += np.sum(own["t1_ns"] - own["t0_ns"])
        total["sent"] += np.sum(own["sent"])
        total["received"] += np.sum(own["received"])


def _header(pid: int, rank: int, ranks: int, rounds: int) -> np.void:
    header: np.void = np.zeros(1, HEADER_DTYPE)[0]
    end_ns = START_NS + (rounds + 1) * ROUND_NS
    values: dict[str, Any] = {
        "magic": MAGIC,
        "version": FORMAT_VERSION,
        "header_bytes": HEADER_BYTES,
        "record_bytes": RECORD_BYTES,
        "pid": pid,
        "start_ticks": 5000 + rank,
        "process_start_ns": START_NS,
        "mono0_ns": START_NS,
        "real0_ns": UNIX_NS,
        "time_namespace": 4026531834,
        "boot_id": BOOT_ID.encode(),
        "host": b"node0",
        "rank": rank,
        "size": ranks,
        "flags": int(LIFE_FLAGS),
        "main_tid": pid,
        "init_exit_ns": START_NS + 1_000,
        "finalize_enter_ns": end_ns,
        "alive_ns": end_ns,
        "exit_ns": end_ns + 1_000,
        "cpus_allowed": 2,
        "sampler_hz": 10,
        "cgroup_cpu_quota_us": -1,
        "cgroup_memory_limit": -1,
    }
    for name, value in values.items():
        header[name] = value
    return header


def _definitions(rank: int, ranks: int) -> bytes:
    world = (
        struct.pack("<QIIII", 1, NO_ID, 0, ranks, rank) + np.arange(ranks, dtype="<u4").tobytes()
    )
    head = struct.pack("<HHII", DefinitionType.COMMUNICATOR, 0, 0, len(world))
    return DEFINITIONS_MAGIC + head + world
