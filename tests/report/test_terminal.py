"""The terminal summary: what the document holds, in any width, without tricks of the traced "
"program."""

import io
import re
from typing import Any

import pytest
from rich.console import Console

from perfscope.report.terminal import LEAST_BESIDE, MOST_BAR_WIDTH, print_summary
from perfscope.schema.read import read_known
from perfscope.units import format_seconds, format_share
from tests.report import sample_document

MOST_LINES = 62  # of a page at 80 columns
SAMPLES = ("two_ranks_evaluation", "four_ranks_healthy", "everything_null", "thousand_ranks")


def shown(document: dict[str, Any], *, width: int = 80, terminal: bool = False) -> str:
    """What is printed."""
    stream = io.StringIO()
    console = Console(
        file=stream,
        width=width,
        force_terminal=terminal,
        no_color=not terminal,
        color_system="standard" if terminal else None,
        legacy_windows=False,
    )
    print_summary(read_known(document), console)
    return stream.getvalue()


@pytest.mark.parametrize("width", [40, 60, 80, 200])
@pytest.mark.parametrize("name", SAMPLES)
def test_fits_every_width(name: str, width: int) -> None:
    text = shown(getattr(sample_document, name)(), width=width)
    assert max(len(row) for row in text.splitlines()) <= width
    assert not any(row.endswith(" ") for row in text.splitlines() if not row.startswith("  "))


@pytest.mark.parametrize("name", SAMPLES)
def test_plain_output_is_ascii(name: str) -> None:
    text = shown(getattr(sample_document, name)())
    assert text.isascii()
    assert "\x1b" not in text


def test_every_width_has_the_seconds_of_each_account() -> None:
    document = sample_document.two_ranks_evaluation()
    rows = [row for row in document["breakdown"] if row["id"] not in ("of_verdict", "of_work")]
    for width in (40, 80):
        text = shown(document, width=width)
        for row in rows:
            share, spent = format_share(row["share"]), format_seconds(row["seconds"])
            told = rf"{row['label'][:8]}.* {share} +{spent}$"
            assert re.search(told.replace("\xa0", " "), text, re.MULTILINE)


LOST = ("Computation: Python code outside numeric libraries", "Computation: waiting for a CPU")


@pytest.mark.parametrize("width", [40, 60, 80, 120, 200])
def test_no_cause_is_cut_and_no_number_loses_its_unit(width: int) -> None:
    document = sample_document.two_ranks_evaluation()
    parts = document["breakdown"]
    parts += [parts[0] | {"id": "lost", "label": label} for label in LOST]
    text = shown(document, width=width)
    table = text[text.index("Where the time went") :].splitlines()
    labels = " ".join(" ".join(re.split(r" +#| {2,}\d", row)[0] for row in table).split())
    for part in parts:
        assert part["label"] in (labels if part["id"] != "of_verdict" else part["label"])
    assert "..." not in labels
    assert re.findall(r"\d\n +?(?:%|[mun]?s|min|h|[KMG]iB)\b|\d\n(?:%|[mun]?s|min)\b", text) == []
    is_wide = width >= max(map(len, LOST)) + MOST_BAR_WIDTH + LEAST_BESIDE
    assert all((f"  {label} " in text) >= is_wide for label in LOST)


def test_where_to_look_is_told_of_every_finding() -> None:
    document = sample_document.two_ranks_evaluation()
    found = [row for row in document["findings"] if row["id"] in document["verdict"]["top"]]
    places = [row for row in found if row["where"] or row["ranks"]]
    assert places
    text = shown(document)
    assert text.count("   Line to open: ") == len(found)
    for row in places:
        row["ranks"] = [1]
    assert "   Ranks: rank 1" in shown(document)
    for row in places:
        row["ranks"] = [1, 0]
    assert "   Ranks: all ranks" in shown(document)
    assert "Ranks: ranks 0" not in shown(document)
    for row in places:
        row["ranks"], row["where"] = [0], [{"file": "/job/a.py", "line": 3, "function": "write"}]
        row["holder"] = {"kind": "file_lock", "rank": 1, "thread": None, "share": 0.9}
        row["holder"]["where"] = row["where"][0]
    assert "   Ranks: rank 1\n   Line to open: a.py:3 in write()\n" in shown(document)


def test_the_verdict_comes_first_and_bars_are_of_a_hundred_per_cent() -> None:
    document = sample_document.two_ranks_evaluation()
    text = shown(document, width=200)
    assert text.index("Verdict: ") < text.index("Can I trust this?") < text.index("Parallel eff")
    for row in [one for one in document["breakdown"] if one["id"] not in ("of_verdict", "of_work")]:
        bar = re.search(rf"^  {row['label']} +(#+)", text, re.MULTILINE)
        assert bar is None or len(bar[1]) == max(1, round(28 * row["share"]))


def test_says_what_matters() -> None:
    document = sample_document.two_ranks_evaluation()
    text = " ".join(shown(document).split())
    assert "2 ranks on host node01" in text
    assert document["verdict"]["sentence"] in text
    for name in document["verdict"]["top"]:
        finding = next(f for f in document["findings"] if f["id"] == name)
        assert finding["title"] in text
        if finding["actions"]:
            assert finding["actions"][0] in text
    assert "Parallel efficiency 0." in text
    assert "= load balance" in text
    for row in document["ledger"]:
        assert (row["label"][:20] in text) == (row["seconds"] > 0)
    assert "Whole run" in text
    assert 'What the fix saves is in "' in text
    # where no row holds it, how much the cause takes is told
    for entry in document["losses"]["entries"]:
        entry["findings"] = []
    text = " ".join(shown(document).split())
    lost = [row for row in document["breakdown"] if row["id"] == "of_verdict"]
    for row in lost:
        assert f"Already counted in the rows above: {row['label'].lower()}, " in text
        waited = format_seconds(row["waiting_s"])
        assert f"including {waited} that other ranks spent waiting because of it" in text
    assert lost


def test_what_a_row_tells_of_the_verdict_is_not_told_again() -> None:
    """Of waiting that is as good as all of it, the row of waiting has the figure already."""
    document = sample_document.two_ranks_evaluation()
    for entry in document["losses"]["entries"]:
        entry["findings"] = []
    row = next(one for one in document["breakdown"] if one["id"] == "communication_wait")
    part = row | {"id": "of_verdict", "label": "Waiting for other ranks: train"}
    document["breakdown"] = [one for one in document["breakdown"] if one["id"] != "of_verdict"]
    document["breakdown"].append(part | {"waiting_s": row["seconds"]})
    text = " ".join(shown(document).split())
    assert 'Nearly all waiting in "Communication: waiting" is due to the problem above.' in text
    assert "Already counted" not in text
    document["breakdown"][-1]["seconds"] = document["breakdown"][-1]["waiting_s"] = 0.1
    assert "Already counted in the rows above: waiting" in " ".join(shown(document).split())


def test_names_what_the_run_is_made_of_and_whom_it_waits_for() -> None:
    document = sample_document.two_ranks_evaluation()
    path = document["replay"]["critical_path"]
    path |= {"seconds": 10.0, "work_s": 9.5, "transfer_s": 0.5}
    spent = {"forward": 5.0, "backward": 2.0, "": 1.5, "evaluate": 0.75, "checkpoint": 0.25}
    path["by_phase"] = [{"phase": phase, "seconds": s} for phase, s in spent.items()]
    document["replay"]["delay_costs"]["causes"][0]["share"] = 0.75
    text = " ".join(shown(document).split())
    wanted = "forward 50.0 %, backward 20.0 %, work in no phase 15.0 %, other work 10.0 %"
    assert f"Critical path 10.0 s: {wanted}, transfer 5.0 %" in text
    assert "waited 2.49 s for each other; 75.0 % of it is due to evaluation on rank 0" in text


def test_serialization_and_transfer_stand_where_they_are_known() -> None:
    document = sample_document.two_ranks_evaluation()
    product = "Communication efficiency 0.957 = serialization efficiency 0.9"
    assert product in " ".join(shown(document).split())
    document["metrics"]["transfer_efficiency"] |= {"value": None, "reason": "clocks disagree"}
    assert "serialization" not in shown(document)


def test_gains_are_also_told_of_the_planned_run() -> None:
    document = sample_document.two_ranks_evaluation()
    first = document["findings"][0]
    first["planned"] = {"steps": 40_000, "gain_s": 7200.0, "runtime_s": 9000.0, "reason": None}
    assert "of 40,000 planned steps: 2 h 00 min" in " ".join(shown(document).split())
    first["planned"] |= {"gain_s": None, "reason": "no steps were found"}
    wanted = "of 40,000 planned steps: not known, no steps were found"
    assert wanted in " ".join(shown(document).split())


@pytest.mark.parametrize("name", SAMPLES)
def test_is_one_page(name: str) -> None:
    assert len(shown(getattr(sample_document, name)()).splitlines()) <= MOST_LINES


def test_what_is_missing_is_said() -> None:
    text = shown(sample_document.everything_null())
    assert "Parallel efficiency is not available" in text


@pytest.mark.parametrize("terminal", [False, True])
def test_hostile_text_sends_nothing_to_the_terminal(*, terminal: bool) -> None:
    text = shown(sample_document.hostile(), terminal=terminal)
    for character in "\x1b\x07\x00\u202e\u2066":
        # the colors of the summary itself are escape sequences of the form ESC [ digits m
        stripped = text
        if character == "\x1b" and terminal:
            stripped = re.sub(r"\x1b\[[0-9;]*m", "", text)
            assert "\x1b[31mred" not in text
        assert character not in stripped


def test_markup_is_not_interpreted() -> None:
    document = sample_document.two_ranks_evaluation()
    document["verdict"]["sentence"] = "[bold red]evil[/] [link=file:///etc/passwd]x[/link]"
    document["run"]["command"] = ["python", "[/]", "[red]"]
    text = shown(document, terminal=True)
    assert "[bold red]evil[/] [link=file:///etc/passwd]x[/link]" in text
    assert "file:///etc/passwd\x1b" not in text


def test_endless_text_is_cut() -> None:
    document = sample_document.two_ranks_evaluation()
    document["run"]["command"] = ["python", "x" * 1_000_000]
    assert len(shown(document)) < 6000


@pytest.mark.parametrize(
    ("reasons", "told"),
    [
        (["no counters"], "   Not checked: no counters"),
        (["no counters"] * 2, "   Not checked: no counters"),
        (
            ["no counters", "no steps", "no counters"],
            "   Not checked, mostly for this reason: no counters",
        ),
        (["no counters", "no steps"], ""),  # one of several reasons says little
    ],
)
def test_why_diagnoses_could_not_be_made(reasons: list[str], told: str) -> None:
    document = sample_document.four_ranks_healthy()
    like = document["findings"][0]
    rows = [row for row in document["findings"] if row["status"] == "pass"]
    unmade = [like | {"status": "not_measured", "summary": reason} for reason in reasons]
    text = shown(document | {"findings": rows + unmade}, width=200)
    assert [one for one in text.splitlines() if "Not checked" in one] == ([told] if told else [])


def test_efficiencies_of_a_busy_host_say_so() -> None:
    document = sample_document.two_ranks_evaluation()
    said = "Other work on the host is in these efficiencies"
    low = document["metrics"]["communication_efficiency"] | {"value": 0.5}
    document["metrics"]["communication_efficiency"] = low
    assert said not in shown(document)
    row = {"id": "other_work", "status": "warn", "title": "Others", "detail": "Others."}
    document["quality"].append(row)
    assert said in shown(document)
    document["metrics"]["communication_efficiency"] = low | {"value": 0.99}
    assert said not in shown(document)


@pytest.mark.parametrize(
    ("count", "source", "told"),
    [
        (5, "collectives", "(median of 5, inferred from repeating calls; an inner loop may be"),
        (200, "collectives", "(median, inferred from repeating calls)"),
        (5, "marker", "(median)"),
    ],
)
def test_of_few_steps_that_were_inferred_their_number_is_told(
    count: int, source: str, told: str
) -> None:
    document = sample_document.two_ranks_evaluation()
    document["run"]["throughput"].update(steps=count, step_source=source)
    assert told in " ".join(shown(document, width=200).split())
