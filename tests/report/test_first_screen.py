"""The first screen agrees with itself: words that rate, parts of the bar, lengths, findings."""

import re
from typing import Any

import pytest

from perfscope.report.build import build_excerpt, build_html
from perfscope.report.sections import breakdown, losses, overview
from perfscope.schema.read import read_known
from tests.report.page_outline import shown
from tests.report.sample_document import thousand_ranks, two_ranks_evaluation
from tests.support.environments import REPOSITORY

Json = dict[str, Any]


def tile(document: Json, label: str) -> Json:
    tiles = overview.SECTION.context(read_known(document))["tiles"]
    found: Json = next(one for one in tiles if one["label"] == label)
    return found


def with_loss_in_steps(share: float) -> Json:
    """Two ranks of a good efficiency, of which so much of the time was spent on compiling."""
    document = two_ranks_evaluation()
    for name in ("parallel_efficiency", "training_efficiency"):
        document["metrics"][name]["value"] = 0.9
    entry = next(one for one in document["losses"]["entries"] if one["kind"] == "other_work")
    lost_ns = int(share * document["losses"]["window_ns"])
    entry |= {"account": "training", "activity": "compiling", "own_ns": lost_ns}
    document["losses"]["entries"] = [entry]
    return document


@pytest.mark.parametrize("label", ["Parallel efficiency", "Training efficiency"])
@pytest.mark.parametrize(("share", "word"), [(0.02, "good"), (0.55, "")])
def test_no_efficiency_is_called_good_that_counts_what_was_lost_as_work(
    label: str, share: float, word: str
) -> None:
    found = tile(with_loss_in_steps(share), label)
    assert (found["unit"], found["band"] is None) == (word, not word)
    assert bool(found["note"]) is not bool(word) or label == "Parallel efficiency"


def test_what_is_lost_outside_of_steps_says_nothing_of_training_efficiency() -> None:
    document = with_loss_in_steps(0.55)
    document["losses"]["entries"][0]["account"] = "evaluation"
    assert tile(document, "Training efficiency")["unit"] == "good"
    assert tile(document, "Parallel efficiency")["unit"] == ""


def test_waiting_for_others_is_in_the_efficiency_already() -> None:
    document = with_loss_in_steps(0.55)
    document["losses"]["entries"][0]["kind"] = "waiting"
    assert tile(document, "Parallel efficiency")["unit"] == "good"


def test_parts_of_the_bar_have_the_letters_of_their_rows() -> None:
    page = shown(two_ranks_evaluation(), "overview")
    rows = re.findall(r'data-key="(\w)"', page)
    keys = re.findall(r'<text class="key"[^>]*>(\w)</text>', page)
    assert keys
    assert rows == sorted(set(rows))
    assert set(keys) <= set(rows)


def test_work_that_the_verdict_doubts_is_called_good_nowhere() -> None:
    document = with_loss_in_steps(0.0)
    parts = [one for one in document["breakdown"] if one["id"] != "of_verdict"]
    work = parts[0] | {"id": "of_work", "label": "Work", "seconds": 9.0, "share": 0.6}
    document["breakdown"] = [*parts, work]
    assert tile(document, "Parallel efficiency")["unit"] == ""
    told = "about 9.00 s (60.0 % of the 7.07 s run)"
    for said in (
        tile(document, "Parallel efficiency")["note"],
        losses.takeaway(read_known(document)),
        shown(document, "overview"),
    ):
        assert told in said.replace("\xa0", " ")
    assert "Work" not in {row.label for row in breakdown.rows(read_known(document))}


def test_the_saving_is_set_large_whatever_is_said_before_it() -> None:
    document = two_ranks_evaluation()
    title, saved, *rest = document["verdict"]["sentence"].partition(" The fix would save")
    before = "Most of the run is outside the analyzed window. It starts up."
    document["verdict"]["sentence"] = f"{before} {title}{saved}{''.join(rest)} And more."
    page = build_html(read_known(document))
    lead = re.findall(r'<p class="lead">(.*?)</p>', page)[0]
    assert "The fix would save" in lead
    assert "And more." not in lead
    assert "And more." in re.findall(r'<p class="beside">(.*?)</p>', page)[0]


def with_losses(**seconds: float) -> Json:
    """Two ranks that lose so much to each cause."""
    document = two_ranks_evaluation()
    parts = document["breakdown"]
    document["breakdown"] = [
        *parts,
        *(
            parts[0] | {"id": "lost", "label": cause, "seconds": lost_s, "cause": cause}
            for cause, lost_s in seconds.items()
        ),
    ]
    return document


def test_a_cause_looks_alike_on_every_page_whatever_else_is_lost() -> None:
    pages = [
        with_losses(compiling=3.0, page_faults=1.0),
        with_losses(page_faults=5.0, sleep=2.0, compiling=0.1),
    ]
    roles = [
        {one.label: one.role for one in breakdown.rows(read_known(page)) if "lost" in one.role}
        for page in pages
    ]
    assert roles[0] == {name: roles[1][name] for name in ("compiling", "page_faults")}
    for page, shown_roles in zip(pages, roles, strict=True):
        read = read_known(page)
        for html in (build_html(read), build_excerpt(read, "overview")):
            for role in shown_roles.values():
                assert html.count(f'<pattern id="p-{role}"') == 1
                assert f".f-{role} {{" in html


def test_the_run_is_the_whole_and_its_analyzed_window_is_told_once() -> None:
    document = two_ranks_evaluation()
    document["run"] |= {"wall_s": 20.0, "focus_of_analysis_s": [4.0, 14.0]}
    told = shown(document, "overview").replace("\xa0", " ")
    assert "ran for 20.0 s" in told
    assert told.count("analyzed window") == told.count("analyzed window, 10.0 s of the run") == 1


def test_what_the_first_screen_says_of_findings_is_not_said_again() -> None:
    document = two_ranks_evaluation()
    top = document["verdict"]["top"]
    assert top
    listed = shown(document, "findings")
    for number, name in enumerate(top, start=1):
        row = next(one for one in document["findings"] if one["id"] == name)
        head = next(
            one for one in listed.split("<summary>") if re.search(f'id="finding-{name}"', one)
        ).split("</summary>")[0]
        assert f"<h3>{number}. " in head
        assert row["first_action"] is None or "saves" not in head


def test_sections_of_which_nothing_is_known_are_not_in_the_contents() -> None:
    document = thousand_ranks()
    document["other_tools"] = []
    page = build_html(read_known(document))
    contents = page[page.index('<nav class="contents"') : page.index("</nav>")]
    assert "Timeline" in contents
    assert "What other tools say" not in contents


def leading(document: Json, **changes: Any) -> Json:
    """The finding that the verdict leads with, of which the first action saves all."""
    row: Json = next(
        one for one in document["findings"] if one["id"] == document["verdict"]["top"][0]
    )
    row |= changes
    names = ("gain_s", "gain_interval_s", "gain_share", "gain_run_share", "gain_basis")
    row["first_action"] = None if row["gain_s"] is None else {name: row[name] for name in names}
    document["verdict"]["top"] = [row["id"]]
    return row


PREDICTED = (
    "from a replay of the recording with the fix applied. "
    "Range: give or take 5 % as its steps vary."
)
INFERRED = (
    f"Cause: inferred, from time that was measured. Saving, if the cause is right: {PREDICTED}"
)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        (
            {"gain_interval_s": [1.9, 2.1], "confidence": "high"},
            f"Cause: measured. Saving: {PREDICTED}",
        ),
        ({"gain_interval_s": [1.9, 2.1], "is_inferred": True}, INFERRED),
        ({"gain_interval_s": [1.9, 2.1], "confidence": "low", "is_inferred": True}, INFERRED),
        (
            {"gain_interval_s": [0.0318, 8.47], "confidence": "medium"},
            "Saving: may be as little as 31.8 ms. A longer recording would narrow that.",
        ),
        (
            {"gain_interval_s": [1.9, 8.47], "confidence": "medium"},
            "Saving: may be between 1.90 s and 8.47 s.",
        ),
        (
            {"gain_interval_s": [0.0, 8.47], "confidence": "low"},
            "Cause: measured. Saving: may be nothing.",
        ),
        (
            {"gain_interval_s": None, "confidence": "medium"},
            "this run does not tell how much it varies: too few of its stretches compare",
        ),
        (
            {"gain_basis": "upper_bound", "gain_interval_s": None, "confidence": "high"},
            "Saving: the measured time of what the fix replaces; what its new code takes",
        ),
        (
            {"gain_basis": "upper_bound", "gain_interval_s": None, "confidence": "medium"},
            ", and it varies from step to step",
        ),
        ({"gain_s": None, "gain_interval_s": None}, "Saving: not estimated."),
    ],
)
def test_how_sure_the_finding_is_follows_from_its_interval(changes: Json, told: str) -> None:
    document = two_ranks_evaluation()
    leading(document, **{"gain_s": 2.0, "gain_basis": "replay", **changes})
    assert told in shown(document, "findings").replace("\xa0", " ")
    saving = told[max(told.find("Saving"), 0) :]
    # that of other programs is told there instead
    has_range = "how much it varies" in told or "new code takes" in told
    if document["findings"][0]["gain_s"] is not None and not has_range:
        saving = saving.partition(" Range: give")[0]  # there a range of other programs
        assert saving.rstrip(".") in shown(document, "overview").replace("\xa0", " ")


@pytest.mark.parametrize(
    ("why", "told"),
    [
        (None, "how much it varies: too few of its stretches compare."),
        ("load", "because the load of other processes differs between runs"),
        ("parts", "because part of it was timed separately, after the run"),
        ("unseen", "it may be more, as not all of what this costs inside libraries was measured"),
    ],
)
def test_why_no_interval_is_told_is_said(why: str | None, told: str) -> None:
    document = two_ranks_evaluation()
    row = leading(document, gain_s=2.0, gain_basis="replay", gain_interval_s=None)
    row["first_action"]["no_interval"] = why
    document["verdict"]["track_record"] = ""
    assert told in words(document)
    page = shown(document, "findings").replace("\xa0", " ")
    assert ("about 2.00 s or more" in page) == (why == "unseen")


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"gain_share": 0.2}, "Possible major problem</span> something else may explain it"),
        ({"gain_share": 0.02, "gain_run_share": 0.01}, "Minor problem</span>"),
        ({"gain_basis": "upper_bound", "gain_share": 0.02}, "Major problem</span>"),
    ],
)
def test_possible_is_said_with_its_reason(changes: Json, word: str) -> None:
    document = two_ranks_evaluation()
    told = {"gain_s": 2.0, "gain_interval_s": [1.9, 2.1], "gain_basis": "replay", **changes}
    leading(document, status="warn", confidence="high", **{"gain_run_share": 0.2, **told})
    document["verdict"]["status"] = "warn"
    page = shown(document, "overview")
    assert word in re.sub(r'<span class="(soft|sign)"[^>]*>', "", page)


def test_of_a_damaged_run_nothing_is_sure() -> None:
    document = two_ranks_evaluation()
    document["run"]["damage"] = [{"id": "missing", "text": "Rank 1 left no recording."}]
    leading(document, gain_s=2.0, gain_interval_s=[1.9, 2.1], gain_basis="replay")
    assert "was measured" not in words(document)


def two_problems(document: Json) -> tuple[Json, Json]:
    """The finding that leads, and one more that is worth as much."""
    first = leading(
        document,
        gain_s=2.0,
        gain_interval_s=[1.9, 2.1],
        gain_basis="replay",
        gain_share=0.2,
        gain_run_share=0.2,
        status="fail",
    )
    second = next(one for one in document["findings"] if one is not first)
    title = "Ranks work longer in turn"
    second |= {**first, "id": second["id"], "title": title, "actions": ["Look there."], "where": []}
    document["verdict"]["top"] = [first["id"], second["id"]]
    return first, second


def words(document: Json) -> str:
    page = shown(document, "overview").replace("\xa0", " ")
    return " ".join(re.sub("<[^>]+>", " ", page).split())


def also(document: Json) -> str:
    """What is said of the problem that is seen with the first one, and what follows it."""
    page = shown(document, "overview").replace("\xa0", " ")
    [_, told] = page.split('<span class="label">Also</span>')
    return " ".join(re.sub("<[^>]+>", " ", told).split())


def test_one_problem_is_one_block() -> None:
    document = two_ranks_evaluation()
    first, second = two_problems(document)
    assert "What to fix next" in words(document)
    second["seen_with"] = first["id"]
    page = words(document)
    assert "What to fix next" not in page
    told = also(document)
    assert told.startswith("Ranks work longer in turn : 2.00 s (28.3 % of")
    assert ". Look there. Together " in told.split("Evidence")[0]
    assert page.count("First action ") == 1
    second["where"] = first["where"] = [
        {"function": "evaluate", "file": "/job/train.py", "line": 96, "hint": ""}
    ]
    assert "Look there." not in also(document).split("Evidence")[0]  # it is told where it is
    second["where"] = []
    second["status"] = "warn"
    told = also(document).split("Evidence")[0]
    assert "(this may explain it)" in told
    assert "Look there." not in told


@pytest.mark.parametrize(
    ("combined_s", "of", "said"),
    [
        (4.0, 2, ""),
        (3.0, 2, "Savings overlap: do not add them up."),
        (3.0, 1, "Savings may overlap: do not add them up."),
        (None, 0, "Savings may overlap: do not add them up."),
    ],
)
def test_whether_savings_add_up_is_said(combined_s: float | None, of: int, said: str) -> None:
    document = two_ranks_evaluation()
    two_problems(document)
    document["verdict"] |= {
        "combined_gain_s": combined_s,
        "combined_of": document["verdict"]["top"][:of],
        "combined_text": None if combined_s is None else "fixing both would save something",
    }
    page = words(document)
    assert page.count("do not add them up") == bool(said)
    assert said in page


def test_a_saving_on_a_shared_host_is_told_once_on_the_first_screen() -> None:
    document = two_ranks_evaluation()
    row = leading(document, gain_s=2.0, gain_basis="replay", gain_interval_s=None)
    row["first_action"]["counts"] = "does not count what other load adds (with it 9.00 s)"
    assert "9.00 s" not in words(document)
    assert "(with it 9.00 s)" in shown(document, "findings").replace("\xa0", " ")
    row["first_action"]["bridge"] = "That is the 3.00 s less 1.00 s that other load costs."
    told = shown(document, "findings").replace("\xa0", " ")
    assert told.count("the 3.00 s less 1.00 s") == 1


def test_what_saves_nothing_known_is_summed_up_nowhere() -> None:
    document = two_ranks_evaluation()
    first, second = two_problems(document)
    second |= {"seen_with": first["id"], "gain_s": None, "first_action": None}
    assert "Together" not in words(document)


POSSIBLE = {"status": "warn", "confidence": "medium", "gain_share": 0.2}


@pytest.mark.parametrize(
    ("changes", "load", "told"),
    [
        ({"confidence": "high"}, "", "Record again after the change"),
        ({"confidence": "medium"}, "on a busy host", "Record this version and the changed one on"),
        ({"confidence": "medium", "is_inferred": True}, "", "Record the same run with the change"),
        ({"confidence": "low", "is_inferred": True}, "", "Record the same run with the change"),
        ({"confidence": "low", "gain_interval_s": [0.0, 4.0]}, "", "Record a longer run before"),
        ({"confidence": "low", "gain_interval_s": None}, "", "Record the same run with the change"),
        ({"confidence": "low", "gain_basis": "upper_bound"}, "", "Record the same run with the"),
        (POSSIBLE, "", "Record the same run with the change"),
        (POSSIBLE, "", "and something else than the cause may explain it."),
    ],
)
def test_what_to_do_first_follows_from_how_sure_it_is(changes: Json, load: str, told: str) -> None:
    document = two_ranks_evaluation()
    row = leading(document, gain_s=2.0, **changes)
    if load:
        row["first_action"]["under_load_s"] = 3.0
    advice = ("again after the", "same run with the", "a longer run before", "changed one on")
    assert told in words(document)
    assert sum(one in words(document) for one in advice) == 1


def test_the_launcher_and_what_is_small_look_different() -> None:
    document = two_ranks_evaluation()
    part = document["breakdown"][0] | {"seconds": 0.5, "share": 0.05}
    rest = [part | {"id": "outside", "label": "Launcher"}, part | {"id": "others", "label": "2"}]
    document["breakdown"] = [*document["breakdown"], *rest]
    rows = {row.label: row.role for row in breakdown.rows(read_known(document))}
    assert (rows["Launcher"], rows["2"]) == ("outside", "others")
    css = (REPOSITORY / "perfscope/report/assets/report.css").read_text(encoding="utf-8")
    fills = [re.findall(rf"\.f-{role} {{ fill: (.*?); }}", css) for role in ("outside", "others")]
    assert fills[0] != fills[1]
    assert all(len(one) == 1 for one in fills)
