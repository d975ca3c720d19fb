"""Reads a recording with `struct` alone, sharing no code with the package's reader."""

import struct
from dataclasses import dataclass, field
from pathlib import Path

HEADER_BYTES = 65536
RECORD = struct.Struct("<QQHHIIIiiQQQ")
DEFINITION = struct.Struct("<HHII")
COMMUNICATOR = struct.Struct("<QIIII")
TOTAL = struct.Struct("<QQQQ")
THREAD = struct.Struct("<II16sQQII")
CELL = struct.Struct("<5Q")
HEADER = struct.Struct("<8s4I5Q40s64s2i2IiI8Q2I2qQ")
CELLS_AT = HEADER.size + 256 * (TOTAL.size + THREAD.size) + 96
CALL_CELLS = (1, 3)  # used, used by the main thread
NONE = 0xFFFFFFFF
OPERATION, COMPLETION, PHASE, STEP, SAMPLE, STACK, METRIC = range(1, 8)
PEER_NONE, PEER_UNKNOWN, PEER_PROC_NULL = -1, -2, -3

DEFINITIONS = Path(__file__).resolve().parents[3] / "native/recorder/operations.def"


def _operation_names() -> dict[int, str]:
    names = {}
    for line in DEFINITIONS.read_text().splitlines():
        if line.startswith("OPERATION("):
            code, name, _ = line[len("OPERATION(") : -1].split(", ")
            names[int(code)] = name
    return names


OPERATION_NAMES = _operation_names()


@dataclass(frozen=True)
class Record:
    """One slot of the .rec file."""

    t0: int
    t1: int
    kind: int
    op: int
    tid: int
    comm: int
    seq: int
    peer: int
    tag: int
    sent: int
    received: int
    request: int

    @property
    def name(self) -> str:
        """The MPI function of an operation or completion."""
        return OPERATION_NAMES[self.op]


@dataclass(frozen=True)
class Communicator:
    """A PS_DEF_COMMUNICATOR entry."""

    identity: int
    parent: int
    ordinal: int
    size: int
    my_rank: int
    members: tuple[int, ...]


@dataclass(frozen=True)
class Total:
    """Totals of one operation."""

    count: int
    ns: int
    sent: int
    received: int


@dataclass(frozen=True)
class Thread:
    """One row of the thread table."""

    tid: int
    seen: int
    name: str
    cpu_ns: int
    queue_ns: int
    runnable_seen: int
    last_cpu: int


@dataclass
class Recording:
    """One process's .rec and .def files."""

    path: Path
    header: dict[str, int | str | bytes]
    totals: dict[str, Total]
    threads: list[Thread]
    records: list[Record]
    names: dict[int, str] = field(default_factory=dict)
    stacks: dict[int, tuple[int, ...]] = field(default_factory=dict)
    communicators: dict[int, Communicator] = field(default_factory=dict)
    texts: dict[int, list[str]] = field(default_factory=dict)

    @property
    def rank(self) -> int:
        """Rank in MPI_COMM_WORLD."""
        return int(self.header["rank"])

    @property
    def flags(self) -> int:
        """The ps_flag bits."""
        return int(self.header["flags"])

    def operations(self, *names: str) -> list[Record]:
        """Operation records in slot order, of all or of the named functions."""
        found = [r for r in self.records if r.kind == OPERATION]
        return [r for r in found if not names or r.name in names]

    def completions(self) -> list[Record]:
        """Completion records in slot order."""
        return [r for r in self.records if r.kind == COMPLETION]

    def of_kind(self, kind: int) -> list[Record]:
        """Records of one kind in slot order."""
        return [r for r in self.records if r.kind == kind]

    def members(self, record: Record) -> tuple[int, ...]:
        """World ranks of a record's communicator."""
        return self.communicators[record.comm].members


HEADER_FIELDS = (
    "magic version header_bytes record_bytes pid start_ticks process_start_ns mono0_ns real0_ns"
    " time_namespace boot_id host rank size abi flags exit_code main_tid capacity claimed dropped"
    " first_drop_ns init_exit_ns finalize_enter_ns alive_ns exit_ns cpus_allowed sampler_hz"
    " cgroup_cpu_quota_us cgroup_memory_limit sampler_cpu_ns"
).split()


def _read_header(data: bytes) -> dict[str, int | str | bytes]:
    header = dict(zip(HEADER_FIELDS, HEADER.unpack_from(data), strict=True))
    for name in ("boot_id", "host"):
        header[name] = header[name].split(b"\0")[0].decode()
    return header


def _read_definitions(recording: Recording, data: bytes) -> None:
    assert data[:8] == b"PERFSCD1"
    at = 8
    while at + DEFINITION.size <= len(data):
        kind, _, number, size = DEFINITION.unpack_from(data, at)
        payload = data[at + DEFINITION.size : at + DEFINITION.size + size]
        at += DEFINITION.size + size
        if kind == 1:
            recording.names[number] = payload.decode()
        elif kind == 2:
            head = COMMUNICATOR.unpack_from(payload)
            members = struct.unpack_from(f"<{head[3]}i", payload, COMMUNICATOR.size)
            identity, parent, ordinal, size_of_it, my_rank = head
            recording.communicators[number] = Communicator(
                identity, parent, ordinal, size_of_it, my_rank, members
            )
        elif kind == 3:
            recording.stacks[number] = struct.unpack(f"<{size // 4}I", payload)
        else:
            recording.texts.setdefault(kind, []).append(payload.decode())


def decode(path: Path) -> Recording:
    """Everything in a process's files; `path` is the .rec file."""
    data = path.read_bytes()
    assert data[:8] == b"PERFSCP1"
    header = _read_header(data)
    sums = [list(TOTAL.unpack_from(data, HEADER.size + i * TOTAL.size)) for i in range(256)]
    for key, *more in CELL.iter_unpack(data[CELLS_AT : CELLS_AT + 512 * CELL.size]):
        if key & 0xFF in CALL_CELLS:
            sums[key >> 16 & 0xFFFF] = [
                a + b for a, b in zip(sums[key >> 16 & 0xFFFF], more, strict=True)
            ]
    totals = {name: Total(*sums[code]) for code, name in OPERATION_NAMES.items() if sums[code][0]}
    first_thread = HEADER.size + 256 * TOTAL.size
    threads = []
    for i in range(256):
        tid, seen, name, *rest = THREAD.unpack_from(data, first_thread + i * THREAD.size)
        if seen:
            threads.append(Thread(tid, seen, name.split(b"\0")[0].decode(), *rest))
    slots = min(int(header["claimed"]), (len(data) - HEADER_BYTES) // RECORD.size)
    unpacked = (RECORD.unpack_from(data, HEADER_BYTES + i * RECORD.size) for i in range(slots))
    records = [Record(*values) for values in unpacked if values[2] != 0]
    recording = Recording(path, header, totals, threads, records)
    _read_definitions(recording, path.with_suffix(".def").read_bytes())
    return recording


def decode_all(directory: Path) -> list[Recording]:
    """All recordings of a run, by rank."""
    return sorted((decode(p) for p in directory.glob("*/*.rec")), key=lambda r: r.rank)
