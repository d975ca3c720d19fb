"""What a recorded process leaves to the one that waits for its end."""

import re
import subprocess
import sys
from pathlib import Path

from tests.agent.jobs import RANK_ZERO, recording_variables
from tests.support.recording import job_variables
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
PROGRAM = """
import subprocess, sys, threading, time
end = time.monotonic() + 1.5
def work():
    while time.monotonic() < end:
        sum(range(1000))
threading.Thread(target=work, name="works").start()
subprocess.run([sys.executable, "-S", "-c", "import time; time.sleep(1)"], check=True)
work()
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
    subprocess.run([sys.executable, "-c", PROGRAM], env=job_variables(variables), check=True)
    opened = [line.split() for line in log.read_text().splitlines()]
    looked = [
        (pid, *found.groups())
        for pid, path in opened
        if (found := re.fullmatch(r"/proc/(\w+)/task/(\d+)/(\w+)", path))
    ]
    others = [(owner, tid, name) for pid, owner, tid, name in looked if tid != pid]
    assert {name for _, _, name in others} >= {"stat", "schedstat", "children"}
    assert {owner == tid for owner, tid, _ in others} == {True}
