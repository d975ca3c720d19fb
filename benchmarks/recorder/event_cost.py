"""Phases and steps written through ctypes as the agent does; prints ns of CPU time of each."""

import ctypes
import os
import time
from collections.abc import Callable

REPEATS = 20_000
U32, U64, I32 = ctypes.c_uint32, ctypes.c_uint64, ctypes.c_int32

recorder = ctypes.PyDLL(os.environ["PERFSCOPE_RECORDER"])  # as the agent does
recorder.ps_phase_begin.restype = U64
recorder.ps_phase_begin.argtypes = [U32, U32, U32, I32]
recorder.ps_phase_end.argtypes = [U64]
recorder.ps_phase_end.restype = None
recorder.ps_step.argtypes = [U32, I32, U64, U64, U64, U64]
recorder.ps_step.restype = None
recorder.ps_now.restype = U64
assert recorder.ps_open() == 0
begin, end = recorder.ps_phase_begin, recorder.ps_phase_end
step, now = recorder.ps_step, recorder.ps_now


def nothing() -> None:
    """What a call of Python itself costs."""
    for _ in range(REPEATS):
        pass


def phases() -> None:
    """A phase opened and closed."""
    for _ in range(REPEATS):
        end(begin(1, 1, 1, 1))


def steps() -> None:
    """A step that is over."""
    for _ in range(REPEATS):
        step(1, 1, 1, 1, 1, 2)


def clocks() -> None:
    """The clock of the records."""
    for _ in range(REPEATS):
        now()


def ns_each(work: Callable[[], None]) -> float:
    """CPU time of one repetition."""
    before = time.thread_time_ns()
    work()
    return (time.thread_time_ns() - before) / REPEATS


base = ns_each(nothing)
for work in (phases, steps, clocks):
    print(work.__name__, round(ns_each(work) - base, 1))
