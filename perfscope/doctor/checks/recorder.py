"""Whether this machine's dynamic linker takes the recorder."""

from collections.abc import Sequence

from perfscope.doctor.check import Check, Outcome, State, Surroundings
from perfscope.record.places import LIBRARY_NAME, load_problem, recorder_library

_TITLE = "Recorder"
_FIX = "pip install --force-reinstall --no-deps . (in perfscope's source tree; needs a C compiler)"


def look(_around: Surroundings) -> Sequence[Outcome]:
    """Loads the library into a process that does nothing."""
    library = recorder_library()
    if library is None:
        why = f"{LIBRARY_NAME} is missing from this installation: nothing can be recorded"
        return [Outcome(_TITLE, State.PROBLEM, why, _FIX)]
    problem = load_problem(library)
    details = {"library": str(library)}
    if problem is not None:
        why = f"cannot be loaded here: {problem}"
        return [Outcome(_TITLE, State.PROBLEM, why, _FIX, details)]
    return [Outcome(_TITLE, State.OK, "loads into job processes", details=details)]


CHECK = Check("recorder", look)
