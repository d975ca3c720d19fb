"""What XPlane and Perfetto files cost: `python -m benchmarks.engine.messages`.

Writes files of one rank with 10^5 and 10^6 events, and runs on each `perfscope analyze
--no-report` from start-up to analysis.json, and the engine's decoder alone. Prints a Markdown
table, and writes the numbers to bench-results/engine-messages.json.
"""

import argparse
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks.engine.message_traces import write_perfetto, write_xplane
from benchmarks.engine.tools import INSIDE, Measured, run_all, table, tell

SIZES = (100_000, 1_000_000)
QUICK_SIZES = (20_000,)
_DECODE = f"""
import sys, time
from pathlib import Path
from perfscope.readers.{{package}}.reader import {{reader}} as read
began = time.process_time()
read(Path(sys.argv[1]){{more}})
print("{INSIDE}%f" % (time.process_time() - began))
"""
FORMATS: dict[str, tuple[str, Callable[[Path, int], None], str]] = {
    "XPlane": (
        "run.xplane.pb",
        write_xplane,
        _DECODE.format(package="xplane", reader="_contents", more=", ()"),
    ),
    "Perfetto": (
        "run.pftrace",
        write_perfetto,
        _DECODE.format(package="perfetto", reader="_contents", more=""),
    ),
}


def main(arguments: Sequence[str] = ()) -> int:
    """Measures, prints the table and writes the numbers."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one small file: does all work?")
    parser.add_argument("--events", type=int, nargs="+", help="sizes instead of the usual ones")
    parser.add_argument("--document", type=Path, metavar="FILE", help="puts the table there")
    options = parser.parse_args(list(arguments))
    rows: list[Measured] = []
    for events in options.events or (QUICK_SIZES if options.quick else SIZES):
        for form, (name, write, decode) in FORMATS.items():
            with tempfile.TemporaryDirectory() as directory:
                path = Path(directory) / name
                write(path, events)
                analyze = [sys.executable, "-m", "perfscope", "analyze", path, "--no-report"]
                commands = {
                    f"{form}: perfscope analyze": [*analyze, "--output", Path(directory) / "out"],
                    f"{form}: read into tables": [sys.executable, "-c", decode, path],
                }
                rows += run_all(commands, events, [path])
    text = table(rows, speed=("MB a second of CPU", lambda row: row.megabytes))
    tell("engine-messages", text, rows, options.document)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
