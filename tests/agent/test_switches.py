"""Which lines of a program the agent tells that switch on what slows everything."""

from collections.abc import Callable
from pathlib import Path

from tests.agent.jobs import RANK_ZERO, Job

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


def test_options_keywords_and_defaults_are_lines_and_what_is_switched_off_is_none(
    job: Callable[..., Job],
) -> None:
    script = """
from perfscope_agent import metadata
metadata.framework("torch", anomaly_mode=True)
metadata.framework("jax", **{"disable" + "_jit": True})
def update(name, value=True, detect_anomaly=True): pass
def set_detect_anomaly(mode): pass
update("jax_disable_jit", True)
update("", 1, detect_anomaly=True)
update("", 1, detect_anomaly=False)
set_detect_anomaly(False)
with open(__file__) as detect_anomaly: pass
"""
    done = job(script, variables=RANK_ZERO)
    assert (done.exit_code, done.process.metadata["agent_notes"]) == (0, []), done.stderr
    lines = {
        fact: [int(one.split("\x1f")[2]) for one in places]
        for fact, places in done.process.metadata["switches"].items()
    }
    assert lines == {"anomaly_mode": [5, 8], "disable_jit": [7]}
