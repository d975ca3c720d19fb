"""The MPI that mpirun starts and the one that mpi4py uses."""

import json
from collections.abc import Sequence

from perfscope.doctor.check import Check, Outcome, State, Surroundings
from perfscope.doctor.installing import install_command
from perfscope.doctor.launchers import found_launchers
from perfscope.doctor.running import finish, last_line
from perfscope.foreign import mentions

_TITLE = "mpirun"
_TITLE_MPI4PY = "mpi4py"
_TIMEOUT_S = 30.0
_ASK = """
import json
import mpi4py
mpi4py.rc.initialize = False
from mpi4py import MPI
print(json.dumps({"mpi4py": mpi4py.__version__, "library": MPI.Get_library_version()}))
"""


def look(around: Surroundings) -> Sequence[Outcome]:
    """Lists launchers and asks mpi4py for its library, without starting ranks."""
    return [_launchers(around), *_mpi4py(around)]


def _launchers(around: Surroundings) -> Outcome:
    found = found_launchers(around.environment, around.python)
    if not found:
        why = "none in PATH; jobs without MPI can still be recorded"
        fix = f"{install_command(around, 'mpich mpi4py')} (needs no root) or: module load mpi"
        return Outcome(_TITLE, State.NOT_THERE, why, fix)
    text = ", ".join(f"{launcher.name} ({launcher.path})" for launcher in found)
    details = {str(launcher.path): launcher.name for launcher in found}
    if not found[0].is_first:
        why = f"no `mpirun` in PATH, but {text}"
        fix = f'export PATH="{found[0].path.parent}:$PATH"'
        return Outcome(_TITLE, State.WARNING, why, fix, details)
    return Outcome(_TITLE, State.OK, text, details=details)


def _mpi4py(around: Surroundings) -> list[Outcome]:
    if around.python is None:
        return []
    done = finish([around.python, "-c", _ASK], environment=around.environment, timeout_s=_TIMEOUT_S)
    if done.exit_code == 0:
        told = json.loads(done.stdout)
        library = told["library"].strip("\0 \n").splitlines()[0]
        summary = f"{told['mpi4py']} of {around.python} uses {library}"
        return [Outcome(_TITLE_MPI4PY, State.OK, summary, details=told)]
    error = last_line(done.stderr) or "timed out"
    if mentions(error, "No module named"):
        why = f"{around.python} has no mpi4py"
        fix = install_command(around, "mpi4py")
        return [Outcome(_TITLE_MPI4PY, State.NOT_THERE, why, fix)]
    why = f"mpi4py of {around.python} finds no MPI library: {error}"
    fix = f"{install_command(around, 'mpich')} (or: module load mpi)"
    return [Outcome(_TITLE_MPI4PY, State.PROBLEM, why, fix)]


CHECK = Check("mpi", look)
