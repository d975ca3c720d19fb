"""What the first screen says of how much an answer rests on, and of the line that it names."""

from typing import Any

import pytest

from tests.report.page_outline import shown
from tests.report.sample_document import two_ranks_evaluation
from tests.report.test_first_screen import leading, words

Json = dict[str, Any]


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        (
            {"gain_basis": "replay"},
            (
                "Rests on 160 steps, 400 stack samples of rank 0 (39 in line 99) and a replay that "
                "reproduces the recorded run exactly."
            ),
        ),
        (
            {"gain_basis": "upper_bound", "gain_interval_s": None},
            "Rests on 160 steps and 400 stack samples of rank 0 (39 in line 99).",
        ),
        ({"gain_basis": "upper_bound", "seen": None}, "Rests on 160 steps."),
    ],
)
def test_what_the_answer_rests_on_is_told(changes: Json, told: str) -> None:
    document = two_ranks_evaluation()
    document["steps"]["count"] = 160
    document["replay"]["relative_error"] = 0.0
    where = [{"file": "/home/me/train.py", "line": 99, "function": "evaluate"}]
    of = {"ranks": [0], "where": where, "seen": {"samples": 39, "of": 400}}
    leading(document, gain_s=2.0, **{**of, **changes})
    assert told in words(document)


def test_the_source_of_the_line_stands_below_its_place() -> None:
    document = two_ranks_evaluation()
    assert 'class="line source"' not in shown(document, "overview")
    where = [{"file": "/home/me/train.py", "line": 99, "function": "evaluate"}]
    leading(document, gain_s=2.0, where=where, source_line="loss = model(<x> & y)")
    page = shown(document, "overview")
    assert "loss = model(&lt;x&gt; &amp; y)" in page
    assert "Line 99 loss = model(" in words(document)


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("change = np.linalg.norm(new)", "Line 99 (94.9 % of its samples in numpy.svd) change ="),
        ("u, s, v = np.linalg.svd(new)", "Line 99 u, s, v ="),
    ],
)
def test_what_takes_the_time_of_the_line_is_told_where_its_source_does_not(
    source: str, told: str
) -> None:
    document = two_ranks_evaluation()
    where = [{"file": "/home/me/train.py", "line": 99, "function": "evaluate"}]
    seen = {"samples": 39, "of": 400, "calls": "numpy.svd", "calls_samples": 37}
    leading(document, gain_s=2.0, where=where, source_line=source, seen=seen)
    assert told in words(document)
