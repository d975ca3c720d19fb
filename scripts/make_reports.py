#!/usr/bin/env python3
"""Makes the reports in reports/ from the recordings in sample_traces/: `make reports`.

The interpreter must have perfscope installed. Where a chromium is found, the picture in the README
is taken as well.
"""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PICTURED = "rank_zero_evaluation"


def main() -> int:
    """Analyses every sample trace; 0 when all could be read."""
    traces = sorted(path.parent for path in ROOT.glob("sample_traces/*/run.json"))
    for trace in traces:
        code = report(trace)
        if code != 0:
            return code
    return subprocess.call(
        [
            sys.executable,
            str(ROOT / "scripts" / "screenshot.py"),
            str(ROOT / "reports" / PICTURED / "report.html"),
            str(ROOT / "docs" / "images" / "report.png"),
        ]
    )


def report(trace: Path) -> int:
    """Writes report.html and analysis.json of one recording; returns the exit code."""
    # Paths relative to the checkout: the result names its source, and must not name this machine.
    source = trace.relative_to(ROOT)
    output = Path("reports") / trace.name
    (ROOT / output).mkdir(parents=True, exist_ok=True)
    command = ["-m", "perfscope", "analyze", str(source), "--output", str(output)]
    return subprocess.call([sys.executable, *command], cwd=ROOT)


if __name__ == "__main__":
    sys.exit(main())
