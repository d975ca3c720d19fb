"""A program that gives every phase a name of its own ends as it does unrecorded."""

import subprocess
import sys
from pathlib import Path

from tests.support.recording import job_variables

PROGRAM = """
import perfscope
for number in range(100_000):
    with perfscope.phase(f"phase {number}"):
        pass
print("end")
"""


def test_more_names_than_the_recording_may_hold(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "perfscope", "run", "--quiet", "--max-size", "1M"]
    done = subprocess.run(
        [*command, "--output", str(tmp_path / "run"), "--", sys.executable, "-c", PROGRAM],
        env=job_variables({}),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "end\n"), done.stderr
    kept = [path for path in (tmp_path / "run").rglob("*") if path.is_file()]
    assert (
        sum(path.stat().st_size for path in kept) < 2 << 20
    )  # unbounded, it is several times that
