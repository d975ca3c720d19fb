"""A C compiler: what building perfscope from its sources, or mpi4py, needs."""

import shutil
from collections.abc import Sequence

from perfscope.doctor.check import Check, Outcome, State, Surroundings
from perfscope.doctor.running import finish

_TITLE = "C compiler"
_NAMES = ("cc", "gcc", "clang", "icx")


def look(around: Surroundings) -> Sequence[Outcome]:
    """The compiler that CC names, else the first one in PATH."""
    own = around.environment.get("CC", "").split()[:1]
    for name in (*own, *_NAMES):
        found = shutil.which(name, path=around.environment.get("PATH"))
        if found is None:
            continue
        done = finish([found, "--version"], environment=around.environment, timeout_s=10)
        if done.exit_code == 0:
            version = done.stdout.strip().splitlines()[0] if done.stdout.strip() else name
            return [Outcome(_TITLE, State.OK, version, details={"path": found})]
    why = "none found; needed only to install perfscope from source"
    fix = "apt-get install gcc libc6-dev (or: module load gcc)"
    return [Outcome(_TITLE, State.NOT_THERE, why, fix)]


CHECK = Check("compiler", look)
