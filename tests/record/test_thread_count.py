"""A program counts its own threads as if it were not recorded: Python 3.12 warns of forks by it."""

import sys
from pathlib import Path

from tests.support.recording import record, run_plain

COUNTING = """
import ctypes, os, sys, threading, time

libc = ctypes.CDLL(None)
libc.fopen64.restype = ctypes.c_void_p
libc.fread.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_void_p]
libc.fclose.argtypes = [ctypes.c_void_p]


def read(path):
    stream = libc.fopen64(path, b"r")
    text = ctypes.create_string_buffer(4096)
    libc.fread(text, 1, 4095, stream)
    libc.fclose(stream)
    return text.value.decode()


def fields():
    return read(b"/proc/self/stat").rsplit(")", 1)[1].split()


until = time.monotonic() + 20
while RECORDED and len(os.listdir("/proc/self/task")) < 3 and time.monotonic() < until:
    time.sleep(0.05)  # the recorder's thread and the agent's
while RECORDED and fields()[17] != "1" and time.monotonic() < until:
    time.sleep(0.05)  # each hides itself when it has started
stop = threading.Event()
further = [threading.Thread(target=stop.wait) for _ in range(2)]
print("alone", fields()[17])
for one in further:
    one.start()
print("with two", fields()[17], len(fields()))
stop.set()
print("parent", fields()[1] == str(os.getppid()), "command", read(b"/proc/self/comm").strip() != "")
"""


def test_threads_of_the_recorder_are_not_counted(tmp_path: Path) -> None:
    told = ["alone 1", "with two 3 50", "parent True command True"]
    for is_recorded in (True, False):
        program = tmp_path / f"counting_{is_recorded}.py"
        program.write_text(COUNTING.replace("RECORDED", str(is_recorded)), encoding="utf-8")
        command = [sys.executable, str(program)]
        if is_recorded:
            job = record(command, cwd=tmp_path, output=tmp_path / "trace")
            assert (job.exit_code, job.stdout.splitlines()) == (0, told)
        else:
            plain = run_plain(command, cwd=tmp_path)
            assert (plain.returncode, plain.stdout.splitlines()) == (0, told)
