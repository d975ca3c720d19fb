"""Tracebacks look as they do without the agent."""

from collections.abc import Callable

import pytest

from tests.agent.jobs import Job

WRAPPED = """
import sys
class Framework:
    def run(self, function):
        return function()
if len(sys.argv) > 1:
    from perfscope_agent.frameworks import wrap
    wrap.phase(Framework, "run", 1, "run")
def inner():
    raise KeyError("first")
def outer():
    try:
        Framework().run(inner)
    except KeyError:
        Framework().run(lambda: 1 / 0)
Framework().run(outer)
"""
OWN_HOOK = (
    """
import sys
def hook(kind, value, traceback):
    print("hook", kind.__name__, value)
sys.excepthook = hook
"""
    + WRAPPED
)


@pytest.mark.parametrize("text", [WRAPPED, OWN_HOOK])
def test_wrappers_do_not_show(job: Callable[..., Job], text: str) -> None:
    plain = job(text, recorded=False)
    recorded = job(text, arguments=("wrap",))
    assert plain.exit_code == 1
    assert (recorded.stdout, recorded.stderr) == (plain.stdout, plain.stderr)
    assert [name for name, _ in recorded.process.phases()] == ["run"] * 3
