"""The script that tells the peaks of memory by stage sees each stage of an analysis."""

import re
import subprocess
import sys

from tests.support.environments import REPOSITORY

ROW = re.compile(r"\| ([a-z ,]+) \| (\d+) \| (\d+) \| (\d+\.\d\d) \|")


def test_each_stage_has_its_peak_and_what_is_left_behind_it() -> None:
    command = [sys.executable, "-m", "benchmarks.engine.peaks", "--calls", "20000"]
    shown = subprocess.run(
        command, cwd=REPOSITORY, capture_output=True, text=True, check=True, timeout=100
    )
    rows = [ROW.fullmatch(line) for line in shown.stdout.splitlines()[2:]]
    found = {row[1]: (int(row[2]), int(row[3])) for row in rows if row is not None}
    assert len(found) == len(rows)
    assert next(iter(found)) == "starting"
    assert {"reading records", "computing metrics", "replaying the run"} <= found.keys()
    assert all(most >= behind > 0 for most, behind in found.values())
