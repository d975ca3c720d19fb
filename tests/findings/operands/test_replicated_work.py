"""Work that several ranks do, each of them all of it: what ranks saw at the same moments."""

from collections.abc import Callable
from typing import Any

import pytest

from perfscope.findings.core.finding import Finding
from perfscope.schema.enums import Status
from tests.findings.operands.operand_runs import (
    FILE,
    MAIN,
    OTHER,
    STEPS,
    faults,
    judged,
    operand,
    site,
)

MEETINGS = 20
BUILT_IN = ("matmul", "<built-in>", 0)


def seen(of: Callable[[int], int], **changes: Any) -> dict[str, Any]:
    """The hot line by what a rank saw at each meeting; contents that differ from look to look."""
    rows = [[number, of(number)] for number in range(1, MEETINGS + 1)]
    usual = {"contents": 10, "contents_once": 10, "at_meetings": rows}
    own = changes.pop("operands", [operand(name="frames", contents=10)])
    return site(*own, **{**usual, **changes})


def same(number: int) -> int:
    """What both ranks saw, another at each meeting."""
    return 1000 + number


def ahead(number: int) -> int:
    """What a rank saw that is a step ahead of the other one at three of four meetings."""
    return same(number) if number % 4 == 0 else 2000 + number


def own(number: int) -> int:
    """What one rank alone saw."""
    return 3000 + number


@pytest.mark.parametrize(("other", "part"), [(same, 1.0), (ahead, 0.25)])
def test_work_that_both_ranks_do_would_take_half_of_the_time(
    other: Callable[[int], int], part: float
) -> None:
    """Each rank spends 4 s of 8 s there, and would spend 2 s.

    Where they are seldom seen at the same no more is claimed than that: it may be the rest of the
    time that one is ahead of the other, or that each works on its own.
    """
    (finding,) = faults(seen(same), others=[seen(other)], library=BUILT_IN).values()
    assert finding.id == "replicated_work"
    assert finding.status is Status.FAIL
    assert finding.gain is not None
    assert finding.gain.is_bound
    assert finding.gain_s == pytest.approx(part * 0.05 * STEPS, rel=0.05)
    assert finding.ranks == (0, 1)
    assert [(one.function, one.line) for one in finding.where] == [("whiten", 20)]
    assert "`frames`" in finding.actions[0]


X = {"name": "x", "kind": "tensor", "dtype": "float32", "contents": 10, "requires_grad": True}


def test_ranks_that_learn_from_the_same_batches() -> None:
    batch = [operand(name="x", kind="tensor", dtype="float32", contents=10, requires_grad=True)]
    (finding,) = faults(seen(same, operands=batch), others=[seen(same, operands=batch)]).values()
    assert finding.title.startswith("Both ranks train on the same data")
    assert "DistributedSampler" in finding.actions[0]


def test_a_loss_before_its_backward_pass_is_of_the_batch() -> None:
    """A loop in a script of its own: what it takes beside the loss is not known as a whole."""
    loss = operand(**{**X, "name": "loss", "shape": [], "elements": [1, 1]})
    (finding,) = faults(seen(same, operands=[loss]), others=[seen(same, operands=[loss])]).values()
    assert finding.title.startswith("Both ranks train on the same data")


CALL = {"place": "\x1f".join(map(str, MAIN)), "instruction": 40, "is_innermost": False}
CALLED = [["\x1f".join(map(str, MAIN)), 10]]


def test_what_calls_with_the_same_each_time_says_nothing_against_it() -> None:
    """As a loader, that all batches come from: its contents never change."""
    loss = operand(**{**X, "name": "loss", "shape": [], "elements": [1, 1]})
    one = seen(same, operands=[loss], at_meetings=[[n, same(n)] for n in range(1, 13, 3)])
    calls = seen(lambda _: 7, **CALL, contents=1, contents_once=0)
    (finding,) = faults({**one, "callers": CALLED}, calls, others=[one, calls]).values()
    assert finding.title.startswith("Both ranks train on the same data")


SCALAR = [operand(name="loss", shape=[1], elements=[1, 1], contents=10)]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (seen(own), seen(same)),
        (seen(lambda _: 7), seen(lambda _: 7)),
        (seen(lambda number: number % 3 + 1), seen(lambda number: number * 5 % 7 % 3 + 1)),
        (seen(lambda n: same(n) if n < 3 else own(n)), seen(same)),
        (seen(lambda n: same(n) if n > MEETINGS - 3 else own(n)), seen(same)),
        (seen(same, updated=["frames"]), seen(same, updated=["frames"])),
        (seen(same, operands=SCALAR), seen(same, operands=SCALAR)),
        (seen(same, is_innermost=False), seen(same, is_innermost=False)),
    ],
    ids=[
        *("others", "never another", "one of three by chance", "twice", "seldom"),
        *("a state that is kept", "numbers that were added up", "calls more"),
    ],
)
def test_what_is_no_work_of_all_on_each(one: dict[str, Any], other: dict[str, Any]) -> None:
    finding = judged(one, others=[other])["replicated_work"]
    assert finding.status is Status.PASS


def test_where_other_layers_differ_the_same_input_is_meant() -> None:
    """Layers that are divided among ranks: a product with each rank's part of the weights."""
    norm = seen(same, operands=[operand(**X)])
    mine, other = (seen(part, operands=[operand(**X)], instruction=30) for part in (same, own))
    (finding,) = faults(norm, mine, others=[norm, other]).values()
    assert not finding.title.startswith("Both ranks train on the same data")


def test_scalars_that_were_added_up_count_beside_no_array() -> None:
    """Loss of both ranks, in another line; the arrays of the hot line are those of each rank."""
    loss = {"operands": SCALAR, "instruction": 30, "place": "\x1f".join(map(str, OTHER))}
    one, other = seen(same), seen(own)
    found = judged(one, seen(same, **loss), others=[other, seen(same, **loss)])
    assert found["replicated_work"].status is Status.PASS


def test_a_rank_is_compared_with_others_alone() -> None:
    """Rows of one rank that repeat themselves, as a hostile file may tell."""
    twice = seen(same)
    twice["at_meetings"] = twice["at_meetings"] * 2
    assert judged(twice, others=[seen(own)])["replicated_work"].status is Status.PASS


def test_data_that_each_rank_makes_once_for_itself_are_no_fault() -> None:
    """The first half of the moments alone show the same, those after that none of both."""
    made = seen(same, at_meetings=[[number, same(number)] for number in range(1, 6)])
    rest = site(
        operand(name="x", contents=10),
        instruction=30,
        contents=10,
        at_meetings=[[number, own(number)] for number in range(6, MEETINGS)],
    )
    assert judged(made, rest, others=[made, seen(own)])["replicated_work"].status is Status.PASS


def test_validation_on_the_same_data_is_no_training() -> None:
    """A layer's weights have gradients there as well."""
    weight = operand(name="self.weight", kind="parameter", contents=1, requires_grad=True)
    batch = operand(name="x", kind="tensor", dtype="float32", contents=10)
    both = seen(same, operands=[batch, weight])
    (finding,) = faults(both, others=[both]).values()
    assert finding.title.startswith("Both ranks compute the same in whiten()")


def test_what_changes_too_seldom_is_no_sign() -> None:
    """Two contents that both ranks had at a time, for half of the run each: they may be tables."""
    halves = seen(lambda number: 1 + (number > MEETINGS // 2))
    assert judged(halves, others=[halves])["replicated_work"].status is Status.PASS


@pytest.mark.parametrize("rows", [7, [[1]], [["a", 2]], [[0, 5]], [[1, None]], {"a": 1}])
def test_odd_meetings_tell_nothing(rows: object) -> None:
    one = seen(same, at_meetings=rows)
    assert judged(one, others=[one])["replicated_work"].status is Status.NOT_MEASURED


def test_where_one_rank_alone_looked_nothing_is_said() -> None:
    other = site(operand(name="frames", contents=10), contents=10)
    assert judged(seen(same), others=[other])["replicated_work"].status is Status.NOT_MEASURED


def test_a_function_that_is_called_with_the_same_does_the_same() -> None:
    """Its own instructions were seldom met by both ranks at a time, its call often."""
    hot = seen(same, at_meetings=[[3, same(3)]], callers=CALLED)
    (finding,) = faults(
        hot, seen(same, **CALL), others=[hot, seen(same, **CALL)], library=BUILT_IN
    ).values()
    assert finding.gain_s == pytest.approx(0.05 * STEPS, rel=0.05)
    assert [(one.function, one.line) for one in finding.where] == [("whiten", 20)]
    assert f"called in {MAIN[0]}() (train.py:{MAIN[2]})" in finding.actions[0]


def test_a_function_that_takes_its_part_of_what_it_is_called_with() -> None:
    one, other = (seen(part, callers=CALLED) for part in (same, own))
    call = seen(same, **CALL)
    assert judged(one, call, others=[other, call])["replicated_work"].status is Status.PASS


def called(of: Callable[[int], int], **changes: Any) -> dict[str, Any]:
    """The hot function by what a rank saw it being given at each meeting."""
    rows = [[number, of(number)] for number in range(1, MEETINGS + 1)]
    whole = {"place": f"whiten\x1f{FILE}\x1f18", "callers": CALLED, "outside": 5}
    return site(operand(name="rows", contents=10), **{**whole, "at_meetings": rows, **changes})


def given(
    function: dict[str, Any], other: dict[str, Any] | None = None, **of_call: Any
) -> dict[str, Finding]:
    """A function that works on one item after the other, so that no two ranks are at the same."""
    one, two = (seen(part, callers=CALLED) for part in (same, own))
    call = seen(same, **{**CALL, **of_call})
    both = (function, other or function)
    return judged(two, call, others=[one, call], called=both, library=BUILT_IN)


def test_a_function_of_which_all_is_known_does_the_same_at_whichever_item_it_is() -> None:
    finding = given(called(same))["replicated_work"]
    assert finding.gain_s == pytest.approx(0.05 * STEPS, rel=0.05)
    assert [(one.function, one.line) for one in finding.where] == [("whiten", 20)]
    assert f"called in {MAIN[0]}() (train.py:{MAIN[2]})" in finding.actions[0]
    assert "`frames`" in finding.actions[0]  # as its caller names it


@pytest.mark.parametrize(
    ("function", "other", "call"),
    [
        (called(same, outside=0), None, {}),
        (called(same), called(same, outside=6), {}),
        (called(same, updated=["self.state"]), None, {}),
        (called(same), None, {"fed_back": ["frames"]}),
        (called(own), called(same), {"at_meetings": [[1, same(1)]]}),
    ],
    ids=["unknown", "another table", "a state", "its own results", "others"],
)
def test_a_function_that_may_do_something_else_on_each_rank(
    function: dict[str, Any], other: dict[str, Any] | None, call: dict[str, Any]
) -> None:
    assert given(function, other, **call)["replicated_work"].status is Status.PASS


def test_a_step_that_is_given_its_own_results_keeps_a_state() -> None:
    """Its lines were seen to work on the same as well; they make it anew, and change nothing."""
    hot, call = seen(same, callers=CALLED), seen(same, **CALL, fed_back=["frames"])
    assert judged(hot, call, others=[hot, call])["replicated_work"].status is Status.PASS


def test_instructions_of_one_line_are_not_compared_with_each_other() -> None:
    first, second = (seen(same, instruction=place) for place in (10, 20))
    assert judged(first, others=[second])["replicated_work"].status is Status.NOT_MEASURED


def test_what_a_library_does_as_a_whole_may_be_left_out() -> None:
    """Each rank spends 4 s in the line: half of it where it is divided, all where it is not done.

    A decomposition cannot be divided from outside, and nothing tells that it is one.
    """
    library = ("svd", "/usr/lib/python3/site-packages/numpy/linalg/_linalg.py", 1700)
    (finding,) = faults(seen(same), others=[seen(same)], library=library).values()
    assert finding.gain_s == pytest.approx(0.1 * STEPS, rel=0.05)
    assert "if numpy.svd needs all of `frames` at once" in finding.actions[0]
    assert "own part of `frames`" in finding.actions[0]
    assert "if that is possible, less" in finding.summary
