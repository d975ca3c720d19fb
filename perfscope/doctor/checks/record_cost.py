"""What one record costs here, measured through the recorder library itself."""

import json
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from perfscope.doctor.check import Check, Outcome, State, Surroundings
from perfscope.doctor.running import finish, last_line
from perfscope.record.places import recorder_library
from perfscope.units import format_seconds

_TITLE = "Cost of a record"
_TIMEOUT_S = 60.0
_MOST_S = 1e-6  # a record takes 50 to 100 ns; more than this is a slow clock or a slow machine
_CLOCK = Path("/sys/devices/system/clocksource/clocksource0")
# In a process of its own: a recording cannot be taken back. A phase costs what the recording of an
# MPI call does; what a call of C from Python costs, which MPI does not pay, is taken off.
_MEASURE = """
import ctypes, json, sys, time
library = ctypes.PyDLL(sys.argv[1])
assert library.ps_open() == 0
begin, end = library.ps_phase_begin, library.ps_phase_end
begin.restype, end.argtypes = ctypes.c_uint64, [ctypes.c_uint64]
nothing, nothing_else = ctypes.PyDLL(None).labs, ctypes.PyDLL(None).llabs
nothing.restype, nothing_else.argtypes = ctypes.c_uint64, [ctypes.c_uint64]
def cost(first, second, rounds=15, calls=5000):
    best = float("inf")
    for _ in range(rounds):
        began = time.perf_counter()
        for _ in range(calls):
            second(first(12, 0, 0, 0))
        best = min(best, (time.perf_counter() - began) / calls)
    return best
whole, call = cost(begin, end), cost(nothing, nothing_else)
print(json.dumps({"record_s": max(0.0, whole - call), "phase_from_python_s": whole}))
"""


def look(_around: Surroundings) -> Sequence[Outcome]:
    """Writes records into a throw-away file and times them."""
    library = recorder_library()
    if library is None:
        return []  # the check of the recorder says it
    with tempfile.TemporaryDirectory(prefix="perfscope-doctor-") as place:
        environment = {**os.environ, "PERFSCOPE_DIR": place}
        command = [sys.executable, "-I", "-c", _MEASURE, str(library)]
        done = finish(command, environment=environment, timeout_s=_TIMEOUT_S)
    if done.exit_code != 0:
        why = f"could not be measured: {last_line(done.stderr) or 'no time'}"
        fix = "perfscope doctor (on an idle machine)"
        return [Outcome(_TITLE, State.WARNING, why, fix)]
    measured = json.loads(done.stdout)
    record_s = float(measured["record_s"])
    if record_s == 0.0:
        why = "could not be separated from the cost of a Python call: the machine is busy"
        return [Outcome(_TITLE, State.WARNING, why, "perfscope doctor (on an idle machine)")]
    summary = (
        f"{format_seconds(record_s)} per MPI call (with both readings of the clock, "
        f"{_clock_source()}), {format_seconds(measured['phase_from_python_s'])} per phase marked "
        "from Python"
    )
    details = {**measured, "clock": _clock_source()}
    if record_s <= _MOST_S:
        return [Outcome(_TITLE, State.OK, summary, details=details)]
    return [Outcome(_TITLE, State.WARNING, summary, _fix(), details)]


def _clock_source() -> str:
    try:
        return (_CLOCK / "current_clocksource").read_text(encoding="ascii").strip()
    except OSError:
        return "unknown"


def _fix() -> str:
    try:
        available = (_CLOCK / "available_clocksource").read_text(encoding="ascii").split()
    except OSError:
        available = []
    if "tsc" in available and _clock_source() != "tsc":
        return f"as root: echo tsc > {_CLOCK / 'current_clocksource'}"
    return "perfscope doctor (again on an idle machine: other load distorts the measurement)"


CHECK = Check("record_cost", look)
