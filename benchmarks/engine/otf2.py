"""OTF2 archives against libotf2 and Pipit, here and now: `python -m benchmarks.engine.otf2`.

Writes archives of four ranks with 10^6 and 10^7 events in all (`--large`: also 10^8, 1.2 GB), and
runs on each, from start-up: `perfscope analyze --no-report` up to analysis.json; the engine's
reduction to profile and POP sums alone, on one core and on all; libotf2's readers in C, per
location and global; the `otf2` package in Python (10^6 only); and, with `--pipit CHECKOUT`, Pipit's
flat profile. Prints a Markdown table and writes the numbers to bench-results/engine-otf2.json.

The C programs need libotf2's headers (Debian: libotf2-trace-dev); so does writing the archives.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.engine.tools import INSIDE, Command, Measured, run_all, table, tell

HERE = Path(__file__).resolve().parent
REPEATS = 3
RANKS = 4
OPERATIONS = 800
EVENTS_OF_A_STEP = 18_430  # of all ranks
SIZES = (1_000_000, 10_000_000)
LARGE = 100_000_000
QUICK = (100_000,)
MOST_FOR_PYTHON = 1_000_000
MOST_FOR_PIPIT = 10_000_000

_REDUCE = f"""
import os, sys, time
import numpy as np
from perfscope._core import Otf2Archive
began = time.process_time()
archive = Otf2Archive(os.fsencode(sys.argv[1]))
regions = archive.regions()
roles = np.zeros(len(regions), [("op", "u2"), ("call", "u1"), ("phase", "u1"), ("name", "i4")])
roles["op"] = [region[1].startswith("MPI_") for region in regions]
found = archive.reduce(roles.tobytes(), 0, 0, 0, int(sys.argv[2]))
print(sum(row["events"] for row in found["locations"]))
print("{INSIDE}%f" % (time.process_time() - began))
"""
_PYTHON = """
import sys, otf2
with otf2.reader.open(sys.argv[1]) as trace:
    print(sum(1 for _ in trace.events))
"""
_PIPIT = """
import sys
sys.path.insert(0, sys.argv[2])
import pipit
print(pipit.Trace.from_otf2(sys.argv[1]).flat_profile())
"""


def compile_program(name: str, into: Path) -> Path:
    """Compiles one of the C programs with libotf2.

    Raises:
        RuntimeError: libotf2's headers or a compiler are missing.
    """
    config = shutil.which("otf2-config")
    if config is None:
        raise RuntimeError("otf2-config is missing: apt-get install libotf2-trace-dev")
    flags = subprocess.run(
        [config, "--cflags", "--ldflags", "--libs"], capture_output=True, text=True, check=True
    ).stdout.split()
    program = into / name
    command: Command = [
        os.environ.get("CC", "cc"),
        "-O2",
        "-o",
        program,
        HERE / f"{name}.c",
        *flags,
    ]
    subprocess.run(command, check=True)
    return program


def commands(
    place: Path, anchor: Path, reader: Path, events: int, pipit: Path | None
) -> dict[str, Command]:
    """What is run, by the name that the table shows."""
    python = sys.executable
    cores = len(os.sched_getaffinity(0))
    found: dict[str, Command] = {
        "reduction, 1 core": [python, "-c", _REDUCE, anchor, "1"],
        "perfscope analyze": [
            *(python, "-m", "perfscope", "analyze", anchor, "--no-report"),
            *("--output", place / "results"),
        ],
        f"reduction, {cores} cores": [python, "-c", _REDUCE, anchor, str(cores)],
        "libotf2 in C, per location": [reader, anchor, "local"],
        "libotf2 in C, global": [reader, anchor, "global"],
    }
    if events <= MOST_FOR_PYTHON:
        found["otf2 in Python"] = [python, "-c", _PYTHON, anchor]
    if pipit is not None and events <= MOST_FOR_PIPIT:
        found["Pipit"] = [python, "-c", _PIPIT, anchor.parent, pipit]
    return found


def main(arguments: Sequence[str] = ()) -> int:
    """Measures, prints the table and writes the numbers."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one small archive: does all work?")
    parser.add_argument("--large", action="store_true", help="also 10^8 events")
    parser.add_argument("--pipit", type=Path, help="a checkout of Pipit to measure as well")
    parser.add_argument("--document", type=Path, metavar="FILE", help="also puts the table there")
    options = parser.parse_args(list(arguments))
    sizes = QUICK if options.quick else (*SIZES, LARGE) if options.large else SIZES
    rows: list[Measured] = []
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        writer, reader = (compile_program(n, place) for n in ("write_otf2", "read_otf2"))
        for size in sizes:
            archive = place / f"archive-{size}"
            steps = max(1, size // EVENTS_OF_A_STEP)
            made = subprocess.run(
                [writer, archive, str(RANKS), str(steps), str(OPERATIONS)],
                capture_output=True,
                text=True,
                check=True,
            )
            events = int(made.stdout)
            files = [file for file in archive.rglob("*") if file.is_file()]
            every = commands(place, archive / "traces.otf2", reader, events, options.pipit)
            rows += run_all(every, events, files, repeats=REPEATS)
            shutil.rmtree(archive)
    text = table(rows, speed=("M events a second of CPU", lambda row: row.events / 1e6))
    tell("engine-otf2", text, rows, options.document)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
