"""py-spy, for `perfscope run --stacks`: whether it is there and may read a process."""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from perfscope.doctor.check import Check, Outcome, State, Surroundings
from perfscope.doctor.running import finish, last_line
from perfscope.record.stack_sampling import spy_program

_TITLE = "Stacks (py-spy)"
_TIMEOUT_S = 20.0
_SCOPE = Path("/proc/sys/kernel/yama/ptrace_scope")
_CONTAINERS = (Path("/.dockerenv"), Path("/run/.containerenv"))
# As the agent does: the process says who may read it, so that Yama's scope 1 is no obstacle.
_WAIT = """
import ctypes
ctypes.CDLL(None).prctl(0x59616D61, ctypes.c_ulong(-1 % 2 ** 64), 0, 0, 0)
print("ready", flush=True)
input()
"""


def look(around: Surroundings) -> Sequence[Outcome]:
    """Lets py-spy read a Python that was started for it."""
    program = spy_program(around.environment)
    if program is None:
        why = "py-spy is not installed; only --stacks needs it"
        return [Outcome(_TITLE, State.NOT_THERE, why, f"{sys.executable} -m pip install py-spy")]
    details = {"program": str(program), "ptrace_scope": _scope(), "container": _is_container()}
    version = finish(
        [program, "--version"], environment=around.environment, timeout_s=_TIMEOUT_S
    ).stdout.strip()
    details["version"] = version
    command = [str(around.python or sys.executable), "-c", _WAIT]
    waiting = subprocess.Popen(
        command,
        env=around.environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    try:
        assert waiting.stdout is not None
        waiting.stdout.readline()
        done = finish(
            [program, "dump", "--nonblocking", "--pid", str(waiting.pid)],
            environment=around.environment,
            timeout_s=_TIMEOUT_S,
        )
    finally:
        waiting.kill()
        waiting.communicate()
    if done.exit_code == 0:
        return [Outcome(_TITLE, State.OK, f"{version} can read Python processes", details=details)]
    said = last_line(done.stderr) or "timed out"
    why = f"{version} cannot read a Python process: {said}"
    return [Outcome(_TITLE, State.WARNING, why, _fix(), details)]


def _scope() -> int | None:
    """Yama's setting, None where the kernel has none."""
    try:
        return int(_SCOPE.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None


def _is_container() -> bool:
    return any(path.exists() for path in _CONTAINERS)


def _fix() -> str:
    if _is_container():
        return "start the container with --cap-add SYS_PTRACE (docker, podman)"
    scope = _scope()
    if scope is not None and scope > 1 and os.geteuid() != 0:
        return "sysctl -w kernel.yama.ptrace_scope=1 (as root), on every node"
    return "py-spy dump --pid PID (shows what is wrong), as the user who runs the job"


CHECK = Check("stacks", look)
