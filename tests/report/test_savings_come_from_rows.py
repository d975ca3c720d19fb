"""No saving is more than what the page shows as lost to it, unless it says where the rest is."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from perfscope.document.breakdown import LostInAccount
from perfscope.document.splits import as_in_rows, bridged
from perfscope.findings.core.finding import Finding, Gain, Spent
from perfscope.replay.model import Edit, Level
from perfscope.report.sections import breakdown
from perfscope.savings import Wholes, rest_text, split_text
from perfscope.schema.enums import Account, Activity, Basis, Status
from perfscope.schema.findings import Waited
from perfscope.schema.read import read_known
from tests.findings.analyzed import analyze
from tests.findings.training_runs import Plan
from tests.report.sample_document import two_ranks_evaluation
from tests.report.test_consistency import NAMES, REFERENCES, SAMPLES, Shown, shown
from tests.report.test_first_screen import words
from tests.support.environments import REPOSITORY
from tests.support.requirements import require_reference

OF = Wholes(None, None)

Json = dict[str, Any]
PRINTED = 1.01
"""Three digits are printed: what differs by less looks alike."""

LOST_TO_OTHERS = ("waiting", "outside")
SHARE_IN_TITLE = re.compile(r"([\d.]+)\s%")
REPORTS = sorted((REPOSITORY / "reports").glob("*/analysis.json"))
IN_COMMUNICATION = ("communication_wait", "communication_transfer", "communication_other")


@pytest.fixture(params=[*SAMPLES, *REFERENCES], ids=[*NAMES, *REFERENCES])
def trace(request: pytest.FixtureRequest) -> Shown:
    """A recording or a trace of another tool."""
    chosen = request.param
    return shown(require_reference(chosen) if isinstance(chosen, str) else Path(chosen))


def lost_s(document: Json, row: Json) -> float | None:
    """What the loss account shows as lost to a finding, mean of the ranks; None for nothing."""
    found = [one for one in document["losses"]["entries"] if row["id"] in one["findings"]]
    named = [one for one in found if f"lost_to_{one['activity']}" == row["id"]] or found
    if not named or any(one["kind"] in LOST_TO_OTHERS for one in named):
        return None
    whole: float = sum(
        one["own_ns"] * 1e-9 * (one["run_s"] * 1e9 / one["ns"] if one.get("run_s") else 1.0)
        for one in named
        if one["ns"]
    )
    ranks: int = document["run"]["recorded_ranks"]
    return whole / max(ranks, 1)


def untold(document: Json) -> list[str]:
    """The findings of the first screen whose saving is more than what it comes from, and no why."""
    found = {row["id"]: row for row in document["findings"]}
    if document["devices"].get("value") is not None or document["run"]["recorded_ranks"] < 2:
        return []
    out = []
    for name in document["verdict"]["top"]:
        row, first = found[name], found[name]["first_action"]
        if first is None or first.get("own_s") is not None or first.get("counts"):
            continue
        lost = lost_s(document, row)
        shares = [float(one) / 100 for one in SHARE_IN_TITLE.findall(row["title"])]
        is_more = lost is not None and first["gain_s"] > lost * PRINTED
        is_share_more = "of each call" in row["title"] or "is padding" in row["title"]
        if is_more or (is_share_more and first["gain_share"] > max(shares, default=1.0)):
            out.append(name)
    return out


def test_no_saving_is_more_than_the_rows_that_it_comes_from_without_a_reason(trace: Shown) -> None:
    assert untold(trace.document) == []


@pytest.mark.parametrize("path", REPORTS, ids=[path.parent.name for path in REPORTS])
def test_committed_reports_say_where_their_savings_come_from(path: Path) -> None:
    assert untold(json.loads(path.read_text(encoding="utf-8"))) == []


def test_both_parts_are_told_and_communication_holds_what_follows(trace: Shown) -> None:
    """What ranks do not spend themselves is gone from the communication in which they meet."""
    document, text = trace.document, " ".join(trace.everything.split())
    means = {
        row["id"]: row["seconds"] / max(document["run"]["recorded_ranks"], 1)
        for row in document["ledger"]
    }
    known_s = sum(means.get(one, 0.0) for one in IN_COMMUNICATION)
    for row in document["findings"]:
        first = row["first_action"] or {}
        if row["id"] not in document["verdict"]["top"] or first.get("own_s") is None:
            continue
        assert first["own_s"] + first["follows_s"] == pytest.approx(first["gain_s"])
        assert document.get("whole_run") or first["follows_s"] <= known_s * PRINTED
        assert first["bridge"] in text


def test_a_saving_that_is_more_than_its_row_is_found() -> None:
    document = json.loads(REPORTS[0].read_text(encoding="utf-8"))
    row = next(one for one in document["findings"] if one["first_action"])
    document["verdict"]["top"] = [row["id"]]
    entry = document["losses"]["entries"][0]
    entry |= {"kind": "transfer", "activity": None, "findings": [row["id"]]}
    entry |= {"own_ns": 1_000_000, "ns": 1_000_000}
    document["losses"]["entries"] = [entry]
    row["first_action"] |= {"gain_s": 1.0, "own_s": None, "follows_s": None, "counts": ""}
    assert untold(document) == [row["id"]]
    row["first_action"] |= {"own_s": 0.0005, "follows_s": 0.9995}
    assert untold(document) == []


@pytest.mark.parametrize(
    ("own_s", "told"),
    [
        (None, ""),
        (2.0, ""),
        (1.99, ""),
        (
            1.5,
            (
                "That is 1.50 s of each rank's own time, on average, and 500 ms of waiting and "
                "transfer that end with it"
            ),
        ),
        (0.1, "Nearly all of that is waiting and transfer that end with it"),
    ],
)
def test_a_saving_is_told_in_parts_where_it_is_more_than_what_ranks_spend(
    own_s: float | None, told: str
) -> None:
    assert split_text(2.0, own_s) == told


def test_the_rest_of_a_bound_is_a_bound() -> None:
    assert "and about 500 ms of waiting" in split_text(2.0, 1.5, is_bound=True)
    told = rest_text(2.0, 1.5, "", each="", is_bound=True)
    assert told == "That is the 1.50 s and about 500 ms of waiting and transfer that end with it"


@pytest.mark.parametrize(
    ("spent", "told"),
    [
        (None, "That is 1.50 s of each rank's own time, on average, and 500 ms of waiting"),
        (Spent(1.2), "That is the 1.20 s and 800 ms of waiting and transfer that end with it."),
    ],
)
def test_one_sentence_with_one_figure_explains_a_saving(spent: Spent | None, told: str) -> None:
    saving = Gain(2.0, 0.2, own_s=1.5, spent=spent, basis=Basis.REPLAY)
    finding = Finding(Status.WARN, "Files are read", "", gain=saving)
    found = bridged(finding, analyze(Plan(steps=10)).results, OF).recommended
    assert found is not None
    assert found.bridge.startswith(told)
    assert found.bridge.count("that end with it") == 1


@pytest.mark.parametrize(
    ("edit", "told"),
    [
        (Edit(), "Of the 2.00 s, 1.00 s would turn into waiting for other ranks."),
        (Edit(ranks=(0,)), "Of the 2.00 s, 1.00 s would turn into waiting for other ranks."),
        (Edit(factor=0.5), ""),
        (Edit(producers=4), ""),
    ],
)
def test_only_what_a_change_takes_away_turns_into_waiting(edit: Edit, told: str) -> None:
    """What it leaves stays what it is."""
    saving = Gain(1.0, 0.2, spent=Spent(2.0), basis=Basis.REPLAY, edits=(edit,))
    finding = Finding(Status.WARN, "Input takes 2.00 s", "", gain=saving)
    found = bridged(finding, analyze(Plan(steps=10)).results, OF).recommended
    assert found is not None
    assert found.bridge == told


@pytest.mark.parametrize(("claims", "shown_s"), [([True, True], 2.2), ([True, False], 2.1)])
def test_a_title_has_the_seconds_of_the_rows_that_a_finding_claims(
    claims: list[bool], shown_s: float
) -> None:
    """Of a row that holds other losses as well it does not."""
    importing = Activity.IMPORTING
    rows = {Account.TRAINING: [LostInAccount(importing.label, "", 2.2, importing.value)]}
    lost = read_known(two_ranks_evaluation()).losses
    one = replace(lost.entries[0], activity=importing, own_ns=1)
    entries = [replace(one, findings=("lost_to_importing",) * is_claimed) for is_claimed in claims]
    gain = Gain(2.0, 0.2, spent=Spent(2.1, is_each=True))
    title, own = "It takes 2.10 s per rank", "lost_to_importing"
    finding = Finding(Status.WARN, title, "", gain=gain, id=own)
    found = as_in_rows(finding, rows, replace(lost, entries=tuple(entries)))
    assert found.title == f"It takes {shown_s:.2f} s per rank"
    assert found.gain is not None
    assert found.gain.spent == Spent(shown_s, is_each=True)


def test_what_a_saving_counts_besides_is_no_waiting() -> None:
    """As Python code of other places than the one in the title, which ranks spend themselves."""
    counts = "counts Python code of all places"
    saving = Gain(2.0, 0.2, spent=Spent(1.2), counts=counts, counts_more=True)
    finding = Finding(Status.WARN, "One call takes 1.20 s", "", gain=saving)
    found = bridged(finding, analyze(Plan(steps=10)).results, OF).recommended
    assert found is not None
    assert found.bridge == "The saving counts Python code of all places."


def test_rows_of_a_saving_are_called_by_name() -> None:
    document = two_ranks_evaluation()
    parts = document["breakdown"]
    lost = parts[0] | {"id": "lost", "label": "Computation: files", "seconds": 3.0}
    document["breakdown"] = [*parts, lost | {"cause": "files"}]
    row = next(one for one in document["findings"] if one["id"] == document["verdict"]["top"][0])
    entry = document["losses"]["entries"][0]
    entry |= {"kind": "other_work", "activity": "files", "findings": [row["id"]]}
    entry |= {"label": "Files", "own_ns": 6_000_000_000, "ns": 6_000_000_000}
    document["losses"]["entries"] = [entry]
    row["first_action"] |= {"gain_s": 4.0, "own_s": 3.0, "follows_s": 1.0}
    read = read_known(document)
    by_name = breakdown.saved_in_rows(read)
    assert by_name.startswith("What the fix saves is in “Computation: files”, “Communication: ")
    assert not re.search(r"\d", by_name), "how much it is, is told with the saving"
    assert f"What the fix saves is in {by_name.split('is in ')[1]}" in words(document)
    row["first_action"] |= {"gain_s": 2.0, "own_s": None, "follows_s": None}
    told = breakdown.saved_in_rows(read_known(document))
    assert told == "What the fix saves is in “Communication: waiting” and “Computation: files”"
    entry["waiting_ns"] = entry["ns"] // 10  # hardly anybody waits for it
    told = breakdown.saved_in_rows(read_known(document))
    assert told.endswith("is in “Computation: files”")
    row["first_action"] |= {"counts_more": True}
    assert breakdown.saved_in_rows(read_known(document)) == ""
    row["first_action"] |= {"gain_s": 20.0, "counts_more": False}
    assert breakdown.saved_in_rows(read_known(document)) == ""


def test_a_saving_that_no_row_holds_is_told_without_rows() -> None:
    document = two_ranks_evaluation()
    row = next(one for one in document["findings"] if one["id"] == document["verdict"]["top"][0])
    for entry in document["losses"]["entries"]:
        entry["findings"] = []
    row["first_action"] |= {"gain_s": 2.0, "own_s": 0.0, "follows_s": 2.0}
    assert breakdown.saved_in_rows(read_known(document)) == ""
    row["first_action"] |= {"own_s": None, "follows_s": None}
    assert breakdown.saved_in_rows(read_known(document)) == ""


@pytest.mark.parametrize(
    ("edits", "seconds", "told"),
    [
        (
            (Edit(level=Level.SHARED),),
            1.0,
            (
                "Of the 2.00 s that sharing the work takes off the 4.00 s for which rank 1 waits, "
                "1.00 s would turn into waiting for other ranks."
            ),
        ),
        ((Edit(ranks=(0,), factor=0.5),), 2.0, ""),
        ((Edit(ranks=(0,)),), 1.0, ""),
        ((), 1.0, ""),
        ((Edit(level=Level.SHARED),), 3.0, ""),
    ],
)
def test_what_is_saved_of_waiting_leaves_the_late_rank_its_part(
    edits: tuple[Edit, ...], seconds: float, told: str
) -> None:
    saving = Gain(seconds, 0.2, basis=Basis.REPLAY, edits=edits)
    finding = Finding(Status.WARN, "Rank 0 is late", "", gain=saving, ranks=(0,))
    run = analyze(Plan(steps=10)).results
    found = bridged(finding, run, OF, Waited((1,), 4.0, 4.0)).recommended
    assert found is not None
    assert found.bridge == told


def test_what_others_cost_is_more_than_its_row_or_less() -> None:
    document = two_ranks_evaluation()
    parts = document["breakdown"]
    label = "Training: CPU contention from other processes"
    lost = {"id": "lost", "label": label, "seconds": 2.0, "cause": "other_processes"}
    document["breakdown"] = [parts[0] | lost, *parts]
    told = {}
    for cost_s in (None, 2.0, 3.0, 1.5):
        document["verdict"]["others_s"] = cost_s
        told[cost_s] = breakdown.of_others(read_known(document))
    plain = {cost_s: text.replace("\xa0", " ") for cost_s, text in told.items()}
    assert plain[None] == ""
    as_it_was = f"The {document['run']['wall_s']:.2f} s run as it was, on the busy host"
    assert plain[2.0] == as_it_was
    host = f"Of what the busy host cost, 2.00 s are in “{label}”; "
    # nothing tells that it is in those of communication, which are as large
    assert plain[3.0] == f"{host}the rest makes other rows longer"
    assert plain[1.5] == (
        f"{as_it_was}: of the 2.00 s in “{label}”, it is 1.50 s longer, and the rest passes "
        "while other ranks are busy anyway"
    )
