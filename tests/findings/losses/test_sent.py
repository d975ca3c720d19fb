"""What a pool's thread takes to send data to workers, told apart from a thread that polls."""

import pytest

from perfscope.findings.core.finding import Finding
from perfscope.metrics.results import Options
from perfscope.schema.enums import Activity
from tests.findings.analyzed import analyze_trace
from tests.support.trace_builder import FrameLike, TraceBuilder

SECONDS, SENDER = 20, 77
LIBRARY = "/usr/lib/python3.11"
POOL, CONNECTION = f"{LIBRARY}/multiprocessing/pool.py", f"{LIBRARY}/multiprocessing/connection.py"
HANDS_OUT = ("main", "/home/me/fit.py", 73)
WAITS: tuple[FrameLike, ...] = (
    HANDS_OUT,
    ("Pool.map", POOL, 367),
    ("ApplyResult.wait", POOL, 765),
    ("_thread.lock.acquire", "<built-in>", 0),
    ("futex", "<system-call>", 0),
)
TASKS: tuple[FrameLike, ...] = (
    ("run", f"{LIBRARY}/threading.py", 982),
    ("Pool._handle_tasks", POOL, 540),
)
SENDS = (*TASKS, ("_ConnectionBase.send", CONNECTION, 206), ("Connection._send", CONNECTION, 384))
WRITES = (*SENDS, ("?", "<built-in>", 0))
PICKLES = (
    *SENDS[:3],
    ("ForkingPickler.dumps", f"{LIBRARY}/multiprocessing/reduction.py", 51),
)
RECEIVES = (*TASKS, ("_ConnectionBase.recv", CONNECTION, 250), ("?", "<built-in>", 0))


def told(
    first: tuple[FrameLike, ...],
    other: tuple[FrameLike, ...],
    *,
    cpu_s: float = 8.0,
    focus: str | None = None,
) -> dict[str, Finding]:
    """One process that waits for its pool, of which a thread is in two places by turns."""
    builder = TraceBuilder(1, end_s=float(SECONDS))
    rank = builder.rank(0)
    for tick in range(10 * SECONDS):
        at = tick / 10
        rank.main_sample(at, cpu_s=0.01 * at)
        rank.process_sample(at, cpu_s=at * (0.01 + cpu_s / SECONDS))
        rank.stack(at + 0.05, WAITS)
        rank.stack(at + 0.05, other if tick % 2 else first, tid=SENDER)
    rank.thread("python", tid=SENDER, cpu_s=cpu_s)
    rank.set(metadata={"python_threads": {str(SENDER): "Thread-2 (_handle_tasks)"}})
    return dict(analyze_trace(builder.build(), Options(focus=focus)).findings)


@pytest.mark.parametrize("first", [WRITES, PICKLES])
def test_a_thread_that_pickles_and_writes_sends_and_the_line_that_hands_out_is_named(
    first: tuple[FrameLike, ...],
) -> None:
    findings = told(first, WRITES)
    found = findings[f"lost_to_{Activity.SERIALIZATION.value}"]
    assert found.status.is_fault
    assert found.title.startswith("Sending data to worker processes takes 8.00 s of CPU time")
    assert "initializer" in found.actions[0]
    assert "main() (fit.py:73)" in found.actions[0]
    assert found.gain_s == pytest.approx(8.0, rel=0.01)
    assert not findings["interpreter_lock"].status.is_fault


def test_the_focus_has_its_part_of_what_sending_takes() -> None:
    """The thread has 8 s of CPU time in 20 s: 0.8 s of 2 s."""
    found = told(PICKLES, WRITES, focus="10:12")[f"lost_to_{Activity.SERIALIZATION.value}"]
    assert found.title.startswith("Sending data to worker processes takes 800 ms of CPU time")
    assert found.gain_s == pytest.approx(0.8, rel=0.01)


def test_a_thread_that_sends_half_of_the_time_does_not_mostly_send() -> None:
    rest = (*TASKS, (".__next__", "<built-in>", 0))
    found = told(PICKLES, rest).get(f"lost_to_{Activity.SERIALIZATION.value}")
    assert found is None


@pytest.mark.parametrize(
    ("stack", "cpu_s"), [(RECEIVES, 8.0), (WRITES, 0.1)], ids=["receives", "hardly runs"]
)
def test_what_receives_or_waits_for_room_in_a_pipe_sends_nothing(
    stack: tuple[FrameLike, ...], cpu_s: float
) -> None:
    found = told(stack, stack, cpu_s=cpu_s)
    assert f"lost_to_{Activity.SERIALIZATION.value}" not in found
