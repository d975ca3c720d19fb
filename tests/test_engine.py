"""Where the trace engine was not built, jobs are recorded, and what analyzes them says so."""

import subprocess
import sys
from pathlib import Path

from tests.support.environments import REPOSITORY

WITHOUT_ENGINE = """
import sys
sys.modules["perfscope._core"] = None
from perfscope.cli.main import main
sys.argv = ["perfscope", *sys.argv[1:]]
sys.exit(main())
"""

IMPORTED_WITHOUT_ENGINE = """
import importlib, sys
sys.modules["perfscope._core"] = None
for name in sys.argv[1:]:
    importlib.import_module(name)
"""
MODULES = [
    path
    for path in sorted((REPOSITORY / "perfscope").rglob("*.py"))
    if "agent" not in path.parts and not path.name.startswith("__")
]


def analyze(path: Path, output: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", WITHOUT_ENGINE, "analyze", str(path), "--output", str(output)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_what_is_missing_is_said_of_any_input(tmp_path: Path) -> None:
    trace = tmp_path / "trace.json"
    trace.write_text('[{"ph": "X", "name": "a", "pid": 1, "tid": 1, "ts": 1, "dur": 2}]')
    for path in (trace, REPOSITORY / "sample_traces" / "rank_zero_evaluation"):
        done = analyze(path, tmp_path)
        assert done.returncode == 3
        what, why, action = done.stderr.splitlines()
        assert "engine is missing" in what
        assert "headers" in why
        assert "apt-get install python3-dev" in action
    assert not (tmp_path / "analysis.json").exists()


def test_every_module_is_there_to_say_so() -> None:
    """An annotation that names a type of the engine must not ask for it when it is read."""
    names = [".".join(path.relative_to(REPOSITORY).with_suffix("").parts) for path in MODULES]
    done = subprocess.run(
        [sys.executable, "-c", IMPORTED_WITHOUT_ENGINE, *names],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""
    assert done.returncode == 0
