"""py-spy, which samples the stacks of a job on request: where it is, and that it has finished."""

import shutil
import socket
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from perfscope.files import read_json

STATE_FILES = "*/*.stacks.json"
WAIT_S = 20.0
MOST_STATE_BYTES = 16 << 20
_TELL_AFTER_S = 1.0
_LOOK_EVERY_S = 0.02


def spy_program(environment: Mapping[str, str]) -> Path | None:
    """The py-spy of the environment's PATH, else the one beside this Python; None without any."""
    found = shutil.which("py-spy", path=environment.get("PATH"))
    if found is not None:
        return Path(found).absolute()
    beside = Path(sys.executable).parent / "py-spy"
    return beside if beside.is_file() else None


def before_start(environment: Mapping[str, str]) -> list[str]:
    """What the user should know before a job that is to be sampled starts."""
    if spy_program(environment) is not None:
        return []
    return ["stacks are not sampled: py-spy was not found; pip install py-spy"]


def wait_for_end(directory: Path, tell: Callable[[str], None]) -> None:
    """Waits until what was sampled is written; the job is over and py-spy needs a moment more."""
    began = time.monotonic()
    is_told = False
    while any(_is_writing(path) for path in directory.glob(STATE_FILES)):
        waited_s = time.monotonic() - began
        if waited_s > WAIT_S:
            tell("py-spy still writes; stacks that come later are read as well")
            return
        if waited_s > _TELL_AFTER_S and not is_told:
            tell("waiting for py-spy to write the stacks")
            is_told = True
        time.sleep(_LOOK_EVERY_S)


def _is_writing(path: Path) -> bool:
    """Whether a process may still add to these files; of another host one cannot know."""
    try:
        state = read_json(path, MOST_STATE_BYTES)
        if state["is_over"]:
            return False
        here = path.parent.name == socket.gethostname()
        return not here or Path("/proc", str(int(state["supervisor"]))).exists()
    except (OSError, ValueError, TypeError, KeyError):
        return False
