"""Tools as commands: each run once from start-up to its end, and the numbers as a table."""

import json
import os
import re
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.machine import describe, replace_between

ROOT = Path(__file__).resolve().parents[2]
LIMIT_S = 600.0
INSIDE = "CPU seconds inside: "
"""What a command may print before the CPU time of its work alone, without starting."""

Command = list[str | Path]


@dataclass(frozen=True)
class Measured:
    """One tool on one trace."""

    tool: str
    events: int
    megabytes: float
    wall_s: float
    cpu_s: float
    peak_mb: float
    inside_s: float | None = None  # CPU time without starting, where the tool tells it


def measure(tool: str, command: Sequence[str | Path], events: int, files: list[Path]) -> Measured:
    """Runs a command to its end; CPU time and peak memory are those of its process.

    Raises:
        RuntimeError: it failed; the text holds what it wrote last.
    """
    with tempfile.TemporaryFile() as output:
        began = time.monotonic()
        process = subprocess.Popen(
            [str(word) for word in command],
            stdout=output,
            stderr=output,
            cwd=ROOT,
            start_new_session=True,
        )
        stop = threading.Timer(LIMIT_S, os.killpg, (process.pid, signal.SIGKILL))
        stop.start()
        _, status, usage = os.wait4(process.pid, 0)
        stop.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
        wall = time.monotonic() - began
        output.seek(0)
        written = output.read().decode(errors="replace")
        if process.returncode == -signal.SIGKILL and wall >= LIMIT_S:
            tool = f"{tool}, stopped after {LIMIT_S:.0f} s"
        elif process.returncode:
            raise RuntimeError(f"{tool} ended with {process.returncode}:\n{written[-2000:]}")
    inside = re.search(rf"^{INSIDE}(\S+)$", written, re.MULTILINE)
    return Measured(
        tool,
        events,
        sum(file.stat().st_size for file in files) / 1e6,
        wall,
        usage.ru_utime + usage.ru_stime,
        usage.ru_maxrss / 1024,
        None if inside is None else float(inside[1]),
    )


def table(rows: Sequence[Measured], *, speed: tuple[str, Callable[[Measured], float]]) -> str:
    """The numbers in Markdown; the last column has ratios of CPU time to the first tool of a size.

    Args:
        rows: what was measured.
        speed: heading of how much a tool gets done in a second of CPU time, and how much it is.
    """
    first: dict[int, Measured] = {}
    for row in rows:
        first.setdefault(row.events, row)
    lines = [
        f"| events | MB | tool | wall s | CPU s | CPU s inside | peak MB | {speed[0]} | x |",
        "|" + "---|" * 9,
    ]
    for row in rows:
        inside = "" if row.inside_s is None else f"{row.inside_s:.3f}"
        spent = row.cpu_s if row.inside_s is None else row.inside_s
        lines.append(
            f"| {row.events:,} | {row.megabytes:.0f} | {row.tool} | {row.wall_s:.2f} | "
            f"{row.cpu_s:.2f} | {inside} | {row.peak_mb:.0f} | "
            f"{speed[1](row) / max(spent, 1e-9):.0f} | {row.cpu_s / first[row.events].cpu_s:.1f} |"
        )
    return "\n".join(lines)


def run_all(
    commands: dict[str, Command], events: int, files: list[Path], *, repeats: int = 1
) -> list[Measured]:
    """Measures each command, of some repeats the one with the least CPU time."""
    found = []
    for tool, command in commands.items():
        every = [measure(tool, command, events, files) for _ in range(repeats)]
        found.append(min(every, key=lambda one: one.inside_s or one.cpu_s))
        print(f"{events:,} events, {tool}: {found[-1].cpu_s:.2f} s of CPU", flush=True)
    return found


def tell(name: str, text: str, rows: Sequence[Measured], document: Path | None) -> None:
    """Prints a table, writes the numbers, and puts the table into a document."""
    whole = f"{describe()}\n\n{text}"
    print(f"\n{whole}")
    results = ROOT / "bench-results" / f"{name}.json"
    results.parent.mkdir(exist_ok=True)
    results.write_text(json.dumps([asdict(row) for row in rows], indent=1) + "\n", encoding="utf-8")
    if document:
        replace_between(document, f"bench-{name}", whole)
