"""Main threads that wait for the interpreter lock, in closed form, and what is none of that."""

from collections.abc import Sequence

import pytest

from perfscope.findings.core.finding import Finding
from perfscope.schema.common import Place
from perfscope.schema.enums import AwaitedThing, Confidence, Status
from perfscope.schema.findings import Holder
from perfscope.trace.model import Frame
from tests.findings.analyzed import analyze_trace
from tests.support.trace_builder import FrameLike, TraceBuilder

STEPS = 40
OTHER = 77
BURNING = (("run", "/usr/lib/python3/threading.py", 1), ("tally", "/home/me/train.py", 9))
RESTING = (*BURNING, ("wait", "/usr/lib/python3/threading.py", 331))
TRAINING = (("step", "/home/me/train.py", 20),)
AT_A_LOCK = (*TRAINING, ("get", "/usr/lib/python3/queue.py", 171))


def judged(
    *,
    ran: float,
    other_ran: float = 0.5,
    main: tuple[FrameLike, ...] = TRAINING,
    other: tuple[FrameLike, ...] = BURNING,
    queued: float = 0.0,
    other_queued: float = 0.0,
    works_every: int = 1,
    loops: Sequence[object] = (),
    taken: object = None,
) -> Finding:
    """Rank 1 works 0.4 s a step, of which its main thread runs a part; rank 0 needs half of that.

    The exchange takes 0.1 s from when rank 1 has come.
    """
    builder = TraceBuilder(2, end_s=1.0 + 0.5 * STEPS + 1.0)
    for number in range(2):
        rank = builder.rank(number).init(1.0).finalize(1.0 + 0.5 * STEPS)
        for step, begin in rank.steps(STEPS, 0.5):
            work = 0.4 if number else 0.2
            rank.op("MPI_Allreduce", begin + work, begin + 0.5, comm=0, seq=step)
        for tick in range(5 * STEPS + 20):
            at = tick / 10
            cpu = at if number == 0 else at * (0.2 + 0.8 * ran)
            waited = at * 0.8 * queued if number else 0.0
            rank.main_sample(at, cpu_s=cpu, queue_delay_s=waited)
            all_waited = waited + at * other_queued * number
            rank.process_sample(at, cpu_s=cpu + at * other_ran * number, queue_delay_s=all_waited)
            if number and 10 <= tick < 10 + 5 * STEPS:
                rank.stack(at + 0.05, main)
                rank.stack(at + 0.05, RESTING if tick % works_every else other, tid=OTHER)
        ran_s, queued_s = 0.5 * STEPS * other_ran, 0.5 * STEPS * other_queued
        rank.thread("python", tid=OTHER, cpu_s=ran_s, queue_delay_s=queued_s)
        names = {str(OTHER): "tally thread"}
        looks = {} if taken is None else {"lock_looks": {"asked": 100, "taken": taken}}
        rank.set(metadata={"python_threads": names, "loops": list(loops), **looks})
    return analyze_trace(builder.build()).findings["interpreter_lock"]


def test_the_thread_its_line_and_the_seconds() -> None:
    """Rank 1 waits for half of its 0.4 s: without that both ranks work 0.2 s a step."""
    finding = judged(ran=0.5)
    assert finding.status is Status.FAIL
    assert finding.gain_s == pytest.approx(0.2 * STEPS, rel=0.02)
    assert finding.ranks == (1,)
    assert finding.where == (Frame("tally", "/home/me/train.py", 9),)
    assert 'Thread "tally thread" of rank 1' in finding.title
    place = Place("/home/me/train.py", 9, "tally")
    assert finding.holder == Holder(AwaitedThing.INTERPRETER, 1, "tally thread", place, None)


def test_a_thread_that_runs_most_of_the_time_does_not_rest_though_it_is_seen_to() -> None:
    """It gives the lock back in each short turn, and can be looked at only then."""
    finding = judged(ran=0.5, other_ran=0.9, other=RESTING)
    assert finding.gain_s == pytest.approx(0.2 * STEPS, rel=0.02)
    assert finding.where == (Frame("tally", "/home/me/train.py", 9),)
    in_kernel = (*RESTING, ("futex", "<system-call>", 0))
    assert judged(ran=0.5, other_ran=0.9, other=in_kernel).status is Status.PASS


def test_a_thread_cannot_keep_it_for_longer_than_it_wants_to_run() -> None:
    assert judged(ran=0.5, other_ran=0.1).gain_s == pytest.approx(0.1 * 0.5 * STEPS, rel=0.05)


def test_a_thread_that_polls_keeps_it_for_no_longer_than_it_runs() -> None:
    """What its main thread waits for beyond that, it waits for elsewhere: threads of a library."""
    polling = judged(ran=0.5, other_ran=0.3, other_queued=0.3, other=RESTING)
    assert polling.gain_s == pytest.approx(0.3 * 0.5 * STEPS, rel=0.05)
    burning = judged(ran=0.5, other_ran=0.3, other_queued=0.3)
    assert burning.gain_s == pytest.approx(0.2 * STEPS, rel=0.02)


def test_a_thread_that_is_looked_at_while_it_rests_is_told_by_a_few_samples_of_its_work() -> None:
    """Whoever looks needs the lock, too, and gets it where the other thread lets go of it."""
    finding = judged(ran=0.5, works_every=40)
    assert finding.gain_s == pytest.approx(0.2 * STEPS, rel=0.02)
    assert finding.where == (Frame("tally", "/home/me/train.py", 9),)


@pytest.mark.parametrize(
    ("taken", "status"),
    [(2, Status.PASS), (24, Status.PASS), (26, Status.FAIL), ("?", Status.FAIL)],
)
def test_a_thread_keeps_the_lock_that_is_found_taken_while_it_runs(
    taken: object, status: Status
) -> None:
    """It runs half of the time, and so it would have the lock half of the time in Python code.

    What else the main thread waits for, such as CPUs, is not told as waiting for it.
    """
    assert judged(ran=0.5, queued=0.2, taken=taken).status is status


@pytest.mark.parametrize("call", ["Comm.Recv", "Comm.recv", "Request.wait"])
def test_a_thread_in_a_call_of_mpi_keeps_no_lock(call: str) -> None:
    """It gives the lock back for the time of the call, polls there or waits for a CPU."""
    receiving = (*BURNING, (f"mpi4py.MPI.{call}", "<built-in>", 0))
    assert judged(ran=0.5, other=receiving).status is Status.PASS
    assert judged(ran=0.5, other_ran=0.9, other=receiving).status is Status.PASS


def test_what_it_takes_of_the_cpus_is_its_price_as_well() -> None:
    alone, both = judged(ran=0.5, other_ran=0.9), judged(ran=0.3, other_ran=0.9, queued=0.2)
    assert both.gain_s == pytest.approx(alone.gain_s, rel=0.02)
    assert "and for CPUs" not in alone.title


def test_a_thread_that_polls_costs_the_cpus_that_it_takes() -> None:
    """It waits for the lock half of the time, the main thread for CPUs alone, and never for it."""
    finding = judged(ran=0.6, other_ran=0.4, other=RESTING, queued=0.4)
    assert finding.status is Status.FAIL
    assert finding.where == (Frame("tally", "/home/me/train.py", 9),)
    assert "instead of polling" in finding.actions[0]


def test_what_was_not_looked_at_is_not_called_sure() -> None:
    assert judged(ran=0.5, other_ran=0.2, other=RESTING).confidence is Confidence.LOW


@pytest.mark.parametrize("kind", ["runs", "waits for a CPU", "asked to wait", "other one rests"])
def test_what_is_no_waiting_for_it(kind: str) -> None:
    found = {
        "runs": lambda: judged(ran=1.0),
        "waits for a CPU": lambda: judged(ran=0.5, queued=0.5),
        "asked to wait": lambda: judged(ran=0.5, main=AT_A_LOCK),
        "other one rests": lambda: judged(ran=0.5, other_ran=0.2, other=RESTING),
    }[kind]()
    assert found.status is Status.PASS


def test_a_thread_that_polls_in_python_shall_block() -> None:
    file = BURNING[-1][1]
    loops = [{"place": f"tally\x1f{file}\x1f5", "lines": [[8, 12], [9, 9]], "polls": [[9, 9]]}]
    finding = judged(ran=0.5, loops=loops)
    assert finding.gain_s == pytest.approx(0.2 * STEPS, rel=0.02)
    assert "polls in tally()" in finding.title
    assert "block" in finding.actions[0]
    assert finding.where == (Frame("tally", file, 9),)
