"""A process that uses a GPU, as a driver's process list would show it, until enough is recorded."""

import ctypes
import os
import sys
import time
from pathlib import Path

from tests.native.recorder.jobs.recorded import (
    DEVICE,
    DEVICE_PROCESS,
    GPU,
    PROCESS,
    is_sampled,
    samples,
    so_far,
    wait_until,
)

rank, until = int(sys.argv[1]), sys.argv[2]
users = Path(os.environ.get("NVML_MOCK_USERS", os.devnull))
devices = int(os.environ.get("NVML_MOCK_DEVICES", "1"))
instances = int(os.environ.get("NVML_MOCK_MIG", "0"))


def all_users_are_told() -> bool:
    """Whether those of all GPUs are, by whichever rank."""
    told = {one.seq for found in so_far() for one in samples(found, DEVICE_PROCESS)}
    wanted = [int(line.split()[0]) for line in users.read_text().splitlines()]
    return len(wanted) >= int(sys.argv[3]) and told >= {*wanted}


recorder = ctypes.CDLL(os.environ["PERFSCOPE_RECORDER"])
assert recorder.ps_open() == 0
recorder.ps_set_rank(rank, int(sys.argv[3]))
if "NVML_MOCK_USERS" in os.environ:
    with users.open("a") as file:
        file.write(f"{os.getpid()} {rank}\n")
if "JOB_LOADS" in os.environ:
    ctypes.CDLL(os.environ["JOB_LOADS"])
recorder.ps_sampler_start()
if until == "sampled":  # all GPUs several times: they are looked at one after the other
    last = devices + max(0, instances - 1)
    wait_until(lambda found: sum(one.comm == last for one in samples(found, DEVICE)) >= 5)
elif until == "told":  # what GPUs there are, or why none is sampled
    wait_until(lambda found: GPU in found.texts)
elif until == "users":
    wait_until(lambda _: all_users_are_told())
elif until == "alive":
    wait_until(is_sampled(PROCESS, 5))
else:
    time.sleep(float(until))
sys.exit(int(sys.argv[4]) if len(sys.argv) > 4 else 0)
