"""A program counts its own threads as if it were not recorded: Python 3.12 warns of forks by it."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.recording import record, run_plain
from tests.support.requirements import require_tool

READING = """
#include <stdio.h>
void take(const char *path, char *text, int most)
{
    FILE *stream = fopen64(path, "r");
    text[fread(text, 1, most - 1, stream)] = 0;
    fclose(stream);
}
"""
COUNTING = """
import ctypes, os, sys, threading, time

library = ctypes.CDLL(sys.argv[1])


def read(path):
    text = ctypes.create_string_buffer(4096)
    library.take(path, text, 4096)
    return text.value.decode()


def fields():
    return read(b"/proc/self/stat").rsplit(")", 1)[1].split()


print("alone", fields()[17], len(os.listdir("/proc/self/task")) > 1)
stop = threading.Event()
further = [threading.Thread(target=stop.wait) for _ in range(2)]
for one in further:
    one.start()
print("with two", fields()[17], len(fields()))
stop.set()
print("parent", fields()[1] == str(os.getppid()), "command", read(b"/proc/self/comm").strip() != "")
"""


def read_by(tmp_path: Path, name: str) -> Path:
    """A library of that name that reads files as Python itself does."""
    source, library = tmp_path / "reading.c", tmp_path / f"lib{name}.so"
    source.write_text(READING, encoding="ascii")
    command: list[str | Path] = [
        require_tool("cc"),
        "-w",
        "-D_GNU_SOURCE",
        "-shared",
        "-fPIC",
        source,
        "-o",
        library,
    ]
    subprocess.run(command, check=True)
    return library


@pytest.mark.parametrize("name", ["python_like", "other"])
def test_threads_of_the_recorder_are_not_counted_by_python(tmp_path: Path, name: str) -> None:
    """What others read there is as it is: they may keep the file open and read it again."""
    program = tmp_path / "counting.py"
    program.write_text(COUNTING, encoding="utf-8")
    command = [sys.executable, str(program), str(read_by(tmp_path, name))]
    plain = run_plain(command, cwd=tmp_path)
    told = ["alone 1 False", "with two 3 50", "parent True command True"]
    assert (plain.returncode, plain.stdout.splitlines()) == (0, told)
    job = record(command, cwd=tmp_path, output=tmp_path / "trace")
    lines = job.stdout.splitlines()
    assert (job.exit_code, lines[2]) == (0, told[2])
    if name == "python_like":
        assert lines[:2] == ["alone 1 True", told[1]]
    else:
        assert lines[0] != "alone 1 True"
