"""Uses up a resource of the process while it is recorded, goes on working, and ends with code 5."""

from __future__ import annotations

import mmap
import os
import resource
import sys
import threading
import time

import perfscope

MIB = 1 << 20


def work(steps: int) -> None:
    """Steps and phases, and time for the samplers."""
    for number in range(steps):
        with perfscope.step(), perfscope.phase(f"part {number}"):
            pass
    time.sleep(0.25)


def exhaust_files() -> int:
    """Opens all files that it may; the last error."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
    try:
        while True:
            os.open(os.devnull, os.O_RDONLY)
    except OSError as error:
        return error.errno or 0


def exhaust_address_space() -> int:
    """Maps memory until there is no room for another MiB, and works with what is left."""
    pages = []
    try:
        while True:
            pages.append(mmap.mmap(-1, MIB))
    except (OSError, MemoryError):
        work(100)
    return 0


def exhaust_processes() -> int:
    """Starts a thread that may not be started; the error of a fork."""
    if os.getuid() == 0:
        os.setresuid(65534, 65534, 65534)
    resource.setrlimit(resource.RLIMIT_NPROC, (1, 1))
    try:
        threading.Thread(target=print).start()
    except RuntimeError as error:
        sys.stdout.write(f"{error}\n")
    try:
        return os.fork()
    except OSError as error:
        return error.errno or 0


def forbid_large_files() -> int:
    """Lets no file grow."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), int(sys.argv[2])))
    return 0


def map_much() -> int:
    """Maps most of the address space that it was given."""
    mmap.mmap(-1, int(sys.argv[2]) * MIB)
    return 0


work(50)
kinds = {
    "files": exhaust_files,
    "memory": exhaust_address_space,
    "processes": exhaust_processes,
    "file size": forbid_large_files,
    "much": map_much,
}
sys.stdout.write(f"{kinds[sys.argv[1]]()}\n")
work(3_000 if sys.argv[1] == "file size" else 50)
sys.stdout.write("end\n")
sys.exit(5)
