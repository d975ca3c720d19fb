"""GPUs: NVIDIA's management library, loaded by its name as the recorder loads it."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from perfscope.doctor.check import Check, Outcome, State, Surroundings
from perfscope.doctor.running import finish, last_line

_TITLE = "GPUs (NVML)"
_TIMEOUT_S = 30.0
_NOT_LOADED = 3
"""Exit code of `_ASK` where the library cannot be loaded."""
_ASK = """
import ctypes, json, os, sys
try:
    nvml = ctypes.CDLL(os.environ.get("PERFSCOPE_NVML") or "libnvidia-ml.so.1")
except OSError as error:
    print("not loaded: " + str(error), file=sys.stderr)
    sys.exit(3)
nvml.nvmlErrorString.restype = ctypes.c_char_p
def check(code):
    if code:
        sys.exit("NVML error %d: %s" % (code, nvml.nvmlErrorString(code).decode()))
def text(function, *handle):
    buffer = ctypes.create_string_buffer(96)
    check(function(*handle, buffer, 96))
    return buffer.value.decode()
check(nvml.nvmlInit_v2())
count = ctypes.c_uint()
check(nvml.nvmlDeviceGetCount_v2(ctypes.byref(count)))
names = []
for index in range(count.value):
    handle = ctypes.c_void_p()
    check(nvml.nvmlDeviceGetHandleByIndex_v2(index, ctypes.byref(handle)))
    names.append(text(nvml.nvmlDeviceGetName, handle))
print(json.dumps({"driver": text(nvml.nvmlSystemGetDriverVersion), "devices": names}))
"""


def look(around: Surroundings) -> Sequence[Outcome]:
    """Counts the GPUs that the driver's library shows: what `perfscope run` will sample."""
    given = around.environment.get("PERFSCOPE_NVML")
    has_driver = (
        bool(given)
        or Path("/proc/driver/nvidia/version").exists()
        or Path("/dev/nvidiactl").exists()
        or Path("/dev/dxg").exists()  # Windows' driver, below WSL
    )
    # In a process of its own: a driver that hangs or fails must not take this one along.
    done = finish(
        [sys.executable, "-c", _ASK], environment=around.environment, timeout_s=_TIMEOUT_S
    )
    if done.exit_code == 0:
        found = json.loads(done.stdout)
        names = ", ".join(found["devices"]) or "no device"
        summary = (
            f"{len(found['devices'])} GPU(s): {names}; driver {found['driver']}; "
            "perfscope run samples them"
        )
        return [Outcome(_TITLE, State.OK, summary, details=found)]
    error = last_line(done.stderr) or "timed out"
    if not has_driver:
        why = "no NVIDIA driver is loaded; not needed for CPU training"
        fix = "install the NVIDIA driver if the machine has a GPU; check with nvidia-smi"
        return [Outcome(_TITLE, State.NOT_THERE, why, fix, {"error": error})]
    if done.exit_code == _NOT_LOADED:
        why = "a driver is loaded, but its library libnvidia-ml.so.1 was not found"
        fix = "set PERFSCOPE_NVML to its path; in a container: --gpus all, or apptainer --nv"
        return [Outcome(_TITLE, State.WARNING, why, fix, {"error": error})]
    why = f"a driver is loaded, but NVML does not respond: {error}"
    return [
        Outcome(_TITLE, State.WARNING, why, "nvidia-smi (shows what is wrong)", {"error": error})
    ]


CHECK = Check("nvml", look)
