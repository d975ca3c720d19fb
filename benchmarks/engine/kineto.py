"""Kineto traces against HolisticTraceAnalysis, here and now: `python -m benchmarks.engine.kineto`.

Writes traces of two ranks with 10^5, 10^6 and 4x10^6 events in all, and runs on each: `perfscope
analyze --no-report` from start-up to analysis.json; the decoder alone; and, from start-up too,
HolisticTraceAnalysis with its temporal, overlap and idle breakdowns, in the environment `.envs/hta`
(made by `scripts/environments.py hta`). Prints a Markdown table, and writes the numbers to
bench-results/engine-kineto.json.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.engine.kineto_trace import RANKS, write_rank

ROOT = Path(__file__).resolve().parents[2]
LIMIT_S = 600.0
RESULTS = ROOT / "bench-results" / "engine-kineto.json"
SIZES = (100_000, 1_000_000, 4_000_000)
QUICK_SIZES = (20_000,)

_DECODE = """
import sys
from perfscope import _core
for path in sys.argv[1:]:
    file = _core.KinetoFile(path)
    file.read()
    file.finish()
"""
_HTA = """
import sys
from hta.trace_analysis import TraceAnalysis
analysis = TraceAnalysis(trace_files={rank: path for rank, path in enumerate(sys.argv[1:])},
                         trace_dir="")
print(analysis.get_temporal_breakdown(visualize=False))
print(analysis.get_comm_comp_overlap(visualize=False))
for rank in range(len(sys.argv) - 1):
    print(analysis.get_idle_time_breakdown(ranks=[rank], visualize=False))
"""


@dataclass(frozen=True)
class Measured:
    """One tool on one trace."""

    tool: str
    events: int
    megabytes: float
    wall_s: float
    cpu_s: float
    peak_mb: float


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
        if process.returncode == -signal.SIGKILL and wall >= LIMIT_S:
            tool = f"{tool}, stopped after {LIMIT_S:.0f} s"
        elif process.returncode:
            output.seek(0)
            tail = output.read().decode(errors="replace")[-2000:]
            raise RuntimeError(f"{tool} ended with {process.returncode}:\n{tail}")
    return Measured(
        tool,
        events,
        sum(file.stat().st_size for file in files) / 1e6,
        wall,
        usage.ru_utime + usage.ru_stime,
        usage.ru_maxrss / 1024,
    )


def commands(place: Path, files: list[Path], hta: Path | None) -> dict[str, list[str | Path]]:
    """What is run, by the name that the table shows."""
    python = sys.executable
    results = place / "results"
    found: dict[str, list[str | Path]] = {
        "perfscope analyze": [
            *(python, "-m", "perfscope", "analyze", files[0].parent, "--no-report"),
            *("--output", results),
        ],
        "decoder alone": [python, "-c", _DECODE, *files],
    }
    if hta is not None:
        found["HolisticTraceAnalysis"] = [hta, "-c", _HTA, *files]
    return found


def find_hta() -> Path | None:
    """The Python of the environment with HolisticTraceAnalysis, None where there is none."""
    given = os.environ.get("PERFSCOPE_ENV_HTA", str(ROOT / ".envs" / "hta"))
    python = Path(given) / "bin" / "python"
    return python if python.exists() else None


def table(rows: Sequence[Measured]) -> str:
    """The numbers in Markdown; ratios are those of CPU time to `perfscope analyze`."""
    own = {row.events: row for row in rows if row.tool == "perfscope analyze"}
    lines = [
        "| events | MB | tool | wall s | CPU s | peak MB | MB/s of CPU | x perfscope |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        ratio = row.cpu_s / own[row.events].cpu_s if row.events in own else float("nan")
        lines.append(
            f"| {row.events:,} | {row.megabytes:.0f} | {row.tool} | {row.wall_s:.2f} | "
            f"{row.cpu_s:.2f} | {row.peak_mb:.0f} | {row.megabytes / row.cpu_s:.0f} | {ratio:.1f} |"
        )
    return "\n".join(lines)


def main(arguments: Sequence[str] = ()) -> int:
    """Measures, prints the table and writes the numbers."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one small trace: does all work?")
    parser.add_argument("--events", type=int, nargs="+", help="sizes instead of the usual ones")
    options = parser.parse_args(list(arguments))
    sizes = options.events or (QUICK_SIZES if options.quick else SIZES)
    hta = find_hta()
    if hta is None:
        print("HolisticTraceAnalysis is not measured: python3 scripts/environments.py hta")
    rows: list[Measured] = []
    for events in sizes:
        with tempfile.TemporaryDirectory() as name:
            place = Path(name)
            (place / "ranks").mkdir()
            files = [place / "ranks" / f"rank{rank}.json" for rank in range(RANKS)]
            for rank, file in enumerate(files):
                write_rank(file, rank, events // RANKS)
            for tool, command in commands(place, files, hta).items():
                rows.append(measure(tool, command, events, files))
                print(table(rows[-1:]).splitlines()[-1], flush=True)
    print(f"\n{table(rows)}")
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps([asdict(row) for row in rows], indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
