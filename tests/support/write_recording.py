"""Writes recordings by hand, byte for byte as the recorder does."""

import json
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

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
    SampleKind,
)
from perfscope.schema.enums import PhaseKind
from perfscope.trace.operations import code_of

MONO_START_NS = 1_000_000_000_000
REAL_START_NS = 1_700_000_000_000_000_000
BOOT_ID = "11111111-2222-3333-4444-555555555555"


@dataclass
class ProcessWriter:
    """One process's files; times are seconds since `MONO_START_NS`."""

    rank: int = 0
    size: int = 1
    pid: int = 100
    start_ticks: int = 5000
    host: str = "node0"
    boot_id: str = BOOT_ID
    start_s: float = 0.0
    flags: HeaderFlag = HeaderFlag.MPI | HeaderFlag.FINALIZED | HeaderFlag.EXITED
    header: dict[str, Any] = field(default_factory=dict)
    metadata: Mapping[str, Any] | None = None
    records: list[tuple[Any, ...]] = field(default_factory=list)
    definitions: list[bytes] = field(default_factory=list)
    totals: dict[int, list[int]] = field(default_factory=dict)
    _names: dict[str, int] = field(default_factory=dict)
    _stacks: dict[tuple[int, ...], int] = field(default_factory=dict)
    _sequence: dict[int, int] = field(default_factory=dict)

    def mono(self, seconds: float) -> int:
        """The CLOCK_MONOTONIC time of a moment."""
        return MONO_START_NS + round(seconds * 1e9)

    def record(self, kind: int, op: int, t0_s: float, t1_s: float | None, **fields: int) -> None:
        """One record; `t1_s` None leaves it open."""
        row = {"tid": self.pid, "comm": NO_ID, "seq": NO_ID, "peer": -1, "tag": -1} | fields
        self.records.append(
            (
                self.mono(t0_s),
                0 if t1_s is None else self.mono(t1_s),
                kind,
                op,
                *tuple(row[name] for name in ("tid", "comm", "seq", "peer", "tag")),
                *tuple(row.get(name, 0) for name in ("sent", "received", "request")),
            )
        )

    def op(self, name: str, t0_s: float, t1_s: float | None, **fields: int) -> None:
        """One operation; collectives count their own sequence on their communicator."""
        code = code_of(name)
        if code >= 50 and "seq" not in fields:
            comm = fields.setdefault("comm", 0)
            fields["seq"] = self._sequence.get(comm, 0)
            self._sequence[comm] = fields["seq"] + 1
        self.record(RecordKind.OPERATION, code, t0_s, t1_s, **fields)
        if t1_s is not None:
            total = self.totals.setdefault(code, [0, 0, 0, 0])
            for place, value in enumerate(
                (
                    1,
                    self.mono(t1_s) - self.mono(t0_s),
                    fields.get("sent", 0),
                    fields.get("received", 0),
                )
            ):
                total[place] += value

    def phase(
        self, kind: PhaseKind, t0_s: float, t1_s: float | None, name: str = "", **fields: int
    ) -> None:
        """One phase."""
        label = self.name(name or kind.name.lower())
        self.record(RecordKind.PHASE, kind, t0_s, t1_s, comm=label, **fields)

    def step(self, number: int, t0_s: float, t1_s: float, **fields: int) -> None:
        """One step."""
        self.record(RecordKind.STEP, 0, t0_s, t1_s, seq=number, **fields)

    def sample(self, kind: SampleKind, at_s: float, **fields: int) -> None:
        """One sample of the native sampler."""
        self.record(RecordKind.SAMPLE, kind, at_s, at_s, **fields)

    def stack(self, at_s: float, frames: Sequence[tuple[str, str, int]]) -> None:
        """One stack sample, outermost frame first."""
        levels = tuple(self.name(f"{f}\x1f{file}\x1f{line}") for f, file, line in frames)
        if levels not in self._stacks:
            self._stacks[levels] = len(self._stacks) + 1
            payload = np.array(levels, "<u4").tobytes()
            self.define(DefinitionType.STACK, self._stacks[levels], payload)
        self.record(RecordKind.STACK, 0, at_s, at_s, comm=self._stacks[levels])

    def metric(self, name: str, at_s: float, value: float, step: int = 0) -> None:
        """One value that the framework reported."""
        bits = struct.unpack("<Q", struct.pack("<d", value))[0]
        self.record(RecordKind.METRIC, 0, at_s, at_s, comm=self.name(name), seq=step, sent=bits)

    def name(self, text: str) -> int:
        """The id of an interned name."""
        if text not in self._names:
            self._names[text] = len(self._names) + 1
            self.define(DefinitionType.NAME, self._names[text], text.encode())
        return self._names[text]

    def communicator(
        self, index: int, identity: int, members: Sequence[int], parent: int = NO_ID
    ) -> None:
        """Defines a communicator."""
        head = struct.pack(
            "<QIIII", identity, parent, 0, len(members), list(members).index(self.rank)
        )
        payload = head + np.array(members, "<u4").tobytes()
        self.define(DefinitionType.COMMUNICATOR, index, payload)

    def define(self, kind: int, number: int, payload: bytes) -> None:
        """Appends a definition."""
        self.definitions.append(struct.pack("<HHII", kind, 0, number, len(payload)) + payload)

    def header_row(self) -> np.void:
        """The header as it will be written."""
        row: np.void = np.zeros(1, HEADER_DTYPE)[0]
        start = self.mono(self.start_s)
        values: dict[str, Any] = {
            "magic": MAGIC,
            "version": FORMAT_VERSION,
            "header_bytes": HEADER_BYTES,
            "record_bytes": RECORD_BYTES,
            "pid": self.pid,
            "start_ticks": self.start_ticks,
            "process_start_ns": start,
            "mono0_ns": start,
            "real0_ns": REAL_START_NS + start - MONO_START_NS,
            "time_namespace": 4026531834,
            "boot_id": self.boot_id.encode(),
            "host": self.host.encode(),
            "rank": self.rank,
            "size": self.size,
            "flags": int(self.flags),
            "main_tid": self.pid,
            "capacity": 1 << 22,
            "claimed": len(self.records),
            "cpus_allowed": 2,
            "sampler_hz": 10,
            "cgroup_cpu_quota_us": -1,
            "cgroup_memory_limit": -1,
        }
        for key, value in (values | self.header).items():
            row[key] = value
        for code, total in self.totals.items():
            row["totals"][code] = tuple(total)
        return row

    def write(self, directory: Path) -> Path:
        """Writes the files below the run directory; returns the path of the records."""
        folder = directory / self.host
        folder.mkdir(parents=True, exist_ok=True)
        base = folder / f"{self.pid}-{self.start_ticks}"
        header = self.header_row().tobytes().ljust(HEADER_BYTES, b"\0")
        rows = np.array(self.records, RECORD_DTYPE).tobytes()
        base.with_suffix(".rec").write_bytes(header + rows)
        base.with_suffix(".def").write_bytes(DEFINITIONS_MAGIC + b"".join(self.definitions))
        if self.metadata is not None:
            base.with_suffix(".json").write_text(json.dumps(self.metadata))
        return base.with_suffix(".rec")


def write_run(directory: Path, **changes: Any) -> None:
    """Writes run.json."""
    values = {
        "schema": 1,
        "perfscope": "0.1.0",
        "command": ["mpirun", "-n", "2", "python", "train.py"],
        "cwd": "/home/user",
        "host": "node0",
        "boot_id": BOOT_ID,
        "start_unix_ns": REAL_START_NS - 500_000_000,
        "start_mono_ns": MONO_START_NS - 500_000_000,
        "end_mono_ns": MONO_START_NS + 20_000_000_000,
        "launcher": {"kind": "mpirun", "flavour": "MPICH", "version": "5.0"},
        "ranks_requested": 2,
        "exit_code": 0,
        "signal": None,
        "notes": [],
        "options": {},
        "environment": {},
        "topology": {},
    }
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "run.json").write_text(json.dumps(values | changes))


def two_ranks(directory: Path) -> list[Path]:
    """A small healthy recording of two ranks: allreduces, a phase, a step, samples."""
    paths = []
    for rank in (0, 1):
        process = ProcessWriter(rank=rank, size=2, pid=100 + rank)
        process.communicator(0, 77, [0, 1])
        process.op("MPI_Init", 0.1, 1.0 + rank / 10, comm=NO_ID, seq=NO_ID)
        for number in range(3):
            enter = 2.0 + number + rank * 0.25
            process.op("MPI_Allreduce", enter, 2.3 + number, sent=80, received=80)
        process.phase(PhaseKind.EVALUATE, 4.5, 5.0 + rank, "validation", seq=3)
        process.step(1, 2.0, 3.0, sent=32, received=64)
        process.metric("loss", 3.0, 0.5, step=1)
        for tenth in range(10, 90):
            at = tenth / 10
            process.sample(SampleKind.PROCESS, at, sent=1 << 20, peer=3, tag=1, received=tenth)
            process.stack(at, [("<module>", "/w/train.py", 90), ("train", "/w/train.py", 30)])
        process.op("MPI_Finalize", 8.0, 8.5, comm=NO_ID, seq=NO_ID)
        process.header |= {
            "init_exit_ns": process.mono(1.0 + rank / 10),
            "finalize_enter_ns": process.mono(8.0),
            "alive_ns": process.mono(8.9),
            "exit_ns": process.mono(9.0),
        }
        process.metadata = {
            "schema": 1,
            "role": "rank",
            "rank_environment": {"PMI_RANK": str(rank)},
        }
        paths.append(process.write(directory))
    write_run(directory)
    return paths
