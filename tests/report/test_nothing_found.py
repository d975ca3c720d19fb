"""What the first screen tells where no finding says what to change, or why one comes later."""

from typing import Any

import pytest

from perfscope.report.sections import nothing_found
from perfscope.report.sections.overview import what_to_do
from perfscope.schema.read import read_known
from tests.report.sample_document import two_ranks_evaluation
from tests.report.test_first_screen import two_problems, words

Json = dict[str, Any]


def without_findings(**changes: Any) -> Json:
    document = two_ranks_evaluation()
    document["verdict"] |= {"top": [], "assurance": "Partly.", "status": "info", **changes}
    return document


def told(document: Json) -> dict[str, str]:
    rows = nothing_found.rows(read_known(document))
    return {label: text.replace("\xa0", " ") for label, text in rows}


def test_beside_a_named_loss_the_rows_tell_where_it_is() -> None:
    document = without_findings(largest_loss=0)
    entry = document["losses"]["entries"][0]
    entry["where"] = {"file": "/job/plate.py", "line": 12, "function": "relax"}
    entry["ranks"] = [1]
    rows = told(document)
    assert rows["Ranks"] == f"{nothing_found.NO_RANK} (the largest loss is on rank 1)"
    assert rows["Line to open"].endswith(" (the largest loss is in relax() (plate.py:12))")
    entry["where"] = None
    assert told(document)["Line to open"].endswith(" (the largest loss is in no one line)")
    entry["ranks"] = [1, 0]
    assert told(document)["Ranks"].endswith(" (the largest loss is on all ranks)")


@pytest.mark.parametrize("place", [None, 1000])
def test_where_no_loss_is_named_none_is_placed(place: int | None) -> None:
    rows = told(without_findings(largest_loss=place))
    assert (rows["Ranks"], rows["Line to open"]) == (
        nothing_found.NO_RANK,
        nothing_found.NOTHING_TO_CHANGE,
    )


@pytest.mark.parametrize(
    ("seconds", "others_s", "is_told"), [(3.0, 2.0, True), (3.0, None, True), (0.2, 2.0, False)]
)
def test_what_the_job_takes_from_itself_is_told_in_words(
    seconds: float, others_s: float | None, *, is_told: bool
) -> None:
    document = without_findings(others_s=others_s)
    part = document["breakdown"][0]
    label = "Training: any contention"
    row = {"id": "lost", "label": label, "seconds": seconds, "cause": "cpu_wait"}
    document["breakdown"].append(part | row)
    assert ("Contention" in told(document)) == is_told
    if is_told:
        said = told(document)["Contention"]
        assert said.startswith("Threads of the job waited 3.00 s per rank (42.4 % of the 7.07 s")
        assert said.endswith(
            "for CPUs, as far as is known for those of each other: “Training: any "
            "contention” below."
        )
        assert said in words(document)


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"gain_s": 1.0}, None),
        ({"gain_s": 3.0}, None),
        ({"gain_s": 3.0, "confidence": "medium"}, "Its saving is larger, but less sure."),
        (
            {"gain_s": 3.0, "gain_basis": "upper_bound"},
            "Its saving is larger, but not from a replay: it is the time of what the fix replaces",
        ),
        ({"gain_s": 1.0, "under_load_s": 3.0}, "Its saving is smaller on an idle host."),
        ({"gain_s": 1.0, "under_load_s": 3.0, "status": "warn", "gain_share": 0.0}, None),
        (
            {"gain_s": 1.0, "under_load_s": 3.0, "confidence": "medium"},
            "Its saving is larger, but less sure.",
        ),
    ],
)
def test_a_problem_that_saves_more_than_the_first_one_says_why_it_comes_later(
    changes: Json, why: str | None
) -> None:
    document = two_ranks_evaluation()
    _, second = two_problems(document)
    of_row = {"confidence", "status", "gain_share"}
    second |= {name: told for name, told in changes.items() if name in of_row}
    second["first_action"] = {**second["first_action"], **changes}
    result = read_known(document)
    row = next(one for one in result.findings if one.id == second["id"])
    found = dict(what_to_do(result, row)).get("Why not first")
    assert (found is None) == (why is None)
    assert why is None or (found or "").startswith(why)
