"""A job that meets the limits of its process gets the same result as without perfscope."""

import json
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.recording import job_variables

PROGRAM = Path(__file__).parents[1] / "programs" / "exhausting.py"
RECORD = [sys.executable, "-m", "perfscope", "run", "--quiet", "--output"]
BLOCK = 512  # what `ulimit -f` counts in


def outcome(shell_limit: str, arguments: list[str], output: Path | None) -> tuple[int, str, str]:
    program = shlex.join([sys.executable, str(PROGRAM), *arguments])
    command = ["sh", "-c", f"{shell_limit} exec {program}"]
    if output is not None:
        command = [*RECORD, str(output), "--", *command]
    done = subprocess.run(
        command,
        env=job_variables({"PERFSCOPE_GPU_HZ": "0"}),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    own = [line for line in done.stderr.splitlines() if not line.startswith("perfscope: ")]
    return done.returncode, done.stdout, "\n".join(own)


@pytest.mark.parametrize(
    ("arguments", "shell_limit"),
    [
        (["files"], ""),
        (["memory"], "ulimit -v 300000;"),
        (["much", "230"], "ulimit -v 300000;"),
        (["processes"], ""),
        (["file size", "100000"], ""),
        (["file size", "0"], ""),
        (["file size", "0"], "ulimit -f 0;"),
    ],
    ids=lambda value: value if isinstance(value, str) else "-".join(value),
)
def test_limits_give_the_same_result(
    arguments: list[str], shell_limit: str, tmp_path: Path
) -> None:
    tmp_path.chmod(0o777)  # one of them becomes another user
    recorded = outcome(shell_limit, arguments, tmp_path / "run")
    assert recorded == outcome(shell_limit, arguments, None)
    assert (recorded[0], recorded[1].splitlines()[-1]) == (5, "end")
    assert json.loads((tmp_path / "run" / "run.json").read_text())["exit_code"] == 5


def cut_modules(cache: Path, output: Path | None) -> set[str]:
    """The modules of which a job leaves a part only in Python's cache."""
    fresh = f"unset PYTHONDONTWRITEBYTECODE; export PYTHONPYCACHEPREFIX={shlex.quote(str(cache))};"
    assert outcome(f"{fresh} ulimit -f 16;", ["much", "1"], output)[0] == 5
    return {path.name for path in cache.rglob("*.pyc") if path.stat().st_size == 16 * BLOCK}


def test_a_file_size_limit_cuts_no_module_that_the_job_does_not_load_itself(tmp_path: Path) -> None:
    plain = cut_modules(tmp_path / "plain", None)
    assert plain  # Python itself keeps what is cut
    assert cut_modules(tmp_path / "recorded", tmp_path / "run") <= plain
