"""No page tells one fact in two ways: what a first reader of pages and terminals stumbled over."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from perfscope.report.sections import breakdown
from perfscope.report.sections.findings import fix_text, saving_text, size_text, weight, wholes
from perfscope.report.sections.sureness import answer, doubt
from perfscope.report.sections.what_to_do import what_to_do
from perfscope.savings import Wholes
from perfscope.schema.read import read_known
from perfscope.units import NS, format_seconds
from tests.report.page_numbers import plain
from tests.report.page_outline import shown as section
from tests.report.sample_document import two_ranks_evaluation
from tests.report.test_consistency import NAMES, REFERENCES, SAMPLES, Shown, shown, texts_of
from tests.report.test_first_screen import leading
from tests.support.requirements import require_reference

Json = dict[str, Any]
OF = Wholes(None, None)
SAVED = re.compile(r"(\(| )what the first action would save, about ([\d.]+ \w+) \(")
MOSTLY = re.compile(r"Devices are idle [^.]*, (mostly|partly) ")
PART = re.compile(r"([\d.]+) % of the idle time passes")
CUT = re.compile(r"\(\d[\d,]* characters\)")


@pytest.fixture(params=[*SAMPLES, *REFERENCES], ids=[*NAMES, *REFERENCES])
def trace(request: pytest.FixtureRequest) -> Shown:
    """A recording or a trace of another tool."""
    chosen = request.param
    return shown(require_reference(chosen) if isinstance(chosen, str) else Path(chosen))


def twice_saved(everything: str, document: Json) -> list[str]:
    """What the first finding is said to save that its first action does not."""
    first: Json = next(
        (r for r in document["findings"] if r["id"] in document["verdict"]["top"][:1]), {}
    )
    action = first.get("first_action") or {"gain_s": 0.0}
    known = format_seconds(action["gain_s"] or 0.0)
    return [told for _, told in SAVED.findall(everything.replace("\xa0", " ")) if told != known]


def test_the_first_finding_has_one_saving(trace: Shown) -> None:
    assert twice_saved(trace.everything, trace.document) == []


def with_work(seconds: float) -> Json:
    """A run whose first finding saves work, of which so much is not known to be lost."""
    document = two_ranks_evaluation()
    row = next(r for r in document["findings"] if r["id"] in document["verdict"]["top"][:1])
    row["first_action"] = {**row["first_action"], "gain_s": 2.0}
    parts = [one for one in document["breakdown"] if one["id"] != "of_verdict"]
    work = parts[0] | {"id": "of_work", "label": "Work", "seconds": seconds, "share": seconds / 7}
    document["breakdown"] = [*parts, work]
    return document


@pytest.mark.parametrize(
    ("seconds", "told"),
    [
        (2.0, "what the first action would save, about 2.00 s (28.6 % of the 7.07 s run)"),
        (
            1.4,
            (
                "about 1.40 s (20.0 % of the 7.07 s run) of the 2.00 s that the first action would "
                "save"
            ),
        ),
    ],
)
def test_a_part_of_a_saving_is_called_a_part_of_it(seconds: float, told: str) -> None:
    document = with_work(seconds)
    assert plain(breakdown.work_of_verdict(read_known(document))) == told
    assert twice_saved(section(document, "overview"), document) == []


@pytest.mark.parametrize(
    ("loaded_s", "others_s", "told", "first_screen"),
    [
        (
            3.0,
            None,
            "about 3.00 s (42.4 % of the 7.07 s run); about 2.00 s on an idle host",
            "about 3.00 s of the 7.07 s run (42.4 %)",
        ),
        (
            3.0,
            2.0,
            "about 3.00 s (42.4 % of the 7.07 s run); about 2.00 s on an idle host",
            "about 2.00 s of the 7.07 s run (28.3 %)",
        ),
        (
            None,
            2.0,
            "about 2.00 s (28.3 % of the 7.07 s run)",
            "about 2.00 s of the 7.07 s run (28.3 %)",
        ),
    ],
)
def test_the_first_screen_has_one_clock_and_the_evidence_that_of_an_idle_host_too(
    loaded_s: float | None, others_s: float | None, told: str, first_screen: str
) -> None:
    document = two_ranks_evaluation()
    row = leading(document, gain_s=2.0, gain_basis="upper_bound", gain_interval_s=None)
    row["first_action"]["under_load_s"] = loaded_s
    document["verdict"]["others_s"] = others_s
    result = read_known(document)
    found = next(one for one in result.findings if one.id == row["id"])
    of = wholes(result).of_run
    assert (plain(saving_text(found, of)), plain(fix_text(found, of))) == (told, first_screen)


@pytest.mark.parametrize(
    ("may_be_host", "others_s"), [(True, 3.0), (False, 3.0), (False, 5.0), (False, None)]
)
def test_an_idle_host_comes_first_where_a_busy_one_may_be_the_cause(
    others_s: float | None, *, may_be_host: bool
) -> None:
    """Of 7.07 s processes outside the job took so much, which is no reason by itself."""
    document = two_ranks_evaluation()
    row = leading(document, gain_s=2.0, gain_run_share=0.28, status="fail", confidence="high")
    row |= {"actions": ["Divide the work."], "may_be_host": may_be_host}
    document["verdict"]["others_s"] = others_s
    result = read_known(document)
    found = next(one for one in result.findings if one.id == row["id"])
    word = weight(found, wholes(result)).word
    assert word == ("Possible major problem" if may_be_host else "Major problem")
    assert answer(found).startswith("Partly: ") is may_be_host
    steps = dict(what_to_do(result, found))
    first, then = steps["First action"], steps["Then"]
    assert (
        first.startswith("Record this version on an idle host: `perfscope run -- ") is may_be_host
    )
    assert (then if may_be_host else first).startswith("Divide the work.")


@pytest.mark.parametrize(
    ("loaded_s", "name", "is_both"),
    [(3.0, "repeated_work", True), (3.0, "io_bound", True), (None, "io_bound", False)],
)
def test_on_a_busy_host_a_change_comes_first_and_nothing_is_said_to_rule_the_host_out(
    loaded_s: float | None, name: str, *, is_both: bool
) -> None:
    """Other processes share disks, page cache and network, too."""
    document = two_ranks_evaluation()
    row = leading(document, gain_s=2.0, gain_run_share=0.28, status="fail", confidence="high")
    row |= {"actions": ["Read it once."], "id": name}
    document["verdict"]["top"] = [name]
    row["first_action"]["under_load_s"] = loaded_s
    result = read_known(document)
    found = next(one for one in result.findings if one.id == row["id"])
    steps = dict(what_to_do(result, found))
    assert steps["First action"] == "Read it once."
    assert (
        steps["Then"].startswith("Record this version and the changed one on an idle ") is is_both
    )
    assert "cannot" not in steps["Then"]


@pytest.mark.parametrize("is_inferred", [True, False])
def test_a_problem_whose_cause_is_inferred_says_so_beside_its_size(*, is_inferred: bool) -> None:
    document = two_ranks_evaluation()
    row = leading(document, gain_s=2.0, gain_run_share=0.28, status="fail", confidence="medium")
    row["is_inferred"] = is_inferred
    found = next(one for one in read_known(document).findings if one.id == row["id"])
    assert weight(found, OF).word == f"{'Possible major' if is_inferred else 'Major'} problem"
    assert weight(found, OF).style == ("warn" if is_inferred else "fail major")
    assert (doubt(found) == "its cause is inferred") is is_inferred


@pytest.mark.parametrize(
    ("under_load_s", "others_s", "word"),
    [
        (None, None, "Problem"),
        (1.0, None, "Major problem"),
        (1.0, 1.0, "Problem"),
        (1.0, 3.0, "Problem"),
    ],
)
def test_what_a_problem_weighs_is_a_share_of_the_run_that_savings_are_of(
    under_load_s: float | None, others_s: float | None, word: str
) -> None:
    """A saving of 0.5 s in 7.07 s, or of 1 s as measured, with the load of other processes.

    Where it is known what those cost, the saving counts nothing of that.
    """
    document = two_ranks_evaluation()
    row = leading(document, gain_s=0.5, status="fail", gain_run_share=0.07, confidence="high")
    row["first_action"]["under_load_s"] = under_load_s
    document["verdict"]["others_s"] = others_s
    result = read_known(document)
    of = wholes(result)
    found = next(one for one in result.findings if one.id == row["id"])
    assert weight(found, of).word == word
    size = {"Problem": "3 % to 10 %", "Major problem": "10 % or more"}
    assert size_text(found, of) == f"a fix saves {size[word]} of this run"
    assert "Minor: less than 3 %." in weight(found, of).meaning


def test_a_saving_that_is_told_otherwise_is_found() -> None:
    wrong = "Counted as work: what the first action would save, about 9.87 s (1.0 % of the run)"
    assert twice_saved(wrong, two_ranks_evaluation()) == ["9.87 s"]


def test_a_cause_has_one_number_of_seconds_also_where_a_part_of_it_has_no_row() -> None:
    """What is lost while evaluating is small and has no row, and is lost to the same cause."""
    result = read_known(two_ranks_evaluation())
    entry = next(one for one in result.losses.entries if one.own_ns)
    row = replace(result.breakdown[0], id="lost", label=f"Training: {entry.label.lower()}")
    row = replace(row, cause="any", seconds=entry.own_ns * NS / 4)
    losses = replace(result.losses, entries=(entry,))
    told = breakdown.useful_sentence(replace(result, breakdown=(row,), losses=losses))
    assert f" {format_seconds(entry.own_ns * NS / 2)} per rank" in plain(told)


def test_mostly_is_more_than_half(trace: Shown) -> None:
    for row in trace.document["findings"]:
        for word in MOSTLY.findall(row["title"]):
            [share] = map(float, PART.findall(row["summary"])[:1])
            assert (word == "mostly") == (share >= 50)


def test_one_apostrophe_and_no_mark_of_code_is_seen(trace: Shown) -> None:
    assert [text for text in trace.page if "’" in text or "`" in text] == []


def test_code_in_no_function_is_called_by_its_line(trace: Shown) -> None:
    assert [
        text for text in texts_of(trace.html.replace("code>", "b>")) if "<module>" in text
    ] == []


def test_nothing_saves_less_than_nothing(trace: Shown) -> None:
    assert re.findall(r"save [-−]\d.{20}|\b0 s shorter.{20}", trace.everything) == []


def test_what_to_do_is_told_to_its_end(trace: Shown) -> None:
    assert [line for line in trace.terminal.splitlines() if CUT.search(line)] == []


def test_a_damaged_recording_says_how_to_be_whole_before_what_its_parts_tell() -> None:
    told = shown(require_reference("kineto/hta/trace_filter"))
    overview = told.html[told.html.index('class="verdict') : told.html.index('class="columns"')]
    said = " ".join(texts_of(overview))
    assert "Give perfscope analyze the files of all ranks together." in said
    assert "First action" not in said
    assert "1. Problem: Devices are idle" in told.terminal
