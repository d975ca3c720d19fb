"""What a recorded process leaves to the one that waits for its end."""

import re
import subprocess
import sys
from pathlib import Path

from tests.agent.jobs import RANK_ZERO, recording_variables
from tests.support.recording import JOB_TIMEOUT_S, job_variables
from tests.support.requirements import require_tool

TOLD = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int told(const char *name, const char *path, int flags, mode_t mode)
{
    int (*real)(const char *, int, ...) = (int (*)(const char *, int, ...))dlsym(RTLD_NEXT, name);
    char line[256];
    const char *log = getenv("TOLD");
    int found = real(path, flags, mode), error = errno;
    if (log && found >= 0 && strncmp(path, "/proc/", 6) == 0) {
        int file = real(log, O_WRONLY | O_APPEND | O_CREAT, 0644);
        int length = snprintf(line, sizeof line, "%d %s\\n", getpid(), path);
        if (write(file, line, length) != length)
            abort();
        close(file);
    }
    errno = error;
    return found;
}

#define TELLING(name)                                  \\
    int name(const char *path, int flags, ...)         \\
    {                                                  \\
        va_list rest;                                  \\
        va_start(rest, flags);                         \\
        mode_t mode = va_arg(rest, mode_t);            \\
        va_end(rest);                                  \\
        return told(#name, path, flags, mode);         \\
    }

TELLING(open)
TELLING(open64)
"""
FILES = {"stat", "schedstat", "children"}
PROGRAM = """
import os, re, subprocess, sys, threading
wanted, is_over = {*sys.argv[1:]}, False
def seen():  # which files of another thread have been looked up
    lines = [line.split() for line in open(os.environ["TOLD"])]
    found = [(pid, re.fullmatch(r"/proc/\\w+/task/(\\d+)/(\\w+)", path)) for pid, path in lines]
    return {one[2] for pid, one in found if one and one[1] != pid}
def work():
    while not is_over:
        sum(range(1000))
threading.Thread(target=work, name="works").start()
asleep = [sys.executable, "-S", "-c", "import time; time.sleep(100)"]
with subprocess.Popen(asleep) as child:
    while not seen() >= wanted:
        sum(range(100000))
    child.kill()
is_over = True
"""


def test_no_file_of_a_thread_is_looked_up_below_its_process(tmp_path: Path) -> None:
    """The kernel would look through them all, and spin while a thread that ends has no CPU.

    Of a thread that has ended nothing is found, wherever it is looked up, and nothing stays of it.
    """
    source, library, log = tmp_path / "told.c", tmp_path / "told.so", tmp_path / "told"
    source.write_text(TOLD)
    compiler = str(require_tool("cc"))
    subprocess.run([compiler, "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
    variables = recording_variables(tmp_path / "trace")
    variables.update(RANK_ZERO, LD_PRELOAD=f"{variables['LD_PRELOAD']}:{library}", TOLD=str(log))
    command = [sys.executable, "-c", PROGRAM, *FILES]
    subprocess.run(command, env=job_variables(variables), check=True, timeout=JOB_TIMEOUT_S)
    opened = [line.split() for line in log.read_text().splitlines()]
    looked = [
        (pid, *found.groups())
        for pid, path in opened
        if (found := re.fullmatch(r"/proc/(\w+)/task/(\d+)/(\w+)", path))
    ]
    others = [(owner, tid, name) for pid, owner, tid, name in looked if tid != pid]
    assert {name for _, _, name in others} >= FILES
    assert {owner == tid for owner, tid, _ in others} == {True}
