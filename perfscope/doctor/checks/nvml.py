"""GPUs: NVIDIA's management library, through pynvml of the job's Python."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from perfscope.doctor.check import Check, Outcome, State, Surroundings
from perfscope.doctor.running import finish, last_line

_TITLE = "GPUs (NVML)"
_TIMEOUT_S = 30.0
_ASK = """
import json
import pynvml
pynvml.nvmlInit()
text = lambda value: value.decode() if isinstance(value, bytes) else value
names = [text(pynvml.nvmlDeviceGetName(pynvml.nvmlDeviceGetHandleByIndex(index)))
         for index in range(pynvml.nvmlDeviceGetCount())]
print(json.dumps({"driver": text(pynvml.nvmlSystemGetDriverVersion()), "devices": names}))
"""


def look(around: Surroundings) -> Sequence[Outcome]:
    """Counts the GPUs that NVML shows."""
    has_driver = Path("/proc/driver/nvidia/version").exists() or Path("/dev/nvidiactl").exists()
    if around.python is None:
        why = "there is no python in PATH to ask with"
        return [Outcome(_TITLE, State.NOT_THERE, why, "activate the environment of your job")]
    command: list[str | Path] = [around.python, "-c", _ASK]
    done = finish(command, environment=around.environment, timeout_s=_TIMEOUT_S)
    if done.exit_code == 0:
        found = json.loads(done.stdout)
        names = ", ".join(found["devices"]) or "no device"
        summary = f"{len(found['devices'])} GPU(s): {names}; driver {found['driver']}"
        return [Outcome(_TITLE, State.OK, summary, details=found)]
    error = last_line(done.stderr) or "no answer in time"
    if not has_driver:
        why = "no NVIDIA driver is loaded; CPU training needs none"
        fix = "install NVIDIA's driver where there is a GPU; check with nvidia-smi"
        return [Outcome(_TITLE, State.NOT_THERE, why, fix, {"error": error})]
    if "No module named" in error:
        why = f"there is a driver, and {around.python} has no pynvml to ask it with"
        fix = f"{around.python} -m pip install nvidia-ml-py"
        return [Outcome(_TITLE, State.WARNING, why, fix, {"error": error})]
    why = f"there is a driver, and NVML does not answer: {error}"
    return [
        Outcome(_TITLE, State.WARNING, why, "nvidia-smi (says what is wrong)", {"error": error})
    ]


CHECK = Check("nvml", look)
