"""perfscope's own recordings, of any size: `python -m benchmarks.engine.recording`.

Writes recordings of 10^5 and 10^6 calls of two ranks, of 64 ranks and of 1,024, with `--large` of
10^7 calls too, and runs `perfscope analyze --no-report` on each from start-up to analysis.json.
Prints a Markdown table, and writes the numbers to bench-results/engine-recording.json.
"""

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.engine.recording_trace import write_recording
from benchmarks.engine.tools import Command, Measured, run_all, tell

Size = tuple[int, int]
"""Ranks, and calls of all of them."""

SIZES: tuple[Size, ...] = ((2, 100_000), (2, 1_000_000), (64, 1_000_000), (1024, 1_000_000))
LARGE: tuple[Size, ...] = ((2, 10_000_000),)
QUICK: tuple[Size, ...] = ((2, 2_000),)


def measure_size(ranks: int, calls: int) -> Measured:
    """The analysis of one recording, written for it."""
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        files = write_recording(place / "run", ranks, calls)
        command: Command = [
            *(sys.executable, "-m", "perfscope", "analyze", place / "run", "--no-report"),
            *("--output", place / "results"),
        ]
        return run_all({f"{ranks:,} ranks": command}, calls, files)[0]


def shown(rows: Sequence[Measured]) -> str:
    """The numbers in Markdown."""
    lines = [
        "| calls | ranks | MB | wall s | CPU s | peak MB | µs of CPU a call | bytes a call |",
        "|" + "---|" * 8,
    ]
    lines += [
        f"| {row.events:,} | {row.tool.removesuffix(' ranks')} | {row.megabytes:.0f} | "
        f"{row.wall_s:.2f} | {row.cpu_s:.2f} | {row.peak_mb:.0f} | "
        f"{row.cpu_s * 1e6 / row.events:.2f} | {row.peak_mb * 1048576 / row.events:.0f} |"
        for row in rows
    ]
    return "\n".join(lines)


def main(arguments: Sequence[str] = ()) -> int:
    """Measures, prints the table and writes the numbers."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one small recording: does all work?")
    parser.add_argument("--large", action="store_true", help="10^7 calls too")
    parser.add_argument("--document", type=Path, metavar="FILE", help="puts the table there")
    options = parser.parse_args(list(arguments))
    sizes = QUICK if options.quick else SIZES + LARGE * options.large
    rows = [measure_size(ranks, calls) for ranks, calls in sizes]
    tell("engine-recording", shown(rows), rows, options.document)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
