"""Seconds by activity: in closed form on built traces, and of a real program."""

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from perfscope.metrics.compute import compute
from perfscope.metrics.host.activities import ActivityRow
from perfscope.readers.recording.reader import open_recording
from perfscope.schema.enums import Activity
from perfscope.trace.model import Trace
from tests.support.environments import Mpi
from tests.support.recording import Recorder
from tests.support.trace_builder import FrameLike, TraceBuilder

PROGRAM = "/home/me/zebra.py"
LOOP = ("<module>", PROGRAM, 90)


def doing(line: int, callee: str) -> list[FrameLike]:
    return [LOOP, ("quux", PROGRAM, line), (callee, "<built-in>", 0)]


NUMERIC, TEXT, GARBAGE, SLEEP = (
    doing(1, "numpy.dot"),
    doing(2, "builtins.str.split"),
    doing(3, "gc.collect"),
    doing(4, "time.sleep"),
)


def seconds(rows: tuple[ActivityRow, ...]) -> dict[tuple[int, Activity, int, bool], float]:
    found: Counter[tuple[int, Activity, int, bool]] = Counter()
    for row in rows:
        found[row.rank, row.activity, row.where.line if row.where else 0, row.is_in_step] += row.ns
    return {key: ns / 1e9 for key, ns in found.items()}


def four_things(*, heard: bool = False) -> Trace:
    """Two ranks; each second from 1 to 9: 0.4 s numeric, 0.3 text, 0.2 collecting, 0.1 sleeping.

    Rank 1 sleeps instead of working on text. Steps are the first half of the time.
    """
    builder = TraceBuilder(2, end_s=10.0)
    for number in (0, 1):
        rank = builder.rank(number).init(1.0).finalize(9.0)
        for second in range(1, 9):
            text = SLEEP if number else TEXT
            plan = [NUMERIC] * 4 + [text] * 3 + [GARBAGE] * 2 + [SLEEP]
            for tenth, stack in enumerate(plan):
                rank.stack(second + tenth / 10 + 0.05, stack)
            if second < 5:
                rank.step(second, second, second + 1.0)
            if heard:
                rank.collection(second + 0.7, second + 0.85, shorter_s=0.01)
    return builder.build()


def test_samples_speak_for_their_time() -> None:
    found = compute(four_things()).activities
    assert found.untold_ns == 0
    assert seconds(found.rows) == pytest.approx(
        {
            **{(rank, Activity.NUMERIC, 1, step): 1.6 for rank in (0, 1) for step in (True, False)},
            **{(0, Activity.TEXT, 2, step): 1.2 for step in (True, False)},
            **{
                (rank, Activity.GARBAGE_COLLECTION, 3, step): 0.8
                for rank in (0, 1)
                for step in (True, False)
            },
            **{(0, Activity.SLEEP, 4, step): 0.4 for step in (True, False)},
            **{(1, Activity.SLEEP, 4, step): 1.6 for step in (True, False)},
        }
    )
    assert {row.calls for row in found.rows if row.activity is Activity.NUMERIC} == {"numpy.dot"}


def test_collections_that_were_measured_count_for_as_long_as_they_took() -> None:
    found = compute(four_things(heard=True)).activities
    told = seconds(found.rows)
    collected = {key: s for key, s in told.items() if key[1] is Activity.GARBAGE_COLLECTION}
    assert collected == pytest.approx(
        {
            (rank, Activity.GARBAGE_COLLECTION, 3, step): 0.6
            for rank in (0, 1)
            for step in (True, False)
        }
    )
    assert sum(told.values()) == pytest.approx(16.0)
    assert [(one.rank, one.long_ns, one.shorter_ns, one.count) for one in found.garbage] == [
        (rank, 1_200_000_000, 80_000_000, None) for rank in (0, 1)
    ]


@pytest.mark.parametrize(
    ("heard", "times"), [(3900, (1_200_000_000, 80_000_000)), (400, (None, None)), (0, (None,) * 2)]
)
def test_time_of_collections_is_unknown_where_few_were_listened_to(
    heard: int, times: tuple[int | None, int | None]
) -> None:
    trace = four_things(heard=heard > 0)
    facts = {"collections": [3900, 90, 10], "heard": heard}
    ranks = [replace(rank, metadata={"garbage_collector": facts}) for rank in trace.ranks]
    found = compute(replace(trace, ranks=ranks)).activities.garbage
    told = [(one.rank, one.long_ns, one.shorter_ns, one.count) for one in found]
    assert told == [(rank, *times, 4000) for rank in (0, 1)]


def test_a_collection_nobody_asked_for_belongs_to_the_line_where_it_began() -> None:
    builder = TraceBuilder(1, end_s=4.0)
    rank = builder.rank(0).init(0.5).finalize(3.5)
    for tenth in range(5, 35):
        rank.stack(tenth / 10 + 0.05, NUMERIC if tenth < 20 else TEXT)
    rank.collection(2.3, 2.8)
    found = seconds(compute(builder.build()).activities.rows)
    assert found == pytest.approx(
        {
            (0, Activity.NUMERIC, 1, False): 1.5,
            (0, Activity.TEXT, 2, False): 1.0,
            (0, Activity.GARBAGE_COLLECTION, 2, False): 0.5,
        }
    )


def test_nothing_is_known_without_samples() -> None:
    builder = TraceBuilder(1, end_s=4.0)
    builder.rank(0).init(0.5).finalize(3.5)
    found = compute(builder.build()).activities
    assert (found.rows, found.garbage) == ((), ())


REAL = """
import gc, json, pickle, sys, time
import numpy as np
from mpi4py import MPI
world = MPI.COMM_WORLD
spent = dict.fromkeys("abcd", 0.0)
junk = [[i] for i in range(100000)]
array = np.random.rand(400, 400)
text = "the quick brown fox " * 100000
def timed(name, action, seconds):
    begin = time.perf_counter()
    while time.perf_counter() - begin < seconds:
        action()
    spent[name] += time.perf_counter() - begin
def a(): gc.collect()
def b(): time.sleep(0.02)
def c(): array @ array
def d(): text.upper()
world.Barrier()
for _ in range(4):
    timed("a", a, 0.4 if world.rank else 0.1)
    timed("b", b, 0.3)
    timed("c", c, 0.3)
    timed("d", d, 0.1 if world.rank else 0.4)
    world.Barrier()
json.dump(spent, open(f"spent{world.rank}.json", "w"))
"""

"""Four things whose names tell nothing; each rank notes what it spent on each."""
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1"}


def test_a_real_program_is_told_by_what_it_did(
    record: Recorder, mpich: Mpi, tmp_path: Path
) -> None:
    (tmp_path / "program.py").write_text(REAL, encoding="utf-8")
    recorded = record(mpich.python_command(2, tmp_path / "program.py"), variables=ONE_THREAD)
    assert recorded.exit_code == 0, recorded.stderr
    found = compute(open_recording(recorded.directory)).activities
    wanted = {
        "a": Activity.GARBAGE_COLLECTION,
        "b": Activity.SLEEP,
        "c": Activity.NUMERIC,
        "d": Activity.TEXT,
    }
    for rank in (0, 1):
        spent = json.loads((tmp_path / f"spent{rank}.json").read_text(encoding="utf-8"))
        told: Counter[Activity] = Counter()
        for row in found.rows:
            if row.rank == rank:
                told[row.activity] += row.ns
        whole = sum(spent.values())
        for name, activity in wanted.items():
            share = spent[name] / whole
            assert told[activity] / 1e9 / whole == pytest.approx(share, abs=0.12), (rank, told)
    for name, activity in wanted.items():
        first = next(row for row in found.rows if row.activity is activity)
        assert first.where is not None
        assert first.where.function == name
