"""Makes traces by hand, for tests and generators: times in seconds, names instead of codes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from perfscope.schema.enums import EndKind, PhaseKind
from perfscope.trace import model
from perfscope.trace.model import Communicator, Ending, Frame, Rank, RowFlag, ThreadInfo, Trace
from perfscope.trace.operations import IS_COLLECTIVE, code_of
from perfscope.trace.totals import totals_of

FrameLike = Frame | tuple[str, str, int]
ENDING = Ending(EndKind.FINALIZED, 0, "made by hand")
_GPU_UNKNOWN = dict.fromkeys(
    ("busy", "memory_busy", "sm_mhz", "memory_mhz", "power_w", "celsius"), float("nan")
)


def to_ns(seconds: float) -> int:
    """Seconds as integer nanoseconds, rounded."""
    return round(seconds * 1e9)


def _samples(table: str, **usual: float) -> Callable[..., RankBuilder]:
    """A method that adds a row to a table: its time, then its columns in order or by name.

    Columns of nanoseconds are given in seconds: `cpu_ns` as `cpu_s`. What is not given is as
    `usual`, else 0.
    """
    columns = getattr(Rank(0, "", 0, 0, 0, 0, ENDING), table).dtype.names[1:]
    seconds = {f"{name[:-3]}_s": name for name in columns if name.endswith("_ns")}

    def add(rank: RankBuilder, at_s: float, *first: float, **named: float) -> RankBuilder:
        values = {**usual, **dict(zip(columns, first, strict=False))}
        for name, value in named.items():
            assert name in seconds or name in columns, f"{table} has no column {name}"
            values[seconds.get(name, name)] = to_ns(value) if name in seconds else value
        rank._add(table, (to_ns(at_s), *(values.get(name, 0) for name in columns)))
        return rank

    return add


@dataclass
class RankBuilder:
    """Collects what one rank did, in seconds of the trace's clock; methods can be chained."""

    owner: TraceBuilder
    number: int
    host: str
    start_s: float
    end_s: float
    main_tid: int
    _rows: dict[str, list[tuple[Any, ...]]] = field(default_factory=dict)
    _sequence: dict[int, int] = field(default_factory=dict)
    _changes: dict[str, Any] = field(default_factory=dict)

    def set(self, **changes: Any) -> RankBuilder:
        """Sets fields of `Rank` directly (ending, cpu_count_allowed, metadata, totals, ...)."""
        self._changes.update(changes)
        return self

    def init(self, exit_s: float, *, enter_s: float | None = None) -> RankBuilder:
        """MPI_Init, from `enter_s` (default: the start of the process) to `exit_s`."""
        self.op("MPI_Init", self.start_s if enter_s is None else enter_s, exit_s)
        self._changes["init_exit_ns"] = to_ns(exit_s)
        return self

    def finalize(self, enter_s: float, *, exit_s: float | None = None) -> RankBuilder:
        """MPI_Finalize, from `enter_s` to `exit_s` (default: the end of the process)."""
        self.op("MPI_Finalize", enter_s, self.end_s if exit_s is None else exit_s)
        self._changes["finalize_enter_ns"] = to_ns(enter_s)
        return self

    def op(
        self,
        name: str,
        start_s: float,
        end_s: float,
        *,
        comm: int | None = None,
        seq: int | None = None,
        peer: int = model.PEER_NONE,
        tag: int = -1,
        sent: int = 0,
        received: int = 0,
        request: int = 0,
        tid: int | None = None,
        flags: RowFlag = RowFlag.NONE,
    ) -> RankBuilder:
        """One operation; collectives default to the world and count their own sequence on it."""
        code = code_of(name)
        if comm is None:
            comm = 0 if code >= 10 else -1
        if IS_COLLECTIVE[code] and seq is None:
            seq = self._sequence.get(comm, 0)
            self._sequence[comm] = seq + 1
        self._add(
            "operations",
            (
                to_ns(start_s),
                to_ns(end_s),
                code,
                flags,
                tid or self.main_tid,
                comm,
                -1 if seq is None else seq,
                peer,
                tag,
                sent,
                received,
                request,
            ),
        )
        return self

    def completion(
        self,
        name: str,
        at_s: float,
        request: int,
        *,
        comm: int = 0,
        seq: int = -1,
        peer: int = model.PEER_NONE,
        tag: int = -1,
        received: int = 0,
        tid: int | None = None,
    ) -> RankBuilder:
        """The request that operation `name` created completed at `at_s`, inside a wait or test."""
        row = (to_ns(at_s), to_ns(at_s), code_of(name), 0, tid or self.main_tid, comm)
        self._add("completions", (*row, seq, peer, tag, 0, received, request))
        return self

    def phase(
        self,
        kind: PhaseKind,
        start_s: float,
        end_s: float,
        *,
        name: str = "",
        step: int = -1,
        epoch: int = -1,
        tid: int | None = None,
        flags: RowFlag = RowFlag.NONE,
    ) -> RankBuilder:
        """One occurrence of a phase; the name defaults to that of its kind."""
        label = self.owner.name(name or kind.name.lower())
        row = (to_ns(start_s), to_ns(end_s), kind, flags, tid or self.main_tid, label, step, epoch)
        self._add("phases", row)
        return self

    def step(
        self,
        number: int,
        start_s: float,
        end_s: float,
        *,
        epoch: int = -1,
        samples: int = 0,
        global_batch: int = 0,
    ) -> RankBuilder:
        """One iteration of the training loop."""
        row = (to_ns(start_s), to_ns(end_s), number, epoch, samples, global_batch)
        self._add("steps", row)
        return self

    def steps(
        self, count: int, each_s: float, *, from_s: float = 1.0
    ) -> Iterator[tuple[int, float]]:
        """Adds steps of equal length, one after the other; yields each with its start."""
        for step in range(count):
            begin = from_s + each_s * step
            self.step(step, begin, begin + each_s)
            yield step, begin

    def stack(
        self, at_s: float, frames: Sequence[FrameLike], *, tid: int | None = None
    ) -> RankBuilder:
        """A stack sample, outermost frame first."""
        self._add("stacks", (to_ns(at_s), tid or self.main_tid, self.owner.stack(frames)))
        return self

    def worker_stack(self, pid: int, at_s: float, frames: Sequence[FrameLike]) -> RankBuilder:
        """A stack sample of the main thread of a process that works for the rank."""
        self._add("worker_stacks", (to_ns(at_s), pid, pid, self.owner.stack(frames)))
        return self

    def worker_sample(self, pid: int, at_s: float, cpu_s: float, queue_s: float) -> RankBuilder:
        """CPU time of such a process, and the time in which it waited for a CPU, so far."""
        self._add("worker_samples", (to_ns(at_s), pid, to_ns(cpu_s), to_ns(queue_s)))
        return self

    def metric(
        self, name: str, at_s: float, value: float, *, step: int = -1, epoch: int = -1
    ) -> RankBuilder:
        """A value that the framework reported: loss, accuracy."""
        self._add("metrics", (to_ns(at_s), self.owner.name(name), step, epoch, value))
        return self

    def queue(
        self, start_s: float, end_s: float, *, depth: int, is_get: bool, tid: int | None = None
    ) -> RankBuilder:
        """A batch put into the rank's input queue, by thread `tid`, or taken out of it."""
        tid = tid or (self.main_tid if is_get else self.main_tid + 1)
        self._add("queues", (to_ns(start_s), to_ns(end_s), tid, 1, depth, is_get))
        return self

    process_sample = _samples("process_samples", threads=1, runnable=1, blocked=-1)
    system_sample = _samples("system_samples")
    node_sample = _samples("node_samples")
    tree_sample = _samples("tree_samples")
    main_sample = _samples("main_samples")
    clock_sample = _samples("clock_samples")
    cpu_sample = _samples("cpu_samples", changes=1)
    heap_sample = _samples("heap_samples")
    python_sample = _samples("python_samples")
    gpu_sample = _samples("gpu_samples", **_GPU_UNKNOWN)
    gpu_process = _samples("gpu_processes")

    def call_sample(
        self,
        name: str,
        at_s: float,
        calls: int,
        *,
        kept_bytes: int = 0,
        private_bytes: int = 0,
        set_up_s: float = 0.0,
    ) -> RankBuilder:
        """What calls of a framework's function kept so far; each calls one compiled function."""
        label = self.owner.name(name)
        row = (to_ns(at_s), label, calls, calls, calls, kept_bytes, private_bytes, to_ns(set_up_s))
        self._add("call_samples", row)
        return self

    def collection(
        self, start_s: float, end_s: float, *, shorter_s: float = 0.0, tid: int = 0
    ) -> RankBuilder:
        """A garbage collection of Python, and what shorter ones took since the one before."""
        row = (to_ns(start_s), to_ns(end_s), tid, 2, to_ns(shorter_s), int(shorter_s > 0))
        self._add("garbage_collections", row)
        return self

    def thread(
        self,
        name: str,
        *,
        tid: int,
        cpu_s: float = 0.0,
        queue_delay_s: float = 0.0,
        samples: int = 0,
        runnable: int = 0,
    ) -> RankBuilder:
        """A thread of the rank, over its life."""
        info = ThreadInfo(
            tid=tid,
            name=name,
            cpu_ns=to_ns(cpu_s),
            queue_delay_ns=to_ns(queue_delay_s),
            samples=samples,
            runnable_samples=runnable,
        )
        self._changes["threads"] = (*self._changes.get("threads", ()), info)
        return self

    def _add(self, table: str, row: tuple[Any, ...]) -> None:
        self._rows.setdefault(table, []).append(row)

    def build(self) -> Rank:
        """The rank, its tables sorted by time; totals are those of the operations unless set."""
        rank = Rank(
            number=self.number,
            host=self.host,
            pid=1000 + self.number,
            start_ns=to_ns(self.start_s),
            end_ns=to_ns(self.end_s),
            main_tid=self.main_tid,
            ending=ENDING,
        )
        for table, found in self._rows.items():
            rows = np.array(found, getattr(rank, table).dtype)
            setattr(rank, table, rows[np.argsort(rows[rows.dtype.names[0]], kind="stable")])
        rank.totals = totals_of(rank.operations)
        for key, value in self._changes.items():
            setattr(rank, key, value)
        return rank


class TraceBuilder:
    """Builds a trace of `ranks` ranks that live from `start_s` to `end_s`.

    Example:
        builder = TraceBuilder(2, end_s=10.0)
        for number in (0, 1):
            rank = builder.rank(number).init(0.5).finalize(9.5)
            rank.op("MPI_Allreduce", 2.0 + number, 3.5, sent=8, received=8)
        trace = builder.build()
    """

    def __init__(
        self, ranks: int, *, end_s: float, start_s: float = 0.0, hosts: Sequence[str] = ("node0",)
    ) -> None:
        self._end_s = end_s
        self._names: dict[str, int] = {}
        self._frames: dict[Frame, int] = {}
        self._stacks: dict[tuple[int, ...], int] = {}
        # by the frames' identities, which stay theirs as long as the frames are kept
        self._met: dict[tuple[int, ...], tuple[int, list[FrameLike]]] = {}
        self._changes: dict[str, Any] = {}
        self.communicators = [Communicator(1, tuple(range(ranks)), -1)]
        self.ranks = [
            RankBuilder(self, number, hosts[number % len(hosts)], start_s, end_s, 1000 + number)
            for number in range(ranks)
        ]

    def rank(self, number: int) -> RankBuilder:
        """The builder of one rank."""
        return self.ranks[number]

    def steps(self, count: int, each_s: float) -> Iterator[tuple[RankBuilder, int, float]]:
        """Steps of equal length on all ranks, from MPI_Init, at 1 s, to MPI_Finalize.

        Yields the rank, the number and the start of each, one rank after the other.
        """
        for rank in self.ranks:
            rank.init(1.0).finalize(1.0 + each_s * count)
            for step, begin in rank.steps(count, each_s):
                yield rank, step, begin

    def set(self, **changes: Any) -> TraceBuilder:
        """Sets fields of `Trace` directly (command, exit_code, launcher, world_size, ...)."""
        self._changes.update(changes)
        return self

    def communicator(self, members: Sequence[int], *, parent: int = 0) -> int:
        """Adds a communicator of these world ranks; returns its index for `op(comm=...)`."""
        self.communicators.append(Communicator(len(self.communicators) + 1, tuple(members), parent))
        return len(self.communicators) - 1

    def name(self, text: str) -> int:
        """Index of an interned name."""
        return self._names.setdefault(text, len(self._names))

    def stack(self, frames: Sequence[FrameLike]) -> int:
        """Index of an interned stack, outermost frame first."""
        same = tuple(map(id, frames))
        if same not in self._met:
            levels = [frame if isinstance(frame, Frame) else Frame(*frame) for frame in frames]
            key = tuple(self._frames.setdefault(frame, len(self._frames)) for frame in levels)
            self._met[same] = self._stacks.setdefault(key, len(self._stacks)), list(frames)
        return self._met[same][0]

    def ended(self, at_s: float, *, init_s: float | None = None, after_s: float = 0.5) -> Trace:
        """The trace, in which all ranks finalize MPI at a moment and live on for `after_s`.

        They initialized it at `init_s`, where that was not told before.
        """
        for rank in self.ranks:
            if init_s is not None:
                rank.init(init_s)
            rank.finalize(at_s).end_s = at_s + after_s
        return self.set(wall_ns=to_ns(at_s + after_s)).build()

    def build(self) -> Trace:
        """The trace."""
        trace = Trace(
            command=("python", "train.py"),
            origin_unix_ns=1_700_000_000_000_000_000,
            wall_ns=to_ns(self._end_s),
            launcher="mpirun (MPICH)",
            exit_code=0,
            world_size=len(self.ranks),
            ranks=[rank.build() for rank in self.ranks],
            communicators=list(self.communicators),
            source="made by hand",
        )
        trace.names = list(self._names)
        trace.frames = list(self._frames)
        trace.stacks = list(self._stacks)
        for key, value in self._changes.items():
            setattr(trace, key, value)
        return trace
