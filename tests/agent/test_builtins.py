"""What the agent calls in each step: functions that Python calls without `ctypes`."""

from collections.abc import Callable
from typing import Any

from perfscope.agent.perfscope_agent import recorder
from tests.agent.jobs import RANK_ZERO, Job

TEXT = """
import time
from perfscope_agent import recorder
rec = recorder.current
names = ("now", "phase_begin", "phase_end", "phase", "step")
print({type(getattr(rec, name)).__name__ for name in names})
before_ns = time.monotonic_ns()
now_ns = rec.now()
print(before_ns <= now_ns <= time.monotonic_ns())
one = rec.name("one")
rec.phase_end(rec.phase_begin(12, one, 7, -1))
rec.phase(11, one, -1, 3, now_ns, now_ns + 7)
rec.step(5, 2, 1 << 40, 9, now_ns, now_ns + 11)
for wrong in ((), (1, 2), ("1",), (1.5,)):
    try:
        rec.phase_end(*wrong)
    except TypeError:
        print("refused")
"""


def test_what_they_are_given_is_what_is_written(job: Callable[..., Job]) -> None:
    done = job(TEXT, variables=RANK_ZERO)
    assert done.exit_code == 0, done.stderr
    expected = ["{'builtin_function_or_method'}", "True", *["refused"] * 4]
    assert done.stdout.decode().splitlines() == expected
    (rank,) = done.of_role("rank")
    written = {record.op: record for record in rank.phase_records("one")}
    opened, over = written[12], written[11]
    assert (opened.seq, opened.tag, opened.t0 <= opened.t1) == (7, -1, True)
    assert (over.seq, over.tag, over.t1 - over.t0) == (0xFFFFFFFF, 3, 7)
    (step,) = rank.steps()
    assert (step.seq, step.tag, step.sent, step.received) == (5, 2, 1 << 40, 9)
    assert step.t1 - step.t0 == 11


OTHER = """
from perfscope_agent import recorder
rec, other = recorder.current, object()
print(rec.builtin(b"now", other) is other)
print(rec.phase_end(rec.phase_begin(12, rec.name("one"), 0, 0)))
"""


def test_another_pythons_none_is_not_returned_later(job: Callable[..., Job]) -> None:
    """Of two interpreters' libraries in a process only that is meant which is seen by all."""
    done = job(OTHER, variables=RANK_ZERO)
    assert done.stdout.decode().splitlines() == ["True", "None"], done.stderr


class Unseen:
    """Stands in for the library in a process where functions of Python are not to be seen."""

    def function(self, name: str, _signature: str, *, keeps_lock: bool = True) -> Any:
        def call(*_arguments: object) -> int:
            if name == "ps_builtin":
                raise ValueError("PyObject is NULL")  # as `ctypes` has it
            return 7 if keeps_lock else 0

        return call


def test_they_are_called_by_ctypes_where_python_is_not_to_be_seen() -> None:
    unseen: Any = Unseen()
    assert recorder.Recorder(unseen).now() == 7
