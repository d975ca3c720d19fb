"""Lists that are searched from the start: named with their length, and short ones are not."""

from pathlib import Path
from typing import Any

import pytest

from perfscope.findings.core.finding import Finding
from perfscope.schema.enums import Confidence, Status
from tests.findings.analyzed import analyze_trace
from tests.findings.operands.operand_runs import FILE, HOT, MAIN, OTHER
from tests.support import environments
from tests.support.recording import record_and_analyze
from tests.support.trace_builder import TraceBuilder

STEPS = 40
CONTAINS = ("builtins.list.__contains__", "<built-in>", 0)
SORT = ("builtins.list.sort", "<built-in>", 0)
INNER = ("hash_of", "/home/me/train.py", 70)


def seen(**changes: Any) -> dict[str, Any]:
    """Ten looks at a list of 500 items, in a line of 8 instructions."""
    usual: dict[str, Any] = {"place": "\x1f".join(map(str, HOT)), "name": "played", "looks": 10}
    state = {
        "how": "in",
        "kind": "list",
        "asked": 10,
        "length": 500.0,
        "most": 500,
        "instructions": 8,
    }
    return {**usual, **state, **changes}


def judged(told: Any, *behind: tuple[str, str, int], others: Any = None) -> Finding:
    """Two ranks whose steps of 0.2 s are half in the hot line; `others` is what rank 0 tells."""
    builder = TraceBuilder(2, end_s=3.0 + 0.2 * STEPS)
    for number in range(2):
        rank = builder.rank(number).init(1.0).finalize(1.0 + 0.2 * STEPS)
        own = told if others is None or number else others
        rank.set(metadata={"operands": {"looks": 10, "cpu_ns": 1, "searched": own}})
        for _step, begin in rank.steps(STEPS, 0.2):
            rank.stack(begin + 0.0001, (MAIN, HOT, *behind))
            rank.stack(begin + 0.1, (MAIN, OTHER))
    return analyze_trace(builder.build()).findings["searched_lists"]


def test_the_time_in_the_list_s_own_function_is_what_is_saved_at_most() -> None:
    found = judged([seen()], CONTAINS)
    assert found.status is Status.FAIL
    assert found.title == "whiten() (train.py:20) searches `played`, a list of 500"
    assert found.gain_s == pytest.approx(0.1 * STEPS, rel=0.02)
    assert "`played` a set" in found.actions[0]
    assert (found.where[0].file, found.where[0].line) == (FILE, 20)
    assert (found.confidence, found.is_inferred) == (Confidence.HIGH, False)


def test_of_a_line_that_calls_nothing_it_is_the_part_that_goes_through_the_list() -> None:
    """Half of 500 items are met on average, beside 8 instructions: 250 of 258."""
    found = judged([seen()])
    assert found.gain_s == pytest.approx(0.1 * STEPS * 250 / 258, rel=0.02)
    assert (found.confidence, found.is_inferred) == (Confidence.MEDIUM, True)


@pytest.mark.parametrize("others", [[], [seen(looks=3, asked=3)]])
def test_what_one_rank_was_seen_to_search_others_search_in_the_same_line(others: Any) -> None:
    assert judged([seen()], CONTAINS, others=others).ranks == (0, 1)


def test_what_is_first_in_a_list_moves_all_others() -> None:
    found = judged([seen(how="shift", length=9000.0, most=9000)])
    assert "shifts every other element of `played`, a list of 9,000" in found.title
    assert "deque" in found.actions[0]


@pytest.mark.parametrize(
    "told",
    [
        [],
        [seen(length=3.0, most=3)],  # as long as in a set
        [seen(how="shift", length=20.0, most=20)],
        [seen(how="shift", kind="deque")],
        [seen(how="guess")],
        [seen(length="long")],
        [seen(asked=30)],  # a set in most of the looks
        [None],
        "played",
    ],
)
def test_short_lists_and_odd_records_are_none(told: Any) -> None:
    found = judged(told, CONTAINS, others=[seen(length=3.0, most=3)])
    assert found.status is Status.PASS


def test_a_length_that_no_number_holds_is_no_more_than_the_most() -> None:
    assert judged([seen(length=10**400)], CONTAINS).status is Status.FAIL


@pytest.mark.parametrize("behind", [INNER, SORT])
def test_what_the_line_calls_beside_it_is_not_counted(behind: tuple[str, str, int]) -> None:
    assert judged([seen()], behind).status is Status.PASS


@pytest.mark.parametrize(
    ("how", "title", "action"),
    [
        ("index", "searches `played`", "a dictionary from each value to its place"),
        ("count", "goes through all of `played`", "collections.Counter"),
        ("remove", "searches, and closes the gap in, `played`", "del played[x]"),
    ],
)
def test_what_helps_is_told_by_what_is_done(how: str, title: str, action: str) -> None:
    found = judged([seen(how=how)], (f"builtins.list.{how}", "<built-in>", 0))
    assert title in found.title
    assert action in found.actions[0]


def test_recordings_in_which_nobody_looked_are_not_judged() -> None:
    builder = TraceBuilder(1, end_s=9.0)
    rank = builder.rank(0).init(1.0).finalize(8.0)
    rank.set(metadata={"operands": {"looks": 10, "cpu_ns": 1, "sites": []}})
    assert "searched_lists" not in analyze_trace(builder.build()).findings


PROGRAM = """
import random
from mpi4py import MPI
from perfscope_agent import pace
pace._SHARE = pace.Budget.SHARE = 0.5
comm = MPI.COMM_WORLD
rng = random.Random(comm.rank)
history = [rng.sample(range(20000), 3000) for _ in range(8)]
known = set(range(3000))

def draw(user, count):
    played, found = history[user], []
    while len(found) < count:
        track = rng.randrange(20000)
        if track not in played:
            found.append(track)
    return found

def draw_from_set(count):
    found = []
    while len(found) < count:
        track = rng.randrange(20000)
        if track not in known:
            found.append(track)
    return found

for step in range(40):
    draw(step % 8, 800)
    draw_from_set(2000)
    comm.allreduce(1)
"""


def test_a_list_that_a_program_searches(tmp_path: Path) -> None:
    """The set beside it, of as many items and asked more often, takes no time and is not named."""
    script = tmp_path / "sampling.py"
    script.write_text(PROGRAM, encoding="utf-8")
    mpi = environments.mpi("mpich")
    words = mpi.python_command(2, script)
    _, document = record_and_analyze(words, place=tmp_path, variables=mpi.variables)
    (finding,) = [one for one in document["findings"] if one["id"] == "searched_lists"]
    assert finding["status"] in {"fail", "warn"}
    assert finding["title"] == "draw() (sampling.py:15) searches `played`, a list of 3,000"
    loud = {one["id"] for one in document["findings"] if one["status"] in {"fail", "warn"}}
    assert "lost_to_interpreter" not in loud
