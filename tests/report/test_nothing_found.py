"""What the first screen tells where no finding says what to change, or why one comes later."""

from typing import Any

import pytest

from perfscope.report.sections import nothing_found, unexplained
from perfscope.report.sections.overview import also_seen
from perfscope.report.sections.what_to_do import what_to_do
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
    line = "(the largest loss is in no one line); to look at: network.py:54"
    assert told(document)["Line to open"].endswith(f" {line}")
    entry["ranks"] = [1, 0]
    assert told(document)["Ranks"].endswith(" (the largest loss is on all ranks)")


@pytest.mark.parametrize(
    ("many", "named"), [(0, ""), (1, "“A”"), (2, "“A” and “B”"), (4, "“A” and others")]
)
def test_what_could_not_be_checked_is_named_in_one_line(many: int, named: str) -> None:
    document = without_findings()
    for row in document["findings"]:
        row["status"] = "pass"
    for row, title in zip(document["findings"], "ABCD"[:many], strict=False):
        row |= {"status": "not_measured", "title": title}
    assert nothing_found.unmade(read_known(document)) == named
    assert (f"{named}: see why" in words(document)) is bool(many)


@pytest.mark.parametrize("place", [None, 1000])
def test_where_no_loss_is_named_none_is_placed(place: int | None) -> None:
    rows = told(without_findings(largest_loss=place))
    assert rows["Ranks"] == nothing_found.NO_RANK
    # a place to look at is named only where a part of the run is large, as this one's waiting is
    assert rows["Line to open"] == f"{nothing_found.NOTHING_TO_CHANGE}; to look at: network.py:54"


def part(document: Json, seconds: float, **changes: Any) -> None:
    """Makes a part of the 7.07 s run."""
    row = document["breakdown"][0] | {"seconds": seconds, "share": seconds / 7.07, **changes}
    document["breakdown"] = [one for one in document["breakdown"] if one["id"] != row["id"]] + [row]


CONTENTION = {"id": "lost", "label": "Training: any contention", "cause": "cpu_wait"}


@pytest.mark.parametrize(
    ("seconds", "others_s", "why"),
    [
        (3.0, 2.0, "why is not known"),  # of what others took, a row of its own tells
        (3.0, None, "why is not known"),
        (0.2, 2.0, ""),
    ],
)
def test_a_large_loss_that_no_finding_claims_is_told_with_what_is_known_of_it(
    seconds: float, others_s: float | None, why: str
) -> None:
    document = without_findings(others_s=others_s)
    document["breakdown"] = document["breakdown"][:1]
    part(document, seconds, **CONTENTION)
    rows = told(document)
    assert ("To look at" in rows) is bool(why)
    if why:
        assert rows["To look at"] == (
            f"“Training: any contention” takes 3.00 s per rank (42.4 % of the 7.07 s run): {why}."
        )
        assert rows["To look at"] in words(document)
    document["verdict"]["top"] = [document["findings"][0]["id"]]
    assert not unexplained.unexplained(read_known(document))


@pytest.mark.parametrize(
    "role", ["communication_wait", "communication_transfer", "communication_other"]
)
def test_of_communication_on_a_busy_host_a_part_may_be_due_to_that(role: str) -> None:
    document = without_findings(others_s=2.0)
    part(document, 3.0, id=role, label="Communication: some")
    document["breakdown"] = document["breakdown"][-1:]
    told_of = told(document)["To look at"]
    assert told_of.endswith(
        ": part of that may be due to the busy host; record again to see the rest."
    )


@pytest.mark.parametrize(
    ("places", "where"),
    [
        ([(None, 4), ("g", 1)], ""),
        ([("f", 2), ("g", 2), ("h", 1)], ""),
        ([("g", 1), ("f", 4)], "f"),
        ([("g", 2), ("f", 1), ("f", 2)], "f"),
    ],
)
def test_a_loss_is_mainly_where_more_than_half_of_it_is(
    places: list[tuple[str | None, int]], where: str
) -> None:
    document = without_findings(largest_loss=0)
    part(document, 3.0, id="communication_other", label="Communication: other")
    document["breakdown"] = document["breakdown"][-1:]
    entry = document["losses"]["entries"][0] | {"kind": "communication", "ranks": [0]}
    document["losses"]["entries"] = [
        entry | {"ns": ns * 10**9, "where": name and {"file": "/a.py", "line": 3, "function": name}}
        for name, ns in places
    ]
    rows = told(document)
    mainly = f", mainly in {where}() (a.py:3)" if where else " per rank"
    assert mainly in rows["To look at"]
    assert ("mainly" in rows["To look at"]) is bool(where)
    if places[0][0] is None:
        assert rows["Line to open"].endswith(" (the largest loss is in no one line)")


@pytest.mark.parametrize(("once", "is_told"), [(3, True), (1, False)])
def test_of_what_comes_once_that_is_known(once: int, *, is_told: bool) -> None:
    document = without_findings(largest_loss=0)
    part(document, 3.0, id="communication_other", label="Communication: other")
    document["breakdown"] = document["breakdown"][-1:]
    entry = document["losses"]["entries"][0] | {"kind": "communication", "where": None}
    document["losses"]["entries"] = [
        entry | {"ns": once, "pattern": "once"},
        entry | {"ns": 2, "pattern": "varying"},
    ]
    why = unexplained.ONCE if is_told else unexplained.OPEN
    assert told(document)["To look at"].endswith(f": {why}.")


def test_a_line_to_look_at_stands_beside_a_largest_loss_that_is_in_none() -> None:
    document = without_findings(largest_loss=1)
    part(document, 3.0, id="communication_other", label="Communication: other")
    document["breakdown"] = document["breakdown"][-1:]
    entry = document["losses"]["entries"][0] | {"kind": "communication", "ranks": [0]}
    where = {"file": "/a.py", "line": 3, "function": "f"}
    entries = [entry | {"where": where}, entry | {"where": None, "kind": "other_work"}]
    document["losses"]["entries"] = entries
    none = f"{nothing_found.NOTHING_TO_CHANGE} (the largest loss is in no one line)"
    assert told(document)["Line to open"] == f"{none}; to look at: a.py:3"
    where["line"] = 0  # not known
    assert told(document)["Line to open"] == none


@pytest.mark.parametrize(
    ("status", "overlaps", "why"),
    [
        ("info", [], "needed, as far as was checked"),
        ("pass", [], "needed, as far as was checked"),
        ("pass", ["straggler"], "needed, as far as was checked"),
        ("not_measured", [], "why is not known"),
        ("not_applicable", [], "why is not known"),
        ("info", ["cpu_contention"], ""),  # the note says to what most of it is due
    ],
)
def test_a_transfer_is_needed_where_that_was_checked(
    status: str, overlaps: list[str], why: str
) -> None:
    document = without_findings()
    part(document, 3.0, id="communication_transfer", label="Communication: transfer")
    document["breakdown"] = document["breakdown"][-1:]
    note = document["findings"][0] | {"id": "network_bound", "status": status, "where": []}
    document["findings"] = [note | {"overlaps": overlaps}]
    rows = told(document)
    assert ("To look at" in rows) is bool(why)
    assert not why or rows["To look at"].endswith(f": {why}.")
    noted = [row.id for row, _ in also_seen(read_known(document))]
    assert noted == ([] if why else ["network_bound"])
    document["findings"] = []
    assert told(document)["To look at"].endswith(": why is not known.")


@pytest.mark.parametrize(("status", "is_noted"), [("info", True), ("pass", False)])
def test_a_transfer_that_no_finding_claims_names_the_line_to_look_at(
    status: str, *, is_noted: bool
) -> None:
    document = without_findings()
    part(document, 3.0, id="communication_transfer", label="Communication: transfer")
    document["breakdown"] = document["breakdown"][-1:]
    note = document["findings"][0] | {
        "id": "network_bound",
        "status": status,
        "title": "Data takes long in dots() (strips.py:64)",
        "overlaps": [],
        "where": [{"file": "/job/strips.py", "line": 64, "function": "dots"}],
    }
    document["findings"] = [note]
    rows = told(document)
    what = "Data takes long in dots() (strips.py:64)" if is_noted else "“Communication: transfer” "
    assert rows["To look at"].startswith(what)
    assert rows["To look at"].endswith(" run): needed, as far as was checked.")
    assert rows["Line to open"].endswith("; to look at: strips.py:64") is is_noted
    assert not also_seen(read_known(document))  # it is told already


def test_waiting_that_a_note_explains_is_not_told_as_unexplained() -> None:
    document = without_findings()
    part(document, 3.0, id="communication_wait", label="Communication: waiting")
    document["breakdown"] = document["breakdown"][-1:]
    note = document["findings"][0] | {"id": "transient_imbalance", "status": "info"}
    document["findings"] = [note]
    assert "To look at" not in told(document)
    assert [row.id for row, _ in also_seen(read_known(document))] == ["transient_imbalance"]
    note["status"] = "pass"
    assert told(document)["To look at"].endswith(": why is not known.")


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
