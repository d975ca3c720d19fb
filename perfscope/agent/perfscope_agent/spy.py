"""Starts py-spy beside this process, on request: its stacks, and those of all its children."""

from __future__ import annotations

import os
import sys

from . import metadata, notes, recorder, roles

HZ = "PERFSCOPE_STACKS_HZ"
PROGRAM = "PERFSCOPE_STACKS_SPY"
RANKS = "PERFSCOPE_STACKS_RANKS"
WATCHED_BY = "PERFSCOPE_SPY"
"""Host and process id of what samples this process and its children, for the children."""

_DEFAULT_MOST_BYTES = 256 * 1024 * 1024
_START_S = 10.0
_END_S = 2.0
_PR_SET_PTRACER = 0x59616D61

_supervisor = 0


def is_wanted() -> bool:
    """Whether the user asked for it."""
    return bool(os.environ.get(HZ))


def start() -> None:
    """Starts the sampling of this process; what keeps it from that goes into the metadata."""
    if not is_wanted() or _is_watched_already():
        return
    reason = _obstacle() or _launch()
    metadata.facts["stacks"] = {"reason": reason} if reason else {"supervisor": _supervisor}


def permit() -> None:
    """Lets the sampler of the process above read this one, where only ancestors may."""
    if is_wanted():
        _is_watched_already()


def finish() -> None:
    """At exit: under srun nothing outlives the task, so what was sampled is asked for now."""
    if not _supervisor or "SLURM_STEP_ID" not in os.environ:
        return
    import signal
    import time

    try:
        os.kill(_supervisor, signal.SIGTERM)
        end = time.monotonic() + _END_S
        while time.monotonic() < end:
            os.kill(_supervisor, 0)
            time.sleep(0.01)
    except OSError:
        return


def _is_watched_already() -> bool:
    """Whether a sampler of an ancestor sees this process; it is given leave to."""
    host, _, pid = os.environ.get(WATCHED_BY, "").rpartition("|")
    if not pid.isdigit() or host != os.uname().nodename or not os.path.isdir("/proc/" + pid):
        return False
    _give_leave(int(pid))
    return True


def _obstacle() -> str | None:
    rank, _ = roles.rank_and_size()
    wanted = os.environ.get(RANKS, "")
    if wanted and str(max(rank, 0)) not in wanted.split(","):
        return "it was not among the ranks of --stacks-ranks"
    if not _program():
        return "py-spy was not found: pip install py-spy, in the environment of the job"
    if not sys.executable:
        return "this Python does not know its own program, which py-spy is started with"
    return None


def _program() -> str:
    """The path of py-spy: as `perfscope run` found it, else in this host's PATH."""
    told = os.environ.get(PROGRAM, "")
    places = [os.path.join(place, "py-spy") for place in os.get_exec_path()]
    beside = os.path.join(os.path.dirname(sys.executable or ""), "py-spy")
    for path in (told, *places, beside):
        if path and os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    return ""


def _launch() -> str | None:
    """Starts the supervisor; the reason when that fails."""
    global _supervisor
    import subprocess

    rec = recorder.activate()
    if rec is None:
        return "this process is not recorded"
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "spy_supervisor.py")
    base = os.fsdecode(rec.base_path())
    hz, most_bytes = os.environ[HZ], os.environ.get("PERFSCOPE_MAX_BYTES", "")
    most = most_bytes if most_bytes.isdigit() else str(_DEFAULT_MOST_BYTES)
    words = [_program(), str(os.getpid()), base, hz, most, str(recorder.main_thread)]
    try:
        done = subprocess.run(
            [sys.executable, "-I", "-S", script, *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=_plain_environment(),
            start_new_session=True,
            timeout=_START_S,
            check=True,
        )
        _supervisor = int(done.stdout)
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        notes.failure("py-spy not started", error)
        return "py-spy could not be started: %s" % type(error).__name__
    os.environ[WATCHED_BY] = "%s|%d" % (os.uname().nodename, _supervisor)
    _give_leave(_supervisor)
    return None


def _plain_environment() -> dict[str, str]:
    """The environment without what would load the recorder and the agent into the sampler."""
    left_out = ("LD_PRELOAD", "PYTHONPATH", "PYTHONSTARTUP")
    return {
        name: value
        for name, value in os.environ.items()
        if name not in left_out and not name.startswith("PERFSCOPE_")
    }


def _give_leave(pid: int) -> None:
    """Allows one process and its children to read this one, where Yama allows ancestors alone."""
    import ctypes

    ctypes.CDLL(None).prctl(_PR_SET_PTRACER, ctypes.c_ulong(pid), 0, 0, 0)
