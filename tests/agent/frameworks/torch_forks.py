"""PyTorch programs in jobs of one process, and several in one: forks of one that has loaded it."""

from collections.abc import Mapping
from pathlib import Path

from tests.agent.jobs import Job, Process, run
from tests.support import environments

ALL = """
import atexit, gc, os, runpy, sys, torch
gc.freeze()  # each fork would look through all of it at its end, for a second
for program in sys.argv[1:]:
    if not os.fork():
        runpy.run_path(program)
        atexit._run_exitfuncs()
        os._exit(0)  # PyTorch is not taken to pieces, which takes a fork half a second
    assert os.wait()[1] == 0, program
"""


def ran(
    program: str,
    place: Path,
    *arguments: str | Path,
    variables: Mapping[str, str] | None = None,
) -> Job:
    """A program that has come to a good end."""
    script = place / "program.py"
    script.write_text(program, encoding="utf-8")
    python = environments.environment("torch").python
    job = run([script, *arguments], place / "trace", python=python, variables=variables)
    assert job.exit_code == 0, job.stderr
    return job


def ranks_of(
    programs: Mapping[str, str], place: Path, variables: Mapping[str, str] | None = None
) -> dict[str, Process]:
    """What was written about each program, which computes gradients and so is a rank."""
    for name, text in {"all": ALL, **programs}.items():
        (place / name).write_text(text, encoding="utf-8")
    python = environments.environment("torch").python
    names = ["all", *programs]
    job = run(names, place / "trace", python=python, cwd=place, variables=variables)
    assert job.exit_code == 0, job.stderr
    return dict(zip(programs, job.of_role("rank"), strict=True))
