"""py-spy's chrome traces as spans: written by hand in its format, whole and damaged."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from perfscope.readers.recording.stack_events import Decoded, Forest, decode

Stack = list[tuple[str, int]]


class Spy:
    """Writes what py-spy writes: how the stack of each thread number changes between samples."""

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []
        self._stacks: dict[int, Stack] = {}

    def sample(self, at_us: int, stack: Stack, *, pid: int = 1, tid: int = 7) -> Spy:
        before = self._stacks.get(tid, [])
        same = 0
        while same < min(len(before), len(stack)) and before[same] == stack[same]:
            same += 1
        for frame in reversed(before[same:]):
            self._event("E", frame, at_us, pid, tid)
        for frame in stack[same:]:
            self._event("B", frame, at_us, pid, tid)
        self._stacks[tid] = stack
        return self

    def _event(self, phase: str, frame: tuple[str, int], at_us: int, pid: int, tid: int) -> None:
        arguments = {"filename": "a.py", "line": frame[1]}
        event = {"args": arguments, "cat": "py-spy", "name": frame[0], "ph": phase}
        self.events.append(event | {"pid": pid, "tid": tid, "ts": at_us})

    def write(self, path: Path, end_us: int) -> Path:
        for tid, stack in self._stacks.items():
            for frame in reversed(stack):
                self._event("E", frame, end_us, 1, tid)
        path.write_bytes(gzip.compress(json.dumps(self.events).encode()))
        return path


def named(decoded: Decoded, forest: Forest) -> Counter[tuple[int, str]]:
    """Microseconds by process and stack."""
    found: Counter[tuple[int, str]] = Counter()
    for pid, _, begin, end, node in decoded.spans:
        names, place = [], node
        while place > 0:
            names.append(forest.stacks.frames[forest.stacks.places[place]][0])
            place = forest.stacks.parents[place]
        found[pid, ";".join(reversed(names))] += end - begin
    return found


MAIN = ("main", 1)


def test_a_stack_lasts_until_the_next_sample_that_differs(tmp_path: Path) -> None:
    spy = Spy().sample(0, [MAIN, ("a", 2)]).sample(10, [MAIN, ("a", 2)])
    spy.sample(20, [MAIN, ("b", 3), ("c", 4)]).sample(30, [MAIN, ("b", 9)]).sample(45, [MAIN])
    forest = Forest()
    decoded = decode(spy.write(tmp_path / "x.gz", 60), forest)
    assert not decoded.is_damaged
    assert decoded.last_us == 60
    expected = {"main;a": 20, "main;b;c": 10, "main;b": 15, "main": 15}
    assert named(decoded, forest) == {(1, stack): us for stack, us in expected.items()}


def test_a_forked_process_has_its_parents_thread_number_and_its_own_time(tmp_path: Path) -> None:
    """The child runs from 20 to 50 and ends; the parent goes on to 100."""
    spy = Spy().sample(0, [MAIN, ("a", 2)])
    for at in (20, 30, 40, 50):
        spy.sample(at, [MAIN, ("child", 5), ("deep", at)], pid=2)
        spy.sample(at + 1, [MAIN, ("parent", 6)])
    spy.sample(60, [MAIN, ("parent", 7)]).sample(80, [MAIN, ("parent", 8)])
    forest = Forest()
    found = named(decode(spy.write(tmp_path / "x.gz", 100), forest), forest)
    assert found[2, "main;child;deep"] == 31  # until the last sample in which it can have been
    assert found[1, "main;a"] == 21
    assert found[1, "main;parent"] == 79


def test_what_lies_before_the_damage_is_kept(tmp_path: Path) -> None:
    spy = Spy()
    for at in range(0, 4000, 10):
        spy.sample(at, [MAIN, (f"f{at % 70}", at)])
    path = spy.write(tmp_path / "x.gz", 4000)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    forest = Forest()
    decoded = decode(path, forest)
    assert decoded.is_damaged
    assert 100 < decoded.last_us < 4000
    assert sum(named(decoded, forest).values()) == decoded.last_us


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        "[",
        "[1]",
        '[{"ph": "B"}]',
        '[{"ph": "B", "pid": -1, "tid": 1, "ts": 1}]',
        '[{"ph": "B", "pid": 1, "tid": 1, "ts": 1e300}]',
        '[{"ph": "B", "pid": 1, "tid": true, "ts": 1}]',
        "[" * 100_000,
        '[{"ph": "B", "pid": 1, "tid": 1, "ts": 9}, {"ph": "B", "pid": 1, "tid": 1, "ts": 3}]',
    ],
)
def test_what_py_spy_does_not_write_is_damage(tmp_path: Path, text: str) -> None:
    path = tmp_path / "x.gz"
    path.write_bytes(gzip.compress(text.encode()))
    assert decode(path, Forest()).is_damaged
    path.write_bytes(text.encode())
    assert decode(path, Forest()).is_damaged


def test_names_of_any_type_are_taken_or_passed_over(tmp_path: Path) -> None:
    event = {"ph": "B", "pid": 1, "tid": 1, "ts": 0, "name": 5, "args": [1]}
    end = {"ph": "E", "pid": 1, "tid": 1, "ts": 10}
    path = tmp_path / "x.gz"
    path.write_bytes(gzip.compress(json.dumps([event, {"ph": "M"}, end, end, end]).encode()))
    forest = Forest()
    decoded = decode(path, forest)
    assert not decoded.is_damaged
    assert forest.stacks.frames == [("", "", 0)]


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.lists(st.lists(st.sampled_from("abc"), min_size=1, max_size=4), min_size=1, max_size=30))
def test_any_series_of_stacks_comes_back(tmp_path: Path, stacks: list[list[str]]) -> None:
    spy = Spy()
    expected: Counter[tuple[int, str]] = Counter()
    for number, names in enumerate(stacks):
        spy.sample(number * 10, [(name, 1) for name in names])
        expected[1, ";".join(names)] += 10
    forest = Forest()
    decoded = decode(spy.write(tmp_path / "x.gz", len(stacks) * 10), forest)
    assert named(decoded, forest) == expected
