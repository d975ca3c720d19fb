"""Reads what `perfscope run --stacks` left beside the records of each rank."""

from collections.abc import Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any

import numpy as np

from perfscope.files import size_of
from perfscope.foreign import mentions
from perfscope.readers.recording import agent_metadata
from perfscope.readers.recording.process_file import ProcessFile
from perfscope.readers.recording.stack_events import MOST_PACKED_BYTES, Forest, Span, decode
from perfscope.structures import dataclass
from perfscope.trace.model import Rank, Table, empty
from perfscope.trace.stack_spans import SPAN_DTYPE, StackSampling

STATE_ENDING = ".stacks.json"
SEGMENT_FILES = "*.stacks-*.json.gz"
MOST_START_NS = 50_000_000
"""py-spy begins to count within so much of being started; a machine may be slow, not that slow."""
MOST_SEGMENTS = 2000
MOST_READ_BYTES = 48 * 1024 * 1024
"""Compressed, of all ranks; of more only each second, third, ... segment is read."""
_PERMISSION = (
    "py-spy may not read other processes here: allow it with `sysctl -w "
    "kernel.yama.ptrace_scope=1` or less, or in a container with `--cap-add SYS_PTRACE`"
)

_Owner = tuple[Rank, int]
"""A rank, and what to add to times of its clock."""

_Owners = Mapping[tuple[str, int], _Owner]
"""By host and process id."""


@dataclass
class _Found:
    """What all files together hold."""

    hz: float
    forest: Forest = field(default_factory=Forest)
    rows: dict[int, list[tuple[int, int, int, int, bool]]] = field(default_factory=dict)
    reasons: dict[int, str] = field(default_factory=dict)
    paused_s: dict[int, float] = field(default_factory=dict)
    strangers: set[tuple[str, int]] = field(default_factory=set)
    stride: int = 1  # every so many segments one is read


def read_stack_sampling(
    ranks: Sequence[Rank],
    processes: Sequence[ProcessFile],
    offsets_ns: Sequence[int],
    options: Mapping[str, Any],
) -> StackSampling | None:
    """Fills `Rank.spans`; None where the run was started without `--stacks`.

    Processes and offsets, from each rank's clock, stand in the order of the ranks.
    """
    if not isinstance(asked := options.get("stacks"), dict):
        return None
    found = _Found(hz=float(agent_metadata.integer(asked, "hz") or 0))
    owners: dict[tuple[str, int], _Owner] = {}
    for rank, offset_ns in zip(ranks, offsets_ns, strict=True):
        for worker in rank.workers:
            owners[rank.host, int(worker["pid"])] = rank, offset_ns
    for rank, offset_ns in zip(ranks, offsets_ns, strict=True):
        owners[rank.host, rank.pid] = rank, offset_ns
    folders = sorted({process.path.parent for process in processes})
    sizes = [size_of(file) for folder in folders for file in folder.glob(SEGMENT_FILES)]
    # what is larger than one file may be is refused when its turn comes
    size = sum(bytes_ for bytes_ in sizes if bytes_ <= MOST_PACKED_BYTES)
    found.stride = max(1, -(-size // MOST_READ_BYTES))
    for folder in folders:
        for path in sorted(folder.glob(f"*{STATE_ENDING}")):
            _read_state(path, owners, found)
    for rank, process in zip(ranks, processes, strict=True):
        rank.spans = _table(found.rows.get(rank.number, []))
        if rank.number not in found.reasons and not np.any(rank.spans["is_main"]):
            found.reasons[rank.number] = _reason(process)
    return StackSampling(
        hz=found.hz,
        forest=found.forest.stacks,
        reasons=found.reasons,
        paused_s=found.paused_s,
        other_processes=len(found.strangers),
    )


def _read_state(path: Path, owners: _Owners, found: _Found) -> None:
    state, note = agent_metadata.read_json(path)
    pid = agent_metadata.integer(state, "pid")
    if note is not None or pid is None:
        return
    thread = agent_metadata.integer(state, "main_thread") or 0
    file = _StateFile(path, owners, owners.get((path.parent.name, pid)), thread, found)
    number = file.root[0].number if file.root is not None else -1
    if told := agent_metadata.text(state, "reason"):
        found.reasons[number] = _explained(told)
    told_segments = state.get("segments")
    segments = told_segments[:MOST_SEGMENTS] if isinstance(told_segments, list) else []
    paused_s = _seconds(state.get("paused_s"))
    for place, segment in enumerate(segments):
        if not isinstance(segment, dict):
            continue
        if place % found.stride:
            ends = (agent_metadata.integer(segment, key) or 0 for key in ("end_ns", "begin_ns"))
            paused_s += _seconds((next(ends) - next(ends)) / 1e9)
        elif why := file.read(segment):
            found.reasons[number] = why
    if paused_s:
        found.paused_s[number] = paused_s


def _seconds(value: object) -> float:
    """The value where it can be seconds of a job, else 0."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 0.0
    return float(value) if 0 < value < 1e9 else 0.0


@dataclass(frozen=True)
class _StateFile:
    """The samples of one process and its children; `root` is the rank that it is, None none."""

    path: Path
    owners: _Owners
    root: _Owner | None
    thread: int
    found: _Found

    def read(self, segment: Mapping[str, Any]) -> str:
        """Adds the spans of one file; what is wrong with it, "" nothing."""
        name = agent_metadata.text(segment, "file")
        begin_ns = agent_metadata.integer(segment, "begin_ns")
        end_ns = agent_metadata.integer(segment, "end_ns")
        if not name or "/" in name or begin_ns is None or end_ns is None or end_ns < begin_ns:
            return "a file of its stacks is not described as perfscope does it"
        try:
            decoded = decode(self.path.parent / name, self.found.forest)
        except OSError as error:
            return f"{name} cannot be read ({error.strerror or type(error).__name__})"
        length_ns = decoded.last_us * 1000
        if length_ns > end_ns - begin_ns:
            return f"{name} is damaged: it is longer than py-spy ran"
        # py-spy counts from a moment after its start, and has counted before it ended.
        zero_ns = begin_ns + min((end_ns - begin_ns - length_ns) // 2, MOST_START_NS)
        for span in decoded.spans:
            self._add(span, zero_ns, decoded.last_us)
        return f"{name} is damaged: it was read as far as it is whole" if decoded.is_damaged else ""

    def _add(self, span: Span, zero_ns: int, last_us: int) -> None:
        pid, number, begin_us, end_us, node = span
        host = self.path.parent.name
        # Whatever py-spy saw below a rank and is no rank itself works for it.
        owner = self.owners.get((host, pid), self.root)
        if owner is None:
            self.found.strangers.add((host, pid))
            return
        rank, offset_ns = owner
        is_main = pid == rank.pid and number == self.thread
        if not is_main and end_us == last_us:
            return  # a thread that has ended looks as if it went on to the end of the file
        begin = zero_ns + begin_us * 1000 + offset_ns
        end = zero_ns + end_us * 1000 + offset_ns
        if pid == rank.pid:
            begin, end = max(begin, rank.start_ns), min(end, rank.end_ns)
        if end > begin:
            row = begin, end, node, pid, is_main
            self.found.rows.setdefault(rank.number, []).append(row)


def _table(rows: list[tuple[int, int, int, int, bool]]) -> Table:
    table = np.array(rows, SPAN_DTYPE) if rows else empty(SPAN_DTYPE)
    return table[np.argsort(table["t0"], kind="stable")]


def _reason(process: ProcessFile) -> str:
    """Why a rank has no stacks, in the words of the agent if it knew."""
    told = agent_metadata.text(agent_metadata.mapping(process.metadata, "stacks"), "reason")
    return told or "the rank ended before py-spy had started, or its files are missing"


def _explained(text: str) -> str:
    """What py-spy said, with what helps."""
    if mentions(text, "ermission", "EPERM", "Operation not permitted"):
        return _PERMISSION
    return text
