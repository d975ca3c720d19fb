"""Interpreters that a program makes inside its process get no agent, and are not looked into."""

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from tests.agent.jobs import LOOKS, RANK_ZERO, Job

MAKING = """
import sys, threading, time
if sys.version_info >= (3, 13):
    import _interpreters as interpreters
else:
    import _xxsubinterpreters as interpreters
execute = getattr(interpreters, "exec", None) or interpreters.run_string
"""
BUSY = (
    MAKING
    + LOOKS
    + '''
CODE = """
import sys, time
print([name for name in sys.modules if name == "perfscope_agent.stacks"])
sys.stdout.flush()
end = time.monotonic() + 0.2
def f(n):
    return n if n < 2 else f(n - 1) + f(n - 2)
while time.monotonic() < end:
    f(8)
"""
def once():
    made = interpreters.create()
    execute(made, CODE)
    interpreters.destroy(made)
def main():
    for _ in range(3):
        once()
        beside = threading.Thread(target=once)
        beside.start()
        beside.join()
    last = after(5)
    while looks["samples"] < last:
        sum(range(100))
main()
'''
)
ASKING = (
    MAKING
    + """
from perfscope_agent import recorder
rec = recorder.functions()
print(rec.call_alone(dict, None))
made = interpreters.create()
print(rec.call_alone(dict, None))
interpreters.destroy(made)
print(rec.call_alone(dict, None))
"""
)


def pythons() -> list[str]:
    """This Python, and those whose interpreters may have a lock of their own."""
    newer = (shutil.which(f"python3.{minor}") for minor in (12, 13))
    starts = [p for p in newer if p and subprocess.run([p, "-c", ""], check=False).returncode == 0]
    return list(dict.fromkeys([sys.executable, *starts]))


def test_a_program_with_interpreters_ends_as_it_would_have(
    job: Callable[..., Job], tmp_path: Path
) -> None:
    for python in pythons():  # not while tests are collected: each process of them would ask
        place = tmp_path / Path(python).name
        done = job(BUSY, variables=RANK_ZERO, python=python, directory=place)
        assert (done.exit_code, done.stdout) == (0, b"[]\n" * 6), (python, done.stderr)
        assert done.process.metadata["role"] == "rank", python
        seen = {frame[0] for stack in done.process.functions() for frame in stack}
        assert "main" in seen, python


def test_nothing_that_looks_into_all_of_several_is_called(job: Callable[..., Job]) -> None:
    done = job(ASKING, variables=RANK_ZERO)
    assert (done.exit_code, done.stdout) == (0, b"{}\nNone\n{}\n"), done.stderr
