"""memray, for `perfscope run --memory-detail`: whether the job's Python has it."""

from collections.abc import Sequence

from perfscope.doctor.check import Check, Outcome, State, Surroundings
from perfscope.doctor.installing import install_command
from perfscope.doctor.running import finish, last_line
from perfscope.foreign import mentions

_TITLE = "Memory (memray)"
_TIMEOUT_S = 30.0
_ASK = "import memray; print(memray.__version__)"


def look(around: Surroundings) -> Sequence[Outcome]:
    """Imports memray in the job's Python."""
    if around.python is None:
        why = "no python in PATH"
        return [Outcome(_TITLE, State.NOT_THERE, why, "activate your job's environment")]
    done = finish([around.python, "-c", _ASK], environment=around.environment, timeout_s=_TIMEOUT_S)
    if done.exit_code == 0:
        version = done.stdout.strip()
        return [Outcome(_TITLE, State.OK, f"memray {version}", details={"version": version})]
    error = last_line(done.stderr) or "timed out"
    fix = install_command(around, "memray")
    if mentions(error, "No module named"):
        why = "not installed; only --memory-detail needs it"
        return [Outcome(_TITLE, State.NOT_THERE, why, fix, {"error": error})]
    why = f"installed but cannot be imported: {error}"
    return [Outcome(_TITLE, State.WARNING, why, fix, {"error": error})]


CHECK = Check("memory_detail", look)
