"""What the first screen says of how much an answer rests on, and of the line that it names."""

from typing import Any

import pytest

from perfscope.report.sections.findings import verdict_word
from perfscope.report.sections.overview import also_seen
from perfscope.schema.read import read_known
from tests.report.page_outline import shown
from tests.report.sample_document import two_ranks_evaluation
from tests.report.test_first_screen import leading, two_problems, words

Json = dict[str, Any]
STEPS = "160 steps inferred from repeating calls"


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        (
            {"gain_basis": "replay"},
            f"was measured ({STEPS}, 39 of 400 stack samples in line 99)",
        ),
        (
            {"gain_basis": "replay"},
            "Check: replayed unchanged, the run has its measured length.",
        ),
        (
            {"gain_basis": "upper_bound", "gain_interval_s": None},
            f"was measured ({STEPS}, 39 of 400 stack samples in line 99)",
        ),
        (
            {"gain_basis": "upper_bound", "seen": None},
            f"was measured ({STEPS})",
        ),
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


def test_how_near_predictions_have_been_stands_behind_the_saving() -> None:
    document = two_ranks_evaluation()
    leading(document, gain_s=2.0, gain_basis="replay", gain_interval_s=[1.9, 2.1])
    document["verdict"]["track_record"] = "Half of the fixes saved more."
    page = shown(document, "overview").replace("\xa0", " ")
    # one range, and its reason
    assert "with the fix applied. Half of the fixes saved more." in page


def test_the_source_of_the_line_stands_below_its_place() -> None:
    document = two_ranks_evaluation()
    where = [{"file": "/home/me/train.py", "line": 99, "function": "evaluate"}]
    leading(document, gain_s=2.0, where=where, source_line="loss = model(<x> & y)")
    page = shown(document, "overview")
    assert "loss = model(&lt;x&gt; &amp; y)" in page
    assert "Line to open train.py:99 in evaluate() loss = model(" in words(document)
    leading(document, is_elsewhere=True)  # the one to change is another
    told = "( the time goes here, the line to change is another: see the first action ) loss = "
    assert f"Line to open train.py:99 in evaluate() {told}" in words(document)


@pytest.mark.parametrize(
    ("source", "told"),
    [
        (
            "change = np.linalg.norm(new)",
            "in evaluate() ( 94.9 % of its samples are in numpy.svd ) change = np.linalg.norm(new)",
        ),
        (
            "u, s, v = np.linalg.svd(new)",
            "in evaluate() u, s, v = np.linalg.svd(new) First action",
        ),
    ],
)
def test_what_takes_the_time_of_the_line_is_told_where_its_source_does_not(
    source: str, told: str
) -> None:
    assert told in quoting(source, {"samples": 39, "calls_samples": 37})


@pytest.mark.parametrize("counts", [(0, 0), (0, 5), (5, 6)])
def test_counts_that_cannot_be_tell_nothing(counts: tuple[int, int]) -> None:
    seen = dict(zip(("samples", "calls_samples"), counts, strict=True))
    assert "evaluate() change = norm(new) First" in quoting("change = norm(new)", seen)


def quoting(source: str, seen: Json) -> str:
    """A page that leads with a line of this source, in such samples."""
    document = two_ranks_evaluation()
    where = [{"file": "/home/me/train.py", "line": 99, "function": "evaluate"}]
    counted = {"of": 400, "calls": "numpy.svd", **seen}
    leading(document, gain_s=2.0, where=where, source_line=source, seen=counted)
    return words(document)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"confidence": "high"}, "Yes: the cause was measured"),
        ({"confidence": "medium"}, "Yes: the cause was measured"),
        ({"is_inferred": True}, "its cause is inferred: test the fix."),
        ({"gain_s": None, "gain_interval_s": None}, ", but its saving was not estimated."),
        ({"gain_interval_s": [0.0, 8.47], "confidence": "low"}, "Not yet: the cause was measured"),
        ({"status": "warn", "gain_share": 0.2}, "and something else than the cause may explain it"),
    ],
)
def test_whether_to_trust_it_is_answered_first(changes: Json, told: str) -> None:
    document = two_ranks_evaluation()
    own = {"gain_s": 2.0, "gain_basis": "replay", "gain_interval_s": [1.9, 2.1]}
    leading(document, **{"status": "fail", "confidence": "high", **own, **changes})
    document["quality"] = [row | {"status": "pass"} for row in document["quality"]]
    page = words(document)
    assert told in page
    assert page.index("Can I trust this?") < page.index(told)
    assert "checks passed ." in page
    is_yes, is_priced = "Can I trust this? Yes: " in page, "not estimated" not in page
    document["quality"][0] |= {"status": "fail", "title": "A rank is missing"}
    page, checks = words(document), len(document["quality"])
    assert "Yes" not in page
    assert '<a href="#quality-evidence">1 of ' in shown(document, "overview")
    assert page.count("a rank is missing") == 1
    # what alone stands against the answer is in it, and named below
    told = "but not all recording checks passed. Saving:"
    assert ("Mostly: " in page and told in page) is (is_yes and is_priced)
    told = f"1 of {checks} checks did not pass : ✕ Problem a rank is missing."
    assert told in page.replace(" .", ".")


def test_of_several_problems_the_first_one_is_named() -> None:
    document = two_ranks_evaluation()
    two_problems(document)
    assert "cause of the first problem was measured" in words(document)


HOST = "Processes outside the job used 1.2 of the 2 CPUs and made this run 4.00 s longer."


def busy(*, is_told: bool) -> Json:
    """A run of which other processes had the CPUs, as the verdict tells or a check alone."""
    document = two_ranks_evaluation()
    leading(document, gain_s=2.0, gain_basis="upper_bound", gain_interval_s=None)
    title = "Processes outside the job used 1.2 of the 2 CPUs"
    row = {"id": "other_work", "status": "warn", "title": title, "detail": f"{title} on average."}
    document["quality"].append(row)
    if is_told:
        document["verdict"]["host"] = HOST
        document["verdict"]["sentence"] = f"{document['verdict']['sentence']} {HOST}"
    return document


def test_a_busy_host_is_told_below_the_problem_and_its_check_does_not_repeat_it() -> None:
    page = shown(busy(is_told=True), "overview").replace("\xa0", " ")
    assert page.index("<h1") < page.index(HOST)
    assert page.count("used 1.2 of the 2 CPUs") == 1
    assert "see above" not in page


def test_a_busy_host_that_the_verdict_does_not_tell_of_is_told_by_its_check() -> None:
    page = shown(busy(is_told=False), "overview").replace("\xa0", " ")
    assert page.count("used 1.2 of the 2 CPUs") == 1
    assert "see above" not in page


def test_that_nothing_was_found_is_answered_too() -> None:
    document = two_ranks_evaluation()
    document["verdict"] |= {"top": [], "assurance": "Yes, for what was looked at. Looked at: all."}
    page = shown(document, "overview")
    assert '<p class="answer">' in page
    assert "Yes, for what was looked at." in page
    assert "Looked at: all." in words(document)


def test_where_the_host_alone_is_to_blame_the_verdict_is_called_so() -> None:
    document = busy(is_told=False)
    for status in ("warn", "info"):
        document["verdict"] |= {"top": [], "status": status}
        for others_s in (None, 2.0):
            document["verdict"]["others_s"] = others_s
            word = verdict_word(read_known(document)).word
            assert (word == "Busy host") == (others_s is not None)


def test_what_the_verdict_tells_of_the_host_is_no_note() -> None:
    document = busy(is_told=False)
    document["verdict"] |= {"top": [], "status": "info"}
    row = document["findings"][0]
    row |= {"id": "busy_host", "status": "info", "title": "Others use CPUs"}
    for others_s in (None, 2.0):
        document["verdict"]["others_s"] = others_s
        seen = [one.id for one, _ in also_seen(read_known(document))]
        assert ("busy_host" in seen) == (others_s is None)
