"""Where the memory of an analysis is at its peak: `python -m benchmarks.engine.peaks DIR`.

Analyzes a run while the allocator gives back whatever is freed, and prints a Markdown table: of
each stage that the progress on a terminal names, how much memory was in use at most, and behind it,
and the processor time. `--calls N` writes a recording of two ranks and so many calls first.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.engine.recording_trace import write_recording
from perfscope import progress
from perfscope.document.analysis import analysis
from perfscope.metrics.results import Options
from perfscope.readers.registry import open_trace

GIVEN_BACK = {"MALLOC_TRIM_THRESHOLD_": "0", "MALLOC_MMAP_THRESHOLD_": "65536"}
_INSIDE = "PERFSCOPE_PEAKS_INSIDE"
_SELF = Path("/proc/self")


class Peaks:
    """Lines of the table, one for each stage that is over."""

    def __init__(self) -> None:
        self.lines = ["| stage | MB at most | MB behind it | CPU s |", "|---|---|---|---|"]
        self._now, self._began_s = "starting", 0.0

    def stage(self, what: str) -> None:
        """Another stage begins; several of the same name are one."""
        if what == self._now:
            return
        used, most = (_megabytes(name) for name in ("VmRSS", "VmHWM"))
        cpu_s = time.process_time()
        self.lines.append(f"| {self._now} | {most} | {used} | {cpu_s - self._began_s:.2f} |")
        self._now, self._began_s = what, cpu_s
        (_SELF / "clear_refs").write_text("5")  # the peak starts anew


class _Told:
    """Stands where the progress notes what is being done."""

    def __init__(self, peaks: Peaks) -> None:
        self._peaks: Peaks
        object.__setattr__(self, "_peaks", peaks)

    def __setattr__(self, name: str, value: object) -> None:
        if name == "what":
            self._peaks.stage(str(value))
        object.__setattr__(self, name, value)


def _megabytes(name: str) -> int:
    found = re.search(rf"^{name}:\s+(\d+) kB", (_SELF / "status").read_text(), re.MULTILINE)
    return int(found[1]) >> 10 if found else 0


def measure(place: Path) -> list[str]:
    """The table of a run, in this process."""
    peaks = Peaks()
    progress._now = _Told(peaks)  # type: ignore[assignment]
    analysis(open_trace(place), Options())
    peaks.stage("")
    return peaks.lines


def main(arguments: Sequence[str] = ()) -> int:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("place", type=Path, nargs="?", metavar="DIR")
    parser.add_argument("--calls", type=int, default=1_000_000)
    options = parser.parse_args(list(arguments))
    if options.place is not None and _INSIDE in os.environ:
        print("\n".join(measure(options.place)))
        return 0
    with tempfile.TemporaryDirectory() as name:
        place = options.place or Path(name) / "run"
        if options.place is None:
            write_recording(place, 2, options.calls)
        command = [sys.executable, "-m", "benchmarks.engine.peaks", str(place)]
        environment = {**os.environ, **GIVEN_BACK, _INSIDE: "1"}
        return subprocess.run(command, env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
