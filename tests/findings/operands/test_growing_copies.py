"""What grows piece by piece, each of which copies all of it, is told; what does not grow is not."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from perfscope.cli.main import main
from perfscope.findings.core.finding import Finding
from perfscope.schema.enums import Status
from tests.findings.analyzed import analyze_trace
from tests.findings.operands.operand_runs import FILE, HOT, LIBRARY, MAIN, OTHER
from tests.support.recording import Recorder
from tests.support.trace_builder import TraceBuilder

STEPS = 40


def seen(**changes: Any) -> dict[str, Any]:
    """Ten looks at a table that grows from 100 to 1,000 values."""
    usual: dict[str, Any] = {"place": "\x1f".join(map(str, HOT)), "name": "table", "looks": 10}
    state = {"is_innermost": True, "is_read": False, "values": [100, 1000]}
    return {**usual, **state, "grew": 9, "shrank": 0, "since": 0, **changes}


def judged(
    *carried: dict[str, Any], before_s: float = 0.0, others: list[dict[str, Any]] | None = None
) -> Finding:
    """Two ranks whose steps of 0.2 s are half in the hot line, after so long in it before.

    `others` is what rank 0 tells, where that is not what rank 1 does.
    """
    begin_s = 1.0 + before_s
    builder = TraceBuilder(2, end_s=begin_s + 2.0 + 0.2 * STEPS)
    for number in range(2):
        rank = builder.rank(number).init(begin_s).finalize(begin_s + 0.2 * STEPS)
        own = [*carried] if others is None or number else others
        rank.set(metadata={"operands": {"looks": 10, "cpu_ns": 1, "carried": own}})
        for tick in range(int(before_s / 0.1)):
            rank.stack(1.0 + 0.1 * tick, (MAIN, HOT, LIBRARY))
        for step in range(STEPS):
            begin = begin_s + 0.2 * step
            rank.step(step, begin, begin + 0.2)
            is_hot = not before_s
            rank.stack(begin + 0.0001, (MAIN, HOT, LIBRARY) if is_hot else (MAIN, OTHER))
            rank.stack(begin + 0.1, (MAIN, OTHER))
    return analyze_trace(builder.build()).findings["growing_copies"]


def test_the_time_of_the_line_is_what_is_saved_at_most() -> None:
    found = judged(seen())
    assert found.status is Status.FAIL
    assert (
        found.title == "whiten() (train.py:20) copies all of `table` for each piece that is added"
    )
    assert found.gain_s == pytest.approx(0.1 * STEPS, rel=0.02)
    assert "once after the loop" in found.actions[0]
    assert (found.where[0].file, found.where[0].line) == (FILE, 20)
    assert "room" in judged(seen(is_read=True)).actions[0]


def test_what_one_rank_was_seen_to_copy_others_copy_in_the_same_line() -> None:
    """Half of the run is spent there on both: no rank has to wait for the other one."""
    for others in ([], [seen(looks=2, grew=1)]):
        found = judged(seen(), others=others)
        assert found.ranks == (0, 1)
        assert found.gain_s == pytest.approx(0.1 * STEPS, rel=0.02)
    assert judged(seen(), others=[seen(grew=0)]).status is Status.PASS


@pytest.mark.parametrize("is_first", [True, False])
def test_what_does_not_grow_hides_nothing_that_does_on_its_line(is_first: bool) -> None:
    window = seen(name="window", values=[1000, 1000], grew=0, since=9)
    both = (window, seen()) if is_first else (seen(), window)
    found = judged(*both)
    assert found.status is Status.FAIL
    assert "`table`" in found.title
    assert found.gain_s == pytest.approx(0.1 * STEPS, rel=0.02)


@pytest.mark.parametrize(
    "changes",
    [
        {"values": [1000, 1000], "grew": 0, "since": 9},  # a window of fixed length
        {"grew": 3, "since": 6},  # one that is filled first
        {"grew": 5, "shrank": 4},  # it varies
        {"is_innermost": False},  # code of the program does something with it
    ],
)
def test_what_holds_no_more_each_time_is_none(changes: dict[str, Any]) -> None:
    assert judged(seen(**changes)).status is Status.PASS


def test_what_is_put_together_before_the_first_step_is_told_once() -> None:
    found = judged(seen(), before_s=6.0)
    assert found.status.is_fault
    assert found.gain is not None
    assert found.gain.is_once
    assert found.gain_s == pytest.approx(6.0, rel=0.05)
    assert found.gain.share == pytest.approx(6.0 / (6.0 + 0.2 * STEPS), rel=0.1)


PROGRAM = """
import os, threading, time
from perfscope_agent import operands, pace
pace._SHARE = pace.Budget.SHARE = 0.5  # what looks cost on a slow machine keeps none of them away

def is_rare(name, end=time.monotonic() + 60):
    found = list(operands.looker._carried.seen.found.values()) if operands.looker else []
    most = max((one.looks for one in found if one.name == name), default=0)  # of one line
    return most < 12 and time.monotonic() < end

class Data:  # keeps what it holds in a dictionary, as tables of libraries do
    def __init__(self, parts):
        self.parts = parts

class Window:
    rows = bytes(8000000)

def collect(window):
    found = Data({"a": b""})
    while is_rare("found"):
        found = Data({"a": b"".join((found.parts["a"], bytes(200000)))})
        text = window.rows
        window.rows = window.rows[200000:] + bytes(200000)
    return found

def add():
    text, turns = b"", 0
    while is_rare("text"):
        turns += 1
        text = text + bytes(200000)

class Pieces(list):
    def __len__(self):  # no code of the program is run by the sampler's thread
        os._exit(0 if threading.current_thread() is threading.main_thread() else 3)

def pile():
    pieces = Pieces()
    while is_rare("pieces"):
        pieces = Pieces(list.__add__(pieces, [bytes(1000)] * 1000))

def extended(kept):
    kept.append(bytes(1000))
    time.sleep(0.001)
    return kept

def fill():
    kept = []
    while is_rare("kept"):
        kept = extended(kept)

fill()
collect(Window())
add()
pile()
"""


def test_what_an_object_holds_is_seen_to_grow_in_a_real_run(
    record: Recorder, tmp_path: Path
) -> None:
    script = tmp_path / "collecting.py"
    script.write_text(PROGRAM, encoding="utf-8")
    recorded = record([sys.executable, str(script)])
    assert recorded.exit_code == 0, recorded.stderr
    assert main(["analyze", str(recorded.directory)]) == 0
    (told,) = [
        json.loads(path.read_text(encoding="utf-8"))["operands"]["carried"]
        for path in recorded.directory.rglob("*.json")
        if "operands" in path.read_text(encoding="utf-8") and path.name != "analysis.json"
    ]
    by_name = {one["name"]: one for one in sorted(told, key=lambda one: int(one["looks"]))}
    assert by_name["found"]["grew"] >= 3
    assert by_name["found"]["values"][0] < by_name["found"]["values"][1]
    assert by_name["text"]["grew"] >= 3
    assert by_name["pieces"]["grew"] >= 3
    assert by_name["pieces"]["shrank"] == 0
    assert by_name["kept"]["values"][1] > 0
    assert by_name["kept"]["grew"] == 0  # it is the same list all along
    if "window.rows" in by_name:
        assert by_name["window.rows"]["values"] == [8000000, 8000000]
