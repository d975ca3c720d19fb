"""Where the trace engine was not built, jobs are recorded, and what analyzes them says so."""

import subprocess
import sys
from pathlib import Path

from perfscope import _core
from perfscope.compiled import digest_of
from perfscope.engine import SOURCES
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


OF_OTHER_SOURCES = """
import sys
from perfscope import _core
_core.sources = "those of yesterday"
from perfscope.cli.main import main
sys.argv = ["perfscope", *sys.argv[1:]]
sys.exit(main())
"""


def analyze(
    path: Path, output: Path, program: str = WITHOUT_ENGINE
) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", program, "analyze", str(path), "--output", str(output)]
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


def test_an_engine_of_other_sources_is_told_and_not_used(tmp_path: Path) -> None:
    trace = REPOSITORY / "sample_traces" / "rank_zero_evaluation"
    done = analyze(trace, tmp_path, OF_OTHER_SOURCES)
    assert done.returncode == 3
    what, why, action = done.stderr.splitlines()
    assert "not that of these sources" in what
    assert "have changed" in why
    assert action.startswith("Compile it again: pip install -e ")
    assert not (tmp_path / "analysis.json").exists()


def test_the_engine_knows_its_sources_as_they_are_here() -> None:
    assert _core.sources == digest_of(SOURCES)


def test_every_change_of_a_source_changes_the_digest(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "a.cpp").write_text("int a;")
    (tmp_path / "a.h").write_text("int b;")
    found = {digest_of(tmp_path)}
    (tmp_path / "readme.txt").write_text("no source")
    assert digest_of(tmp_path) in found
    (tmp_path / "inner" / "a.cpp").write_text("int c;")
    found.add(digest_of(tmp_path))
    (tmp_path / "b.h").write_text("")
    assert digest_of(tmp_path) not in found
    assert len(found) == 2


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
