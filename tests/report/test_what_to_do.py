"""The first action: one change in one sentence, and all else that it says behind it."""

from dataclasses import replace

import pytest

from perfscope.report.sections.what_to_do import details, first_step
from perfscope.schema.common import Place
from perfscope.schema.findings import FindingRow
from perfscope.schema.read import read_known
from tests.report.sample_document import two_ranks_evaluation
from tests.report.test_first_screen import leading, words


def row(action: str) -> FindingRow:
    """A finding at train.py:7 whose first action says so."""
    result = read_known(two_ranks_evaluation())
    found = next(one for one in result.findings if one.id in result.verdict.top[:1])
    return replace(found, actions=(action,), where=(Place("/job/train.py", 7, "load"),))


@pytest.mark.parametrize(
    ("action", "first", "more"),
    [
        ("Read it once.", "Read it once.", ""),
        ("Read it once. It is read 40 times.", "Read it once.", "It is read 40 times."),
        ("Read it once, or keep it. Now.", "Read it once, or keep it.", "Now."),
        ("Drop it; if it waits, poll. It helps.", "Drop it; if it waits, poll.", "It helps."),
        ("In load() (train.py:7): read it once.", "Read it once.", ""),
        (
            "In load() (train.py:7) and line 9: read it once.",
            "In load() (train.py:7) and line 9: read it once.",
            "",
        ),
        ("In save() (train.py:9): read it once.", "In save() (train.py:9): read it once.", ""),
    ],
)
def test_one_change_comes_first_without_the_place_that_stands_above_it(
    action: str, first: str, more: str
) -> None:
    assert (first_step(row(action)), details(row(action))) == (first, more)


def test_what_else_it_says_is_folded_behind_it() -> None:
    document = two_ranks_evaluation()
    leading(document, actions=["Read it once, or keep it. It is read 40 times."])
    page = words(document)
    assert "First action Read it once, or keep it. Then" in page
    assert "More on the first action It is read 40 times." in page


def test_of_no_action_nothing_is_told() -> None:
    assert first_step(replace(row(""), actions=())) == details(replace(row(""), actions=())) == ""
