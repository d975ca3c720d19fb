"""What lies in a run directory: run.json, every field checked, and the files of the processes."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from perfscope.errors import NothingYetError, UnreadableInputError
from perfscope.parallel import each
from perfscope.progress import one_more, stage
from perfscope.readers.recording import agent_metadata
from perfscope.readers.recording.endings import ObservedEnds, read_ends
from perfscope.readers.recording.layout import RECORD_BYTES
from perfscope.readers.recording.process_file import ProcessFile, read_process
from perfscope.readers.recording.record_file import MAX_LIFE_NS, MAX_RANKS
from perfscope.scratch import expect
from perfscope.structures import dataclass

RUN_FILE = "run.json"
MAX_TIME_NS = 1 << 62
LATE_WRITING_NS = 60 * 10**9
"""A process may outlive the command by this much (teardown, launchers that return early)."""

STAT_BLOCK_BYTES = 512
PEAK_PART = 2.9
"""What the analysis takes at its peak for each byte of records (docs/engine.md)."""

BOUNDS = {
    "start_mono_ns": (1, MAX_TIME_NS),
    "end_mono_ns": (1, MAX_TIME_NS),
    "start_unix_ns": (1, MAX_TIME_NS),
    "ranks_requested": (1, MAX_RANKS),
    "exit_code": (0, 255),
    "signal": (1, 64),
}
"""Least and most of numbers in run.json."""


@dataclass
class RunValues:
    """What run.json says of the whole command, every field checked."""

    values: Mapping[str, Any]
    notes: list[str]

    @property
    def boot_id(self) -> str:
        """Of the machine that ran `perfscope run`, "" unknown."""
        return agent_metadata.text(self.values, "boot_id")

    @property
    def time_namespace(self) -> int:
        """In which `perfscope run` read its clock, 0 unknown."""
        return agent_metadata.integer(self.values, "time_namespace") or 0

    def shares_clock(self, boot_id: str, time_namespace: int) -> bool:
        """Whether a process reads the clock that `perfscope run` read: same boot, same namespace.

        A namespace that is not known is taken for the same one.
        """
        known = self.time_namespace and time_namespace
        is_same = not known or self.time_namespace == time_namespace
        return is_same and bool(boot_id) and boot_id == self.boot_id

    def moment(self, key: str) -> int | None:
        """A time in ns, None where it is not known."""
        value = agent_metadata.integer(self.values, key)
        return value if value is not None and value > 0 else None

    @property
    def end_unix_ns(self) -> int | None:
        """When the command ended, by the wall clock at its start."""
        start, end = self.moment("start_mono_ns"), self.moment("end_mono_ns")
        unix = self.moment("start_unix_ns")
        if start is None or end is None or unix is None or end < start:
            return None
        return unix + end - start

    @property
    def has_ended(self) -> bool:
        """Whether the command is over; of one whose start is not told nobody knows that it runs."""
        is_running = self.moment("start_mono_ns") and self.moment("end_mono_ns") is None
        return not is_running or agent_metadata.integer(self.values, "exit_code") is not None

    @property
    def launcher(self) -> str:
        """What started the ranks, as `mpirun (MPICH)`, "" unknown."""
        launcher = agent_metadata.mapping(self.values, "launcher")
        kind = agent_metadata.text(launcher, "kind")
        flavor = agent_metadata.text(launcher, "flavour")  # as the format spells it
        if kind == "direct":
            return "direct"
        return f"{kind} ({flavor})" if kind and flavor else kind or flavor

    def is_command_itself(self, world_size: int) -> bool:
        """Whether the only rank is the command."""
        launcher = agent_metadata.mapping(self.values, "launcher")
        return agent_metadata.text(launcher, "kind") == "direct" and world_size == 1


def read_run(path: Path) -> RunValues:
    """What run.json in a run directory says.

    Raises:
        UnreadableInputError: there is no directory.
    """
    if not path.is_dir():
        raise UnreadableInputError(
            f"There is no recording at {path}.",
            why="It is not a directory." if path.exists() else "The path does not exist.",
            action="Record a run first: perfscope run -- mpirun -n 2 python train.py",
        )
    values, note = agent_metadata.read_json(path / RUN_FILE)
    if note is None and agent_metadata.integer(values, "schema") != 1:
        note = f"{RUN_FILE} is of an unknown schema; what it says may be misunderstood."
    notes = [note] if note else []
    values = _without_nonsense(values, notes)
    return RunValues(values, notes)


def _without_nonsense(values: Mapping[str, Any], notes: list[str]) -> dict[str, Any]:
    """What can be true of run.json; fields that cannot be are named and not used."""
    kept, wrong = dict(values), []
    for name, (least, most) in BOUNDS.items():
        value = agent_metadata.integer(values, name)
        if values.get(name) is not None and (value is None or not least <= value <= most):
            wrong.append(name)
    begin, end = (agent_metadata.integer(values, f"{name}_mono_ns") for name in ("start", "end"))
    if begin is not None and end is not None and not begin <= end <= begin + MAX_LIFE_NS:
        wrong.append("end_mono_ns")
    for name in wrong:
        kept.pop(name, None)
    if wrong:
        told = ", ".join(dict.fromkeys(wrong))
        notes.append(f"{RUN_FILE}: values that cannot be true are not used ({told}).")
    return kept


def read_processes(
    path: Path, run: RunValues, recent_s: float | None = None
) -> tuple[list[ProcessFile], dict[str, ObservedEnds]]:
    """The processes of a run directory, and how their parents saw them end, by host.

    `recent_s` is for what was recorded in the last seconds alone, and what was open then; None all.

    Raises:
        UnreadableInputError: there is none that can be read.
    """
    files = sorted(path.glob("*/*.rec"))
    stored_bytes = _stored_bytes(files)
    if recent_s is None:
        expect(round(PEAK_PART * stored_bytes), "The tables of this recording")
    end = run.end_unix_ns

    def attempt(file: Path) -> ProcessFile | UnreadableInputError:
        host = file.parent.name
        same_host = host == agent_metadata.text(run.values, "host")
        latest = end + LATE_WRITING_NS if end is not None and same_host else None
        try:
            return read_process(file, host=host, latest_unix_ns=latest, recent_s=recent_s)
        except UnreadableInputError as error:
            return error
        finally:
            one_more()

    stage("reading records", len(files))
    found = each(attempt, files, rows=stored_bytes // RECORD_BYTES)
    processes = [one for one in found if isinstance(one, ProcessFile)]
    failures = [one for one in found if isinstance(one, UnreadableInputError)]
    if not processes:
        raise _nothing_recorded(path, run, failures)
    run.notes.extend(f"{error.what} {error.why}" for error in failures)
    ends: dict[str, ObservedEnds] = {}
    for folder in sorted({file.parent for file in files}):
        ends[folder.name], notes = read_ends(sorted(folder.glob("*.ends")))
        run.notes.extend(notes)
    return processes, ends


def _stored_bytes(files: Iterable[Path]) -> int:
    """What files take on the disk: parts that were never written take nothing."""
    return sum(file.stat().st_blocks for file in files if file.is_file()) * STAT_BLOCK_BYTES


def _nothing_recorded(
    path: Path, run: RunValues, failures: list[UnreadableInputError]
) -> UnreadableInputError:
    if failures:
        first = failures[0]
        return UnreadableInputError(
            f"None of the {len(failures)} recordings in {path} can be read.",
            why=f"{first.what} {first.why}",
            action=first.action,
        )
    if not run.has_ended:
        return NothingYetError(
            f"Nothing is recorded in {path} yet.",
            why="The command has not told its end, and no process of it has called MPI or run "
            "Python.",
            action=f"See how it gets on with: perfscope watch {path}",
        )
    code = agent_metadata.integer(run.values, "exit_code")
    ended = (
        f"The command ended with exit code {code} before" if code is not None else "It ended before"
    )
    return UnreadableInputError(
        f"Nothing was recorded in {path}.",
        why=f"{ended} any process initialized MPI or started Python, or it is no run directory.",
        action="Run the command without perfscope first; if it works, run `perfscope doctor`.",
    )
