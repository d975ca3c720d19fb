"""The processes of a job on this host, as the kernel shows them: recorded or not."""

import os
from collections.abc import Iterator
from pathlib import Path

from perfscope.readers.secrets import redact_command
from perfscope.watch.picture import ProcessNow

PROC = Path("/proc")
MOST = 256
"""A job has a launcher and some processes for each rank."""
MOST_BYTES = 8192
"""Of a command line, cut behind a whole word."""
_STATES = {
    "R": "runs",
    "S": "sleeps",
    "D": "waits for a device or file system",
    "T": "stopped",
    "t": "stopped by a debugger",
    "Z": "has ended",
}
_PARENT, _USER_TICKS, _SYSTEM_TICKS = 1, 11, 12
"""Fields of /proc/PID/stat behind the name of the program: the state is 0."""


def descendants(of: int, *, without: int) -> tuple[ProcessNow, ...]:
    """The processes that a process has started, and those that these have, parents first.

    `without` is one of them that is left out, and what it has started.
    """
    children: dict[int, list[int]] = {}
    fields: dict[int, list[str]] = {}
    for pid, parts in _all():
        fields[pid] = parts
        children.setdefault(int(parts[_PARENT]), []).append(pid)
    found: list[ProcessNow] = []
    next_ones = sorted(children.get(of, ()))
    while next_ones and len(found) < MOST:
        pid = next_ones.pop(0)
        if pid != without:
            found.append(_process(pid, fields[pid]))
            next_ones += sorted(children.get(pid, ()))
    return tuple(found)


def _all() -> Iterator[tuple[int, list[str]]]:
    for place in PROC.iterdir():
        if place.name.isascii() and place.name.isdigit():
            try:
                stat = (place / "stat").read_text(encoding="utf-8", errors="replace")
            except OSError:
                continue  # it is gone
            yield int(place.name), stat.rpartition(")")[2].split()


def _process(pid: int, fields: list[str]) -> ProcessNow:
    ticks = int(fields[_USER_TICKS]) + int(fields[_SYSTEM_TICKS])
    state = fields[0]
    return ProcessNow(
        pid=pid,
        state=_STATES.get(state, state),
        cpu_s=ticks / os.sysconf("SC_CLK_TCK"),
        command=_command(pid),
    )


def _command(pid: int) -> str:
    try:
        with (PROC / str(pid) / "cmdline").open("rb") as stream:
            content = stream.read(MOST_BYTES)
    except OSError:
        return ""
    if len(content) == MOST_BYTES:
        content = content.rpartition(b"\0")[0]
    words = content.rstrip(b"\0").decode("utf-8", "backslashreplace").split("\0")
    program, *arguments = redact_command(words)
    return " ".join([Path(program).name, *arguments])
