"""The agent's own threads import nothing: two threads that import may wait for each other."""

import sys
from collections.abc import Callable

import pytest

from tests.agent.jobs import LOOKS, RANK_ZERO, Job

PROGRAM = (
    LOOKS
    + """
import sys, time, _thread
main, seen = _thread.get_ident(), []
def hear(event, arguments):
    if event == "import" and _thread.get_ident() != main:
        seen.append(arguments[0])
sys.addaudithook(hear)
from perfscope_agent import memory_detail, metadata, stacks
stacks.sampler._later_s = 0.0
def AKIAIOSFODNN7EXAMPLE():
    time.sleep(0.02)
    return sum(range(20000))
def wanted():
    windows = memory_detail._watch is None or memory_detail._watch.state["windows"]
    return "children_cpu_s" in metadata.facts and metadata.facts["topology"] and windows
last, end = after(10), time.monotonic() + 60
while not (wanted() and looks["samples"] >= last) and time.monotonic() < end:
    AKIAIOSFODNN7EXAMPLE()
print(bool(wanted()), seen, "re" in sys.modules)
"""
)


def test_they_import_nothing(job: Callable[..., Job]) -> None:
    done = job(PROGRAM, variables=RANK_ZERO)
    assert done.stdout.decode() == "True [] False\n", done.stderr
    assert done.process.metadata["agent_notes"] == []
    functions = {frame[0] for stack in done.process.functions() for frame in stack}
    assert "[redacted]" in functions
    assert "AKIAIOSFODNN7EXAMPLE" not in functions


def test_a_thread_that_looks_at_memory_imports_nothing(job: Callable[..., Job]) -> None:
    detail = {"PERFSCOPE_MEMORY_DETAIL": "0:tracemalloc"}
    ascii_alone = {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}
    done = job(PROGRAM, variables={**RANK_ZERO, **detail, **ascii_alone})
    assert done.stdout.decode() == "True [] True\n", done.stderr  # tracemalloc needs `re`


def test_a_module_that_is_being_imported_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    from perfscope.agent.perfscope_agent import own_threads

    assert own_threads.may_use("a module that nobody has")
    own_threads.enter()
    try:
        assert own_threads.may_use("json")
        monkeypatch.setattr(sys.modules["json"].__spec__, "_initializing", True, raising=False)
        assert not own_threads.may_use("json")
        assert not own_threads.may_use("a module that nobody has")
    finally:
        own_threads.leave()
    assert own_threads.may_use("a module that nobody has")
