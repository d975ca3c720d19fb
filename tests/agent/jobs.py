"""Python processes with and without the agent, and what the agent wrote about them."""

import json
import math
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from perfscope.record import agent_directory, recorder_library
from tests.native.recorder.decode import (
    METRIC,
    PHASE,
    SAMPLE,
    STACK,
    STEP,
    Record,
    Recording,
    decode,
)
from tests.support.recording import JOB_TIMEOUT_S, job_variables
from tests.support.requirements import missing

AGENT = agent_directory()
RANK_ZERO = {"PMI_RANK": "0", "PMI_SIZE": "1"}
NONE = 0xFFFFFFFF
LOOKS = """
from perfscope_agent import pace as _pace, stacks as _stacks
_pace._SHARE, _pace._TOGETHER_S, looks = 0.5, 0.1, _stacks.statistics  # none is put off
def after(count):  # until looks["samples"] is that, so many more looks will have come
    return looks["samples"] + _stacks.sampler._pace.together() + count
"""
CALLS = 7


def is_share(seen: int, of: int, share: float, least: float | None = None) -> bool:
    """Whether so many of some samples may be this share of the time, or one from `least` to it.

    By chance alone they are farther from it once in 1.7 million times: five standard deviations.
    """
    chance = 5 * math.sqrt(share * (1 - share) / of)
    return (share if least is None else least) - chance <= seen / of <= share + chance


@dataclass(frozen=True)
class Process:
    """What the agent wrote about one process."""

    metadata: dict[str, Any]  # its JSON file
    recording: Recording | None  # its records, None when it has none

    @property
    def role(self) -> str:
        """rank, worker or unranked."""
        return str(self.metadata["role"])

    def phases(self) -> list[tuple[str, int]]:
        """Name and kind of the phases in the order in which they began."""
        records = sorted(self._of(PHASE), key=lambda record: record.t0)
        return [(self.name(record), record.op) for record in records]

    def phase_records(self, name: str) -> list[Record]:
        """The phases of one name by their begin."""
        found = [record for record in self._of(PHASE) if self.name(record) == name]
        return sorted(found, key=lambda record: record.t0)

    def steps(self) -> list[Record]:
        """The steps by their begin."""
        return sorted(self._of(STEP), key=lambda record: record.t0)

    def metrics(self) -> list[tuple[str, Record]]:
        """Name and record of the metrics in the order in which they were written."""
        return [(self.name(record), record) for record in self._of(METRIC)]

    def calls(self) -> list[Record]:
        """Sums over the calls of a framework's functions, in the order in which they were made."""
        return [record for record in self._of(SAMPLE) if record.op == CALLS]

    def functions(self) -> list[list[tuple[str, str, int]]]:
        """The stack samples: function, file and line of each frame, outermost first."""
        assert self.recording is not None
        names, stacks = self.recording.names, self.recording.stacks
        return [[_frame(names[i]) for i in stacks[r.comm]] for r in self.stack_records()]

    def stack_records(self) -> list[Record]:
        """The stack samples as records, in the order in which they were written."""
        return self._of(STACK)

    def name(self, record: Record) -> str:
        """The name that a phase or metric has."""
        assert self.recording is not None
        return self.recording.names[record.comm]

    def _of(self, kind: int) -> list[Record]:
        assert self.recording is not None
        return self.recording.of_kind(kind)


@dataclass(frozen=True)
class Job:
    """A finished command."""

    exit_code: int  # negative after a signal
    stdout: bytes  # what it printed
    stderr: bytes  # what it printed there
    directory: Path  # where it was recorded to

    @property
    def processes(self) -> list[Process]:
        """Every process that the agent wrote about, by its start."""
        found = []
        for path in self.directory.glob("*/*.json"):
            metadata = json.loads(path.read_text(encoding="utf-8"))
            records = path.with_suffix(".rec")
            found.append(Process(metadata, decode(records) if records.exists() else None))
        return sorted(found, key=lambda p: (p.metadata["start_ticks"], p.metadata["pid"]))

    @property
    def process(self) -> Process:
        """The only process."""
        (only,) = self.processes
        return only

    def of_role(self, role: str) -> list[Process]:
        """The processes of one role."""
        return [process for process in self.processes if process.role == role]


def _frame(name: str) -> tuple[str, str, int]:
    function, file, line = name.split("\x1f")
    return function, file, int(line)


def run(
    arguments: Sequence[str | Path],
    directory: Path,
    *,
    variables: Mapping[str, str] | None = None,
    python: Path | str = sys.executable,
    cwd: Path | None = None,
    recorded: bool = True,
) -> Job:
    """Runs Python as a process of a recorded job, or for comparison as it is."""
    environment = {"HIDDEN_MODULES": "sklearn", **job_variables(variables)}  # a third of TensorFlow
    if recorded:
        environment.update(recording_variables(directory, environment.get("PYTHONPATH")))
    done = subprocess.run(
        [str(word) for word in (python, *arguments)],
        cwd=cwd or directory.parent,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=JOB_TIMEOUT_S,
        check=False,
    )
    return Job(done.returncode, done.stdout, done.stderr, directory)


def recording_variables(directory: Path, python_path: str | None = None) -> dict[str, str]:
    """What has a process recorded."""
    library = recorder_library()
    if library is None:
        missing("the recorder library (pip install -e .)")
    directory.mkdir(exist_ok=True)
    return {
        "PERFSCOPE_DIR": str(directory),
        "PERFSCOPE_RECORDER": str(library),
        "LD_PRELOAD": str(library),
        "PYTHONPATH": str(AGENT) + (":" + python_path if python_path else ""),
    }
