"""Analyses that write to one directory at the same time."""

import json
import subprocess
import sys
from pathlib import Path

from tests.support.environments import REPOSITORY
from tests.support.recording import job_variables

SAMPLE = REPOSITORY / "sample_traces" / "daal4py_imbalance"


def test_each_of_three_analyses_leaves_whole_results(tmp_path: Path) -> None:
    results = tmp_path / "results"
    command = [sys.executable, "-m", "perfscope", "analyze", str(SAMPLE), "--output", str(results)]
    running = [
        subprocess.Popen(
            command,
            env=job_variables({}),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(3)
    ]
    errors = [process.communicate(timeout=120)[1] for process in running]
    assert [process.returncode for process in running] == [0, 0, 0], errors
    assert json.loads((results / "analysis.json").read_text())
    assert sorted(path.name for path in results.iterdir()) == ["analysis.json", "report.html"]
