"""One process of a recording: its header, checked, its records, and what lies beside them."""

import re
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import Any

import numpy as np

from perfscope.readers.recording import agent_metadata
from perfscope.readers.recording.definitions import Definitions, read_definitions
from perfscope.readers.recording.layout import HeaderFlag
from perfscope.readers.recording.record_file import read_record_file
from perfscope.readers.recording.recorded_calls import RecordedCalls
from perfscope.structures import dataclass
from perfscope.trace.model import Table

_BASE_NAME = re.compile(r"(\d{1,10})-(\d{1,19})$")
_FLAGS = sum(HeaderFlag)
_AS_THEY_ARE = ("rank", "size", "exit_code", "time_namespace", "mono0_ns", "real0_ns")
_MOMENTS = ("init_exit_ns", "finalize_enter_ns", "alive_ns", "exit_ns", "first_drop_ns")


@dataclass
class ProcessFile:
    """What one process left behind; times are its CLOCK_MONOTONIC in ns, None where unknown."""

    path: Path
    host: str
    pid: int
    start_ticks: int
    rank: int
    size: int
    flags: HeaderFlag
    exit_code: int
    main_tid: int
    boot_id: str
    time_namespace: int
    start_ns: int
    bound_ns: int  # nothing of this process can be later
    mono0_ns: int
    real0_ns: int
    init_exit_ns: int | None
    finalize_enter_ns: int | None
    alive_ns: int | None
    exit_ns: int | None
    first_drop_ns: int | None
    dropped: int
    header: np.void
    calls: RecordedCalls
    definitions: Definitions
    metadata: Mapping[str, Any]
    notes: list[str] = field(default_factory=list)
    cut_off: int = 0  # records that were claimed and are not in the file

    @property
    def uses_mpi(self) -> bool:
        """Whether the process initialized MPI itself."""
        return bool(self.flags & HeaderFlag.MPI)

    @property
    def framework_rank(self) -> tuple[int, int] | None:
        """Number and size that a framework gave a process whose MPI world is itself alone.

        A library that only asks whether MPI started it initializes it in that way.
        """
        return agent_metadata.framework_rank(self.metadata) if self.size == 1 else None

    @property
    def role(self) -> str:
        """What the agent took the process for: rank, worker, unranked, or "" without an agent."""
        return agent_metadata.text(self.metadata, "role")

    def unix_ns(self, mono_ns: int) -> int:
        """The wall-clock time of a moment of this process."""
        return mono_ns - self.mono0_ns + self.real0_ns

    @property
    def records(self) -> Table:
        """Those of its records that are neither calls nor what they completed."""
        return self.calls.others

    @property
    def last_sign_ns(self) -> int:
        """The latest moment that the header tells the process to have lived."""
        signs = (self.init_exit_ns, self.finalize_enter_ns, self.alive_ns, self.exit_ns)
        return max((sign for sign in signs if sign is not None), default=self.start_ns)


def _metadata(path: Path, flags: HeaderFlag) -> tuple[dict[str, Any], str | None]:
    """What the agent noted, and a note on what is wrong with it; no agent leaves none."""
    if not flags & HeaderFlag.AGENT and not (path.exists() or path.is_symlink()):
        return {}, None
    return agent_metadata.read_json(path)


def read_process(
    path: Path, *, host: str, latest_unix_ns: int | None = None, recent_s: float | None = None
) -> ProcessFile:
    """The process whose records are in `path`; by `latest_unix_ns` the run was surely over.

    `recent_s` is for what it recorded in its last seconds alone; None all.

    Raises:
        UnreadableInputError: the file is damaged beyond its header.
    """
    calls = RecordedCalls(latest_unix_ns)
    file = read_record_file(path, recent_s=recent_s, into=calls)
    header, start_ns, bound_ns = file.header, calls.start_ns, calls.bound_ns
    notes = [f"{path.name}: {note}" for note in file.notes]
    match = _BASE_NAME.match(path.stem)
    flags = HeaderFlag(int(header["flags"]) & _FLAGS)
    metadata, problem = _metadata(path.with_suffix(".json"), flags)
    notes += [problem] if problem else []
    definitions = read_definitions(path.with_suffix(".def"))
    notes += definitions.notes
    moments, implausible = _moments(header, start_ns, bound_ns)
    if implausible:
        fields = ", ".join(implausible)
        notes.append(f"{path.name}: implausible times in the header were ignored ({fields}).")
    as_they_are: dict[str, Any] = {name: int(header[name]) for name in _AS_THEY_ARE}
    process = ProcessFile(
        path=path,
        host=_text(header["host"]) or host,
        pid=int(match[1]) if match else int(header["pid"]),
        start_ticks=int(match[2]) if match else int(header["start_ticks"]),
        flags=flags,
        main_tid=int(header["main_tid"]) or int(header["pid"]),
        boot_id=_text(header["boot_id"]),
        start_ns=start_ns,
        bound_ns=bound_ns,
        dropped=min(int(header["dropped"]), 1 << 62),
        header=header,
        calls=calls,
        definitions=definitions,
        metadata=metadata,
        notes=notes,
        **as_they_are,
        **moments,
    )
    if file.missing > 1:
        # one more may be claimed while the process ends; it stands for nothing
        process.cut_off = file.missing
        process.first_drop_ns = _end_of_detail(process)
    return process


def _moments(header: np.void, start_ns: int, bound_ns: int) -> tuple[dict[str, Any], list[str]]:
    """The moments in a header; those outside the life of the process are named, not used."""
    told = {name: int(header[name]) for name in _MOMENTS}
    used = {name: at if at and start_ns <= at <= bound_ns else None for name, at in told.items()}
    return used, [name for name, at in told.items() if at and used[name] is None]


def _end_of_detail(process: ProcessFile) -> int:
    """The last moment of which the remaining records tell; at least the start of the process."""
    last = max(process.start_ns, process.calls.last_told_ns)
    return last if process.first_drop_ns is None else min(last, process.first_drop_ns)


def _text(value: Any) -> str:
    return bytes(value).split(b"\0")[0].decode("utf-8", "replace")
