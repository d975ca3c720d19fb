"""The agent is loaded from the code that Python keeps of it, and only if that is of its source."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.agent.jobs import AGENT, RANK_ZERO, recording_variables
from tests.support.recording import job_variables

PROGRAM = """
import sys
from perfscope_agent import notes, pace
python_loads = ("perfscope_agent", "perfscope_agent.kept")  # the loader itself
ours = [
    module
    for name, module in sys.modules.items()
    if name.startswith("perfscope_agent") and name not in python_loads
]
kept = [module for module in ours if type(module.__loader__).__name__ == "Kept"]
assert not any(type(finder).__name__ == "Kept" for finder in sys.meta_path)
print(len(kept) == len(ours), len(ours) > 20, getattr(pace, "CHANGED", 0), pace.__file__)
print(type(sys.modules["perfscope_agent.start"].__loader__).__name__, notes.notes)
"""


@pytest.fixture
def agent(tmp_path: Path) -> Path:
    """A copy of the agent whose code Python keeps."""
    place = tmp_path / "agent"
    shutil.copytree(AGENT, place, ignore=shutil.ignore_patterns("__pycache__"))
    said(place)
    return place


def said(agent: Path, *options: str, **variables: str) -> list[str]:
    """What a recorded program says of the agent in a directory."""
    environment = recording_variables(agent.parent / "trace")
    environment.update(RANK_ZERO, **variables, PYTHONPATH=str(agent))
    done = subprocess.run(
        [sys.executable, *options, "-c", PROGRAM],
        env=job_variables(environment),
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
    return done.stdout.split()


def test_all_of_it_is_loaded_so(agent: Path) -> None:
    pace = str(agent / "perfscope_agent" / "pace.py")
    assert said(agent) == ["True", "True", "0", pace, "Kept", "[]"]


def test_what_has_changed_is_loaded_anew(agent: Path) -> None:
    source = agent / "perfscope_agent" / "pace.py"
    source.write_text(source.read_text() + "\nCHANGED = 7\n")
    assert said(agent)[:3] == ["False", "True", "7"]


def test_code_that_was_moved_is_of_its_new_place(agent: Path) -> None:
    """As packages of conda are, which hold the code that was kept where they were built."""
    moved = agent.rename(agent.parent / "elsewhere")
    program = "from perfscope_agent import pace; print(pace.Pace.__init__.__code__.co_filename)"
    environment = recording_variables(moved.parent / "trace")
    environment.update(RANK_ZERO, PYTHONPATH=str(moved))
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, env=job_variables(environment), capture_output=True, check=True)
    assert done.stdout.decode().strip() == str(moved / "perfscope_agent" / "pace.py")


@pytest.mark.parametrize("damage", [b"", b"cut", b"\0" * 400])
def test_damaged_code_is_not_used(agent: Path, damage: bytes) -> None:
    (kept,) = (agent / "perfscope_agent" / "__pycache__").glob("pace.*.pyc")
    whole = kept.read_bytes()
    kept.write_bytes(whole[: len(damage) and 16] + damage)
    environment = recording_variables(agent.parent / "trace")
    environment.update(RANK_ZERO, PYTHONPATH=str(agent))
    command = [sys.executable, "-c", "print('runs')"]
    done = subprocess.run(command, env=job_variables(environment), capture_output=True, check=True)
    assert (done.stdout, done.stderr) == (b"runs\n", b"")


def test_other_ways_of_keeping_code_are_left_to_python(agent: Path) -> None:
    elsewhere = str(agent.parent / "kept")
    assert said(agent, "-O")[4] == "SourceFileLoader"
    assert said(agent, PYTHONPYCACHEPREFIX=elsewhere)[4] == "SourceFileLoader"
