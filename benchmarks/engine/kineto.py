"""Kineto traces against HolisticTraceAnalysis, here and now: `python -m benchmarks.engine.kineto`.

Writes traces of two ranks with 10^5, 10^6 and 4x10^6 events in all, and runs on each: `perfscope
analyze --no-report` from start-up to analysis.json; the decoder alone; and, from start-up too,
HolisticTraceAnalysis with its temporal, overlap and idle breakdowns, in the environment `.envs/hta`
(made by `scripts/environments.py hta`). Prints a Markdown table, and writes the numbers to
bench-results/engine-kineto.json.
"""

import argparse
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.engine.kineto_trace import RANKS, write_rank
from benchmarks.engine.tools import INSIDE, ROOT, Command, Measured, run_all, table, tell

SIZES = (100_000, 1_000_000, 4_000_000)
QUICK_SIZES = (20_000,)

_DECODE = f"""
import sys, time
from perfscope import _core
began = time.process_time()
for path in sys.argv[1:]:
    file = _core.KinetoFile(path)
    file.read()
    file.finish()
print("{INSIDE}%f" % (time.process_time() - began))
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


def commands(place: Path, files: list[Path], hta: Path | None) -> dict[str, Command]:
    """What is run, by the name that the table shows."""
    python = sys.executable
    results = place / "results"
    found: dict[str, Command] = {
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


def main(arguments: Sequence[str] = ()) -> int:
    """Measures, prints the table and writes the numbers."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one small trace: does all work?")
    parser.add_argument("--events", type=int, nargs="+", help="sizes instead of the usual ones")
    parser.add_argument("--document", type=Path, metavar="FILE", help="puts the table there")
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
            rows += run_all(commands(place, files, hta), events, files)
    text = table(rows, speed=("MB a second of CPU", lambda row: row.megabytes))
    tell("engine-kineto", text, rows, options.document if hta else None)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
