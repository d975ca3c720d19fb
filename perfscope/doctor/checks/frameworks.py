"""Frameworks in the job's Python, by what is installed: importing them would take seconds."""

import json
from collections.abc import Sequence
from pathlib import Path

from perfscope.doctor.check import Check, Outcome, State, Surroundings
from perfscope.doctor.installing import install_command
from perfscope.doctor.running import finish, last_line

_TITLE = "Frameworks"
_TIMEOUT_S = 30.0
PACKAGES = (
    "tensorflow",
    "tensorflow-cpu",
    "keras",
    "torch",
    "horovod",
    "lightning",
    "transformers",
    "jax",
    "daal4py",
    "scikit-learn-intelex",
    "scikit-learn",
    "mpi4py",
    "numpy",
)
_ASK = """
import json, sys
from importlib import metadata
found = {}
for name in sys.argv[1:]:
    try:
        found[name] = metadata.version(name)
    except metadata.PackageNotFoundError:
        pass
print(json.dumps(found))
"""


def look(around: Surroundings) -> Sequence[Outcome]:
    """Asks the metadata of installed packages."""
    if around.python is None:
        why = "no python in PATH"
        return [Outcome(_TITLE, State.NOT_THERE, why, "activate your job's environment")]
    command: list[str | Path] = [around.python, "-c", _ASK, *PACKAGES]
    done = finish(command, environment=around.environment, timeout_s=_TIMEOUT_S)
    if done.exit_code != 0:
        why = f"{around.python} could not be queried: {last_line(done.stderr) or 'timed out'}"
        fix = "use Python 3.8 or newer; frameworks that the job imports are recorded either way"
        return [Outcome(_TITLE, State.WARNING, why, fix)]
    found = json.loads(done.stdout)
    if not found:
        why = f"{around.python} has no recognized framework; mark steps with perfscope.step()"
        install = install_command(around, "mpi4py numpy")
        fix = f"activate your job's environment, or: {install}"
        return [Outcome(_TITLE, State.NOT_THERE, why, fix)]
    text = ", ".join(f"{name} {version}" for name, version in found.items())
    return [Outcome(_TITLE, State.OK, text, details=found)]


CHECK = Check("frameworks", look)
