"""`perfscope compare` as it is typed: sides, gates, files, and errors in three lines."""

import json
from pathlib import Path
from typing import Any

import pytest

from perfscope.cli.compare import spread
from perfscope.cli.main import main
from tests.support.environments import REPOSITORY

STORED = REPOSITORY / "reports" / "rank_zero_evaluation" / "analysis.json"
REPEATS = (1.0, 1.003, 0.998, 1.001)


@pytest.fixture
def stored() -> dict[str, Any]:
    document: dict[str, Any] = json.loads(STORED.read_text(encoding="utf-8"))
    return document


def write_side(directory: Path, document: dict[str, Any], slower: float) -> Path:
    """Stored results of repeats that take `slower` times as long."""
    for number, factor in enumerate(REPEATS):
        run = dict(document["run"])
        run["wall_s"] *= slower * factor
        run["start_unix_s"] += number + slower
        place = directory / f"repeat-{number}"
        place.mkdir(parents=True)
        text = json.dumps({**document, "run": run})
        (place / "analysis.json").write_text(text, encoding="utf-8")
    return directory


def compare(*words: object) -> int:
    return main(["compare", *map(str, words)])


def test_a_slower_side_fails_the_gate_and_leaves_its_files(
    tmp_path: Path, stored: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    before, after = (write_side(tmp_path / n, stored, s) for n, s in (("a", 1.0), ("b", 1.1)))
    out, markdown = tmp_path / "out", tmp_path / "comment.md"
    assert compare(before, after, "-o", out, "--fail-on", "slower", "--markdown", markdown) == 1
    shown = capsys.readouterr()
    assert "Verdict: b is slower than a: wall time" in " ".join(shown.out.split())
    assert "Gate failed: b is slower than a" in shown.err
    assert json.loads((out / "study.json").read_text(encoding="utf-8"))["kind"] == "compare"
    assert "<h1" in (out / "study.html").read_text(encoding="utf-8")
    assert markdown.read_text(encoding="utf-8").startswith("### ❌")
    assert compare(after, before, "-o", out, "--fail-on", "slower") == 0


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ((), 0),
        (("--fail-on", "unclear"), 0),
        (("--fail-on", "slower", "--factor", "1.2"), 0),
        (("--fail-on", "new-finding", "--fail-on", "unlike"), 0),
    ],
)
def test_gates_that_hold(
    tmp_path: Path, stored: dict[str, Any], words: tuple[str, ...], code: int
) -> None:
    slower = 1.1 if "--factor" in words else 1.0
    before, after = (write_side(tmp_path / n, stored, s) for n, s in (("a", 1.0), ("b", slower)))
    assert compare(before, after, "-o", tmp_path / "out", *words) == code


@pytest.mark.parametrize("gate", ["slower", "unclear", "unlike", "new-finding"])
def test_a_side_of_crashes_passes_no_gate(
    tmp_path: Path, stored: dict[str, Any], capsys: pytest.CaptureFixture[str], gate: str
) -> None:
    before = write_side(tmp_path / "a", stored, 1.0)
    stored["run"]["exit_code"] = 1
    after, out = write_side(tmp_path / "b", stored, 1.0), tmp_path / "out"
    assert compare(before, after, "-o", out, "--fail-on", gate) == 3
    told = [x for x in capsys.readouterr().err.splitlines() if not x.startswith("Reading run")]
    assert len(told) == 3
    assert "No run of b counts" in told[0]
    assert "exit code 1" in told[1]
    found = json.loads((out / "study.json").read_text(encoding="utf-8"))["compare"]
    assert found["finding_changes"] == []
    assert found["finding_changes_reason"] == "no run of b counts"
    assert found["unlike"] == []
    page = " ".join((out / "study.html").read_text(encoding="utf-8").split())
    assert "Which findings appeared or disappeared is unknown" in page
    assert compare(before, after, "-o", out) == 0


def test_json_and_the_page_are_the_same_each_time(
    tmp_path: Path, stored: dict[str, Any], capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    before, after = (write_side(tmp_path / n, stored, s) for n, s in (("a", 1.0), ("b", 1.05)))
    shown = []
    for _ in range(2):
        assert compare(before, after, "-o", tmp_path / "out", "--json") == 0
        page = (tmp_path / "out" / "study.html").read_bytes()
        shown.append((capsysbinary.readouterr().out, page))
    assert shown[0] == shown[1]
    assert json.loads(shown[0][0])["compare"]["comparisons"][0]["answer"] == "slower"


def test_sides_by_before_and_after(tmp_path: Path, stored: dict[str, Any]) -> None:
    a, b = (write_side(tmp_path / n, stored, s) for n, s in (("a", 1.0), ("b", 1.0)))
    words = ["--before", *sorted(a.iterdir()), "--after", *sorted(b.iterdir())]
    assert compare(*words, "-o", tmp_path / "out") == 0
    found = json.loads((tmp_path / "out" / "study.json").read_text(encoding="utf-8"))["compare"]
    assert [side["label"] for side in found["sides"]] == ["before", "after"]
    assert [len(side["runs"]) for side in found["sides"]] == [4, 4]


def test_the_paths_of_before_end_at_the_next_option() -> None:
    words = ["--before", "a", "b", "--json", "--after", "c", "d", "--", "e"]
    wanted = ["--before", "a", "--before", "b", "--json", "--after", "c", "--after", "d", "--", "e"]
    assert spread(words) == wanted


@pytest.mark.parametrize(
    ("words", "code", "what"),
    [
        (("{a}",), 2, "nothing to compare with"),
        (("{a}", "--before", "{b}"), 2, "belong together"),
        (("--before", "{a}"), 2, "belong together"),
        (("{a}", "{a}"), 2, "given twice"),
        (("{a}", "{missing}"), 3, "nothing at"),
        (("{a}", "{b}", "--label", "x"), 2, "labels"),
        (("{a}", "{b}", "--label", "x", "--label", "x"), 2, "same label"),
        (("{a}", "{b}", "--target", "loss"), 2, "cannot be used"),
        (("{a}", "{b}", "--target", "loss<=1.2.3"), 2, "cannot be used"),
        (("{a}", "{b}", "-o", "/dev/null/x"), 2, "Cannot write"),
    ],
)
def test_what_is_wrong_is_three_lines(
    tmp_path: Path,
    stored: dict[str, Any],
    capsys: pytest.CaptureFixture[str],
    words: tuple[str, ...],
    code: int,
    what: str,
) -> None:
    places = {name: write_side(tmp_path / name, stored, 1.0) for name in ("a", "b")}
    filled = [word.format(**places, missing=tmp_path / "missing") for word in words]
    filled += [] if "-o" in words else ["-o", str(tmp_path / "out")]
    assert compare(*filled) == code
    told = [
        line for line in capsys.readouterr().err.splitlines() if not line.startswith("Reading run")
    ]
    assert len(told) == 3
    assert what in told[0]


@pytest.mark.parametrize("command", ["compare", "history"])
def test_a_factor_that_is_no_number_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    assert main([command, str(tmp_path), str(tmp_path), "--factor", "nan"]) == 2
    assert "'nan' is no finite number" in capsys.readouterr().err


def test_a_damaged_repeat_is_named(
    tmp_path: Path, stored: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    before, after = (write_side(tmp_path / n, stored, 1.0) for n in ("a", "b"))
    (after / "repeat-2" / "analysis.json").write_text('{"schema_version": ', encoding="utf-8")
    assert compare(before, after, "-o", tmp_path / "out") == 3
    assert "repeat-2" in capsys.readouterr().err


def test_recordings_of_this_repository_are_compared(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sides = [REPOSITORY / "reports" / name for name in ("rank_zero_evaluation", "sgan_evaluation")]
    assert compare(*sides, "-o", tmp_path / "out") == 0
    assert "It is unknown whether" in " ".join(capsys.readouterr().out.split())
