"""One measurement of the replay in a process of its own, so that its peak memory is its own.

`python -m benchmarks.replay.measures '{"program": "exchanging", ...}'` prints what it found as one
line of JSON.
"""

import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from benchmarks.replay import oracle
from benchmarks.replay.programs import collective_windows, collectives, exchanging, program_of
from benchmarks.replay.windows import Window, windowed_lengths
from perfscope import _core

ROOT = Path(__file__).resolve().parents[2]
REPEATS = 5
CUT_EVERY = 10
WINDOW_COLLECTIVES = 100


@dataclass(frozen=True)
class Task:
    """What is measured."""

    program: str  # collectives, exchanging, or long: collectives made and replayed in windows
    what: str  # lengths, build (look at the program and bring it into an order), causes, plain
    ranks: int  # of the program
    count: int  # collectives, or steps of three calls
    threads: int = 1  # of the replay, 0 all cores


@dataclass(frozen=True)
class Found:
    """What one measurement gave: the least of its repeats, and the memory of the process."""

    task: Task
    calls: int
    wall_s: float
    cpu_s: float
    peak_mb: float
    made_mb: float  # of that, before the replay began


def measure(task: Task) -> Found:
    """Measures in a process of its own.

    Raises:
        RuntimeError: it failed; the text holds what it wrote last.
    """
    command = [sys.executable, "-m", "benchmarks.replay.measures", json.dumps(asdict(task))]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{task} failed:\n{done.stderr[-2000:]}")
    return Found(task, **json.loads(done.stdout))


def _peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _cpu_s() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def _timed(work: Callable[[], object], repeats: int) -> tuple[float, float]:
    found = []
    for _ in range(repeats):
        wall, cpu = time.monotonic(), _cpu_s()
        work()
        found.append((time.monotonic() - wall, _cpu_s() - cpu))
    return min(found)


def _causes(engine: _core.Replay, window: Window) -> None:
    rows = len(window.gap_ns)
    engine.critical_path(window.gap_ns, window.transfer_ns)
    engine.delay_cost(
        window.gap_ns,
        window.transfer_ns,
        piece_starts=np.arange(rows + 1),
        ns=window.gap_ns,
        waits_at_end=np.ones(window.cut_rows.shape[1], np.uint8),
        tags=[(np.zeros(rows, np.int32), 2, None)],
    )


def _long(task: Task) -> dict[str, float]:
    calls = task.ranks * task.count
    windows = collective_windows(task.ranks, task.count, at_once=WINDOW_COLLECTIVES)
    before = _peak_mb()
    wall, cpu = _timed(lambda: windowed_lengths(windows, task.threads), 1)
    return {"calls": calls, "wall_s": wall, "cpu_s": cpu, "peak_mb": _peak_mb(), "made_mb": before}


def _run(task: Task) -> dict[str, float]:
    if task.program == "long":
        return _long(task)
    if task.program == "collectives":
        window = collectives(task.ranks, task.count)
    else:
        window = exchanging(task.ranks, task.count, cut_every=CUT_EVERY)
    calls = len(window.gap_ns) - window.cut_rows.shape[1]
    before = _peak_mb()
    if task.what == "plain":
        program = program_of(window)
        wall, cpu = _timed(lambda: oracle.replay(program), 1)
        agree = np.isclose(window.lengths().sum(), oracle.replay(program).length, rtol=1e-12)
        assert agree, "the compiled replay and the plain one differ"
    elif task.what == "build":
        wall, cpu = _timed(lambda: window.engine(task.threads), REPEATS)
    else:
        engine = window.engine(task.threads)
        if task.what == "causes":
            wall, cpu = _timed(lambda: _causes(engine, window), REPEATS)
        else:
            wall, cpu = _timed(lambda: engine.lengths(window.gap_ns, window.transfer_ns), REPEATS)
    return {"calls": calls, "wall_s": wall, "cpu_s": cpu, "peak_mb": _peak_mb(), "made_mb": before}


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0))


if __name__ == "__main__":
    print(json.dumps(_run(Task(**json.loads(sys.argv[1])))))
