"""Paraver traces made by hand, as Extrae writes them; times in microseconds."""

from collections.abc import Iterable, Sequence
from pathlib import Path


def header(us: int, tasks: Sequence[int], communicators: int = 0) -> str:
    """The first line of a trace of one application; `tasks` are the threads of each."""
    listed = ",".join(f"{threads}:1" for threads in tasks)
    return (
        f"#Paraver (01/02/2024 at 10:00):{us}000_ns:1(8):1:{len(tasks)}({listed}),{communicators}"
    )


def states(task: int, thread: int, *spans: tuple[int, int, int]) -> list[str]:
    """States of a thread (from 1), as (begin, end, state)."""
    return [f"1:1:1:{task}:{thread}:{begin}000:{end}000:{state}" for begin, end, state in spans]


def call(task: int, kind: int, value: int, begin: int, end: int, extra: str = "") -> list[str]:
    """The two events of an MPI call of a task's first thread."""
    where = f"2:1:1:{task}:1"
    return [
        f"{where}:{begin}000:{50000000 + kind}:{value}{extra}",
        f"{where}:{end}000:{50000000 + kind}:0",
    ]


def by_time(lines: Iterable[str]) -> list[str]:
    """Records in the order in which they stand in a trace."""
    return sorted(lines, key=lambda line: int(line.split(":")[5]))


def write(path: Path, first: str, lines: Iterable[str]) -> Path:
    """Writes a trace."""
    path.write_text("\n".join([first, *lines, ""]), encoding="utf-8")
    return path


def barrier_run(tasks: int = 2, us: int = 100) -> list[str]:
    """A run of some tasks in which task 1 works half as long as the others before each barrier."""
    lines = []
    for task in range(1, tasks + 1):
        for start in range(0, us, 20):
            arrives = start + (5 if task == 1 else 10)
            lines += states(task, 1, (start, arrives, 1), (arrives, start + 12, 13))
            lines += states(task, 1, (start + 12, start + 20, 1))
            lines += call(task, 2, 8, arrives, start + 12, ":50100004:1")
        lines.append(f"2:1:1:{task}:1:{us}000:40000001:0")
    return by_time(lines)


def world(tasks: int) -> str:
    """The line of a communicator of all tasks."""
    return f"c:1:1:{tasks}:" + ":".join(str(task + 1) for task in range(tasks))
