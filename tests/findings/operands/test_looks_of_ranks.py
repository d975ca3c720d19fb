"""What one rank was seen to work on in a line, others that spend time there work on as well."""

from collections.abc import Mapping
from typing import Any

import pytest

from perfscope.metrics import results
from perfscope.metrics.host import looks
from perfscope.trace.operands import WorkedOn, worked_on
from tests.findings.operands.operand_runs import FILE, HOT, MAIN, OTHER, STEPS, faults, site
from tests.findings.operands.operand_runs import operand as told
from tests.support.trace_builder import TraceBuilder

HALF_S = 0.1 * STEPS
"""Of each step half is spent in the hot line."""

ACROSS = told(name="line", layout="strided", stride=8192, contents=9)
OF_DOUBLES = 7 / 8
"""In one piece, eight of them are in a line of the cache."""


def seen(looks: int, one: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """So many looks at the hot line, in which its operand was another one each time."""
    counts = {"looks": looks, "whole_looks": looks, "contents": looks}
    return site({**one, "looks": looks, "contents": looks}, **{**counts, **changes})


@pytest.mark.parametrize("others", [[], [seen(1, ACROSS)], [seen(2, ACROSS)]])
def test_a_line_is_cured_on_all_ranks(others: list[dict[str, Any]]) -> None:
    """Both ranks spend as much there, so that none waits for the other when it is cured."""
    (finding,) = faults(seen(8, ACROSS), others=others).values()
    assert finding.id == "slow_operands"
    assert finding.ranks == (0, 1)
    assert finding.gain_s == pytest.approx(OF_DOUBLES * HALF_S, rel=0.02)
    looked = [row.value for row in finding.evidence if row.label.startswith("Looked at on")]
    assert looked == ([] if others else ["rank 1"])


def test_a_rank_that_was_seen_to_work_otherwise_stays_as_it_is() -> None:
    """Only rank 1 works across: without that it would wait for rank 0."""
    in_rows = {**ACROSS, "layout": "rows", "stride": 8}
    assert faults(seen(8, ACROSS), others=[seen(2, in_rows)]) == {}
    assert faults(seen(8, ACROSS), others=[seen(8, in_rows)]) == {}


def test_looks_of_ranks_add_up() -> None:
    """Of either two tell too little."""
    (finding,) = faults(seen(2, ACROSS)).values()
    assert finding.id == "slow_operands"
    assert faults(seen(1, ACROSS)) == {}


def same(looks: int, **changes: Any) -> dict[str, Any]:
    """The hot line, whose operand was the same in so many looks."""
    return seen(looks, told(), contents=1, **changes) | {
        "operands": [{**told(), "looks": looks, "contents": 1}]
    }


def test_that_contents_are_the_same_takes_looks_of_one_rank_that_are_compared() -> None:
    """What one look of each rank saw was compared with nothing."""
    assert faults(same(1), others=[same(1)]) == {}
    for mine, others in ((3, []), (3, [same(1)]), (2, [same(2)])):
        (finding,) = faults(same(mine), others=others).values()
        assert finding.id == "repeated_work"
        assert finding.gain_s == pytest.approx(HALF_S, rel=0.02)
    differs = seen(2, told())
    assert faults(same(3), others=[differs]) == {}


def test_a_name_is_of_the_same_kind_in_other_lines_of_its_function() -> None:
    """A single look at a line tells its layout, where others of the function saw the same."""
    place = f"whiten\x1f{FILE}\x1f21"
    elsewhere = seen(7, ACROSS, place=place)
    (finding,) = faults(seen(1, ACROSS), elsewhere, others=[]).values()
    assert finding.gain_s == pytest.approx(OF_DOUBLES * HALF_S, rel=0.02)
    in_rows = {**ACROSS, "layout": "rows", "stride": 8}
    assert faults(seen(1, ACROSS), seen(7, in_rows, place=place), others=[]) == {}


def test_a_name_that_holds_few_zeros_anywhere_is_no_table_of_zeros() -> None:
    """On the other rank, at another line of the function: the ranks run the same program."""
    table = told(name="links", shares={"zero": 0.998})
    filled = {**table, "shares": {"zero": 0.4}, "least_zero": 0.4}
    elsewhere = seen(1, filled, place=f"whiten\x1f{FILE}\x1f21")
    assert set(faults(seen(8, table))) == {"slow_operands"}
    assert faults(seen(8, table), others=[elsewhere]) == {}


def test_the_caller_that_makes_the_view_is_named() -> None:
    """The nearest one whose own arrays lie in rows: what is between passes on what it gets."""
    between, maker = ["\x1f".join(map(str, one)) for one in (OTHER, MAIN)]
    hot = seen(8, ACROSS, callers=[[between, 7], [maker, 1]])
    passes = seen(7, ACROSS, place=between, is_innermost=False, callers=[[maker, 7]])
    owner = seen(8, {**ACROSS, "layout": "rows", "stride": 8}, place=maker, is_innermost=False)
    (finding,) = faults(hot, passes, owner).values()
    assert [(one.function, one.line) for one in finding.where] == [HOT[::2], MAIN[::2]]
    assert "main() (train.py:9)" in finding.actions[1]
    (unknown,) = faults(hot, passes).values()
    assert [one.function for one in unknown.where] == ["whiten"]


def test_what_ranks_tell_together_is_there_once_for_all_of_them() -> None:
    """Twenty lines of which each rank tells one look: no rank has a list of all ranks by itself."""
    lines, number = 20, 12
    one_look = [seen(1, ACROSS, place=f"whiten\x1f{FILE}\x1f{line}") for line in range(lines)]
    builder = TraceBuilder(number, end_s=1.0)
    for rank in range(number):
        builder.rank(rank).set(metadata={"operands": {"sites": one_look}})
    ranks = builder.build().ranks
    told = looks.looks_of({rank.number: worked_on(rank.metadata) for rank in ranks})
    assert [len(own) for own in told] == [lines] * number
    together = {id(one): one for own in told for one in own}
    assert len(together) == lines
    assert all(one.seen_on == tuple(range(number)) for one in together.values())


def test_what_lines_work_on_is_read_once_of_each_rank(monkeypatch: pytest.MonkeyPatch) -> None:
    """Losses and findings share it."""
    read: list[int] = []

    def counted(metadata: Mapping[str, Any]) -> tuple[WorkedOn, ...]:
        read.append(1)
        return worked_on(metadata)

    monkeypatch.setattr(results, "worked_on", counted)
    assert faults(seen(8, ACROSS))
    assert len(read) == 2  # ranks
