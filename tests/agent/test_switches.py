"""Which lines of a program the agent tells that switch on what slows everything."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.agent.jobs import RANK_ZERO, Job, run

SCRIPT = '''
"""tracemalloc.start() in words; and sys.setprofile(None)."""
import sys, tracemalloc
sys.path.insert(0, {folder!r})
import tools
def short(): pass
if True:
    def begins(depth=(1,
                      2)):
        # tracemalloc.start() in a comment
        tools.on(5)
        tracemalloc.start(1)
    begins()
tools.off(False)
'''
TOOLS = """
class Kept:
    def on(self, frames):
        import tracemalloc
        tracemalloc.start(frames)
on = Kept().on
def off(tracemalloc=False): pass
"""


def test_the_lines_that_switch_a_mode_on_are_told(job: Callable[..., Job], tmp_path: Path) -> None:
    folder = str(tmp_path)
    (tmp_path / "tools.py").write_text(TOOLS)
    done = job(SCRIPT.format(folder=folder), variables=RANK_ZERO)
    assert (done.exit_code, done.process.metadata["agent_notes"]) == (0, []), done.stderr
    assert done.process.metadata["tracemalloc_frames"] == 5
    told = done.process.metadata["switches"]
    assert list(told) == ["tracemalloc_frames"]
    places = [tuple(one.split("\x1f")) for one in told["tracemalloc_frames"]]
    assert [(name, line) for name, _, line in places] == [("begins", "12"), ("on", "5")]
    assert places[1][1] == f"{folder}/tools.py"


def test_nothing_is_searched_where_no_mode_is_on(job: Callable[..., Job]) -> None:
    done = job("def start(): import tracemalloc; tracemalloc.start()", variables=RANK_ZERO)
    assert done.exit_code == 0, done.stderr
    assert "switches" not in done.process.metadata


def lines(done: Job) -> dict[str, list[int]]:
    """The lines that are told, by the fact of their mode."""
    assert (done.exit_code, done.process.metadata["agent_notes"]) == (0, []), done.stderr
    assert done.stderr == b""
    return {
        fact: [int(one.split("\x1f")[2]) for one in places]
        for fact, places in done.process.metadata["switches"].items()
    }


SET = """
from perfscope_agent import metadata
metadata.framework("torch", anomaly_mode=True, deterministic=True)
metadata.framework("jax", disable_jit=True)
metadata.framework("keras", **{"run_eagerly": True})
"""


def test_options_keywords_attributes_and_defaults_are_lines(job: Callable[..., Job]) -> None:
    script = f"""{SET}
class config: pass
def update(name, value=True, detect_anomaly=True): pass
def use_deterministic_algorithms(mode, warn_only=False): pass
def set_detect_anomaly(mode, check_nan=True): pass
def run(mode):
    set_detect_anomaly(mode, check_nan=False)
update("jax_disable_jit", True)
update("", 1, detect_anomaly=True)
set_detect_anomaly(check_nan=False, mode=True)
use_deterministic_algorithms(1)
config.run_eagerly = True
"""
    assert lines(job(script, variables=RANK_ZERO)) == {
        "anomaly_mode": [8, 12, 14, 15],
        "deterministic": [16],
        "disable_jit": [13],
        "run_eagerly": [17],
    }


def test_what_is_switched_off_or_means_something_else_is_no_line(job: Callable[..., Job]) -> None:
    """Constants that switch off, names of others, a text in a message, a name that is assigned."""
    script = f"""{SET}
import cProfile, sys, logging
metadata.facts.update(profile_function=100, trace_function=100)
class Profile:
    def __init__(self, name): pass
class config: pass
def update(name, value=True, detect_anomaly=False, run_eagerly=None): pass
def set_detect_anomaly(mode, check_nan=True): pass
update("jax_disable_jit", False)
update("", 1, detect_anomaly=False)
update("", 1, run_eagerly=None)
set_detect_anomaly(False)
set_detect_anomaly(check_nan=True, mode=False)
config.run_eagerly = None
user = Profile(name="a")
sys.setprofile(None)
sys.settrace(None)
logging.info("disable_jit", 1)
logging.info("jax_disable_jit", 1)
with open(__file__) as detect_anomaly: pass
"""
    assert lines(job(script, variables=RANK_ZERO)) == {}


def test_a_call_is_known_by_what_its_module_calls_it(job: Callable[..., Job]) -> None:
    script = """
import cProfile as slow, sys
from cProfile import Profile as Slow
from tracemalloc import start as begin
from perfscope_agent import metadata
metadata.facts.update(profile_function=100)
def one(*_): pass
def two(): slow.Profile()
Slow()
begin()
sys.setprofile(one) or sys.setprofile(None)
"""
    told = lines(job(script, variables=RANK_ZERO))
    assert told == {"profile_function": [8, 9, 11], "tracemalloc_frames": [10]}


def test_nothing_is_printed_about_the_text_of_the_program(
    job: Callable[..., Job], tmp_path: Path
) -> None:
    (tmp_path / "tools.py").write_text("import tracemalloc\ntracemalloc.start()\ntext = '\\d'")
    script = f"""
import sys, warnings
sys.path.insert(0, {str(tmp_path)!r})
warnings.simplefilter("ignore")
import tools
warnings.simplefilter("always")
"""
    assert lines(job(script, variables=RANK_ZERO)) == {"tracemalloc_frames": [2]}


def test_of_several_ranks_the_first_one_searches(job: Callable[..., Job]) -> None:
    script = "import tracemalloc; tracemalloc.start()"
    second = job(script, variables={"PMI_RANK": "1", "PMI_SIZE": "2"})
    assert second.exit_code == 0, second.stderr
    assert second.process.metadata["tracemalloc_frames"] == 1
    assert "switches" not in second.process.metadata


def test_files_of_the_standard_library_are_none_of_the_program(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(
        "from perfscope_agent import metadata; metadata.facts.update(profile_function=100)"
    )
    done = run(
        ["-m", "cProfile", "-o", tmp_path / "profile", tmp_path / "train.py"],
        tmp_path / "trace",
        cwd=tmp_path,
        variables=RANK_ZERO,
    )
    assert lines(done) == {}


def test_lines_are_looked_for_when_the_end_of_the_program_is_written(
    job: Callable[..., Job],
) -> None:
    script = """
import json
from perfscope_agent import metadata, switches
def note():
    with open(metadata._path) as written:
        metadata.facts["written_before"] = json.load(written)["program_end_ns"]
    return True
switches.note = note
"""
    told = job(script, variables=RANK_ZERO).process.metadata
    assert told["agent_notes"] == []
    assert told["written_before"] == told["program_end_ns"] > 0


@pytest.mark.parametrize("bound", ["_MOST_BYTES", "_MOST_PARSED"])
def test_no_more_than_so_much_text_is_searched(job: Callable[..., Job], bound: str) -> None:
    script = f"""
import tracemalloc
from perfscope_agent import sources
sources.{bound} = 20
tracemalloc.start()
"""
    assert lines(job(script, variables=RANK_ZERO)) == {}
