"""Where a finding is: the line to open, and for what others wait."""

from typing import Any

import pytest

from perfscope.report.sections.where import line_of, who
from perfscope.schema.findings import FindingRow
from perfscope.schema.read import read_known
from tests.report.page_numbers import plain
from tests.report.sample_document import two_ranks_evaluation
from tests.report.test_first_screen import leading

Json = dict[str, Any]
COSTS: Json = {"file": "/job/plate.py", "line": 12, "function": "relax"}
SPLIT: Json = {"file": "/job/tiles.py", "line": 8, "function": "mine"}
MODULE: Json = {"file": "/job/tiles.py", "line": 8, "function": "<module>"}


def first(document: Json) -> FindingRow:
    result = read_known(document)
    return next(one for one in result.findings if one.id in result.verdict.top[:1])


@pytest.mark.parametrize(
    ("split", "told"),
    [
        (None, "plate.py:12 in relax()"),
        (
            SPLIT,
            "tiles.py:8 in mine() (probably: it sets the split; the time goes to plate.py:12)",
        ),
        (MODULE, "tiles.py:8 (probably: it sets the split; the time goes to plate.py:12)"),
    ],
)
def test_of_an_uneven_split_the_line_that_sets_it_is_the_one_to_open(
    split: Json | None, told: str
) -> None:
    document = two_ranks_evaluation()
    row = leading(document)
    row.update(where=[COSTS], set_at=split, source_line="", seen=None)
    found = line_of(first(document))
    assert (found.label, found.text) == ("Line to open", told)
    row["set_at_line"] = "return n"
    assert line_of(first(document)).text.endswith("12): return n") is (split is not None)


@pytest.mark.parametrize(
    ("elsewhere", "told"),
    [
        ((), ""),
        ((SPLIT,), ", 2.00 s of that for relax()"),
        ((SPLIT, None), ", 2.00 s of that for relax()"),
        ((SPLIT, SPLIT, SPLIT), ": 2.00 s in relax(), 1.50 s in mine()"),
    ],
)
def test_of_a_wait_the_part_is_told_that_is_for_the_place_of_the_finding(
    elsewhere: tuple[Json | None, ...], told: str
) -> None:
    document = two_ranks_evaluation()
    row = leading(document)
    waited = {"ranks": [1], "seconds": 4.0, "each_s": 4.0}
    row.update(where=[COSTS], ranks=[0], waited=waited, holder=None)
    entry = document["losses"]["entries"][0] | {"kind": "waiting", "findings": [row["id"]]}
    places = [(COSTS, 2_000_000_000), *((one, 500_000_000) for one in elsewhere)]
    document["losses"]["entries"] = [
        entry | {"where": where, "waiting_ns": ns} for where, ns in places
    ]
    result = read_known(document)
    assert plain(who(result, first(document))) == f"rank 0; rank 1 waits 4.00 s for it{told}"
    # of 3.50 s that were waited there and elsewhere 1.00 s were of ranks that are late as well
    waited.update(seconds=2.0, each_s=2.0)
    result = read_known(document)
    is_less = sum(ns for _, ns in places) > 2_000_000_000
    assert plain(who(result, first(document))).endswith(" 2.00 s for it") is (is_less or not told)


def test_where_the_environment_is_to_be_set_there_is_nothing_to_edit() -> None:
    document = two_ranks_evaluation()
    row = leading(document)
    row.update(where=[COSTS], set_at=None, source_line="x = f(x)", is_setting=False)
    assert line_of(first(document)).label == "Line to open"
    row["is_setting"] = True
    found = line_of(first(document))
    assert found.label == "Line to open"  # the same place on each page
    assert "(the time goes here, nothing to edit: see the first action): x = f(x)" in found.text


def test_the_loop_around_a_line_is_the_one_to_open() -> None:
    document = two_ranks_evaluation()
    row = leading(document)
    row.update(where=[COSTS], set_at=COSTS | {"line": 9}, source_line="loss.backward()")
    row.update(is_loop=True, set_at_line="for x in xs:")
    text = line_of(first(document)).text
    assert text.startswith("plate.py:9")
    assert text.endswith("(the loop around line 12, where the time goes): for x in xs:")
