"""A process with a child and a grandchild that hold memory of their own while it is sampled."""

import ctypes
import os
import subprocess
import sys

from tests.native.recorder.jobs.recorded import PROCESS, TREE, samples, wait_until

HOLD = "held = bytearray(b'x' * ({mib} << 20)); print('ready', flush=True); input()"
CHILD = f"""
import subprocess, sys
grandchild = subprocess.Popen([sys.executable, "-c", {HOLD.format(mib=20)!r}],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE)
grandchild.stdout.readline()
{HOLD.format(mib=30)}
grandchild.communicate(b"\\n")
"""

environment = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
recorder = ctypes.CDLL(os.environ["PERFSCOPE_RECORDER"])
held = bytearray(b"x" * (40 << 20))
pipe = subprocess.PIPE
with subprocess.Popen(
    [sys.executable, "-c", CHILD], stdin=pipe, stdout=pipe, env=environment
) as child:
    assert child.stdout is not None
    child.stdout.readline()
    assert recorder.ps_open() == 0
    recorder.ps_sampler_start()
    wait_until(lambda found: samples(found, TREE) and samples(found, PROCESS))
    child.communicate(b"\n")
