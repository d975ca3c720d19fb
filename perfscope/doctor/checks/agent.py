"""Whether the agent starts in the job's Python and writes what it should."""

import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from perfscope.doctor.check import Check, Outcome, State, Surroundings
from perfscope.doctor.running import Finished, finish, last_line
from perfscope.record.launch import Injection, RecordingOptions, job_environment, loadable_paths
from perfscope.record.launcher import Launcher, LauncherKind
from perfscope.record.places import agent_directory, recorder_library

_TITLE = "Agent in Python"
_OLDEST = (3, 7)
_TIMEOUT_S = 60.0


def look(around: Surroundings) -> Sequence[Outcome]:
    """Records an empty program of the job's Python in a throw-away directory."""
    if around.python is None:
        why = "no python in PATH; only MPI programs in other languages can be recorded"
        return [Outcome(_TITLE, State.NOT_THERE, why, "activate your job's environment")]
    with tempfile.TemporaryDirectory(prefix="perfscope-doctor-") as place:
        done, metadata = _record(around, Path(place))
    return [_judge(around.python, done, metadata)]


def _record(around: Surroundings, place: Path) -> tuple[Finished, dict[str, Any]]:
    injection = Injection(recorder_library(), agent_directory())
    with loadable_paths(injection) as paths:
        environment = job_environment(
            around.environment,
            directory=place,
            injection=paths,
            options=RecordingOptions(sample_hz=0),
            launcher=Launcher(LauncherKind.DIRECT),
        )
        command = [str(around.python), "-c", "import sys; print(sys.version_info[:3])"]
        done = finish(command, environment=environment, timeout_s=_TIMEOUT_S)
    for path in place.glob("*/*.json"):
        document = json.loads(path.read_text(encoding="ascii"))
        if isinstance(document, dict):
            return done, document
    return done, {}


def _judge(python: Path, done: Finished, metadata: dict[str, Any]) -> Outcome:
    details = {"python": str(python), "version": metadata.get("python")}
    if done.exit_code != 0:
        why = f"{python} does not run: {last_line(done.stderr) or 'timed out'}"
        return Outcome(_TITLE, State.PROBLEM, why, "activate your job's environment", details)
    if not metadata:
        words = done.stdout.strip("()\n ").split(",")
        version = tuple(int(word) for word in words if word.strip().isdigit())
        why = f"{python} (Python {'.'.join(map(str, version))}) does not load the agent"
        if version < _OLDEST:
            fix = "use Python 3.7 or newer for the job; MPI calls are recorded either way"
        else:
            fix = "unset PYTHONNOUSERSITE PYTHONSAFEPATH; start the job without -I, -E or -S"
        return Outcome(_TITLE, State.WARNING, why, fix, details)
    notes = [str(note) for note in metadata.get("agent_notes") or ()]
    if notes:
        why = f"starts in {python} and reports: {notes[0]}"
        fix = "please report this with the output of perfscope doctor --json"
        return Outcome(_TITLE, State.WARNING, why, fix, {**details, "notes": notes})
    why = f"starts in {python} (Python {metadata.get('python')})"
    return Outcome(_TITLE, State.OK, why, details=details)


CHECK = Check("agent", look)
