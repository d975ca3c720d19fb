"""`perfscope history` as it is typed."""

import copy
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from perfscope.cli.main import main
from tests.support.environments import REPOSITORY

STORED = REPOSITORY / "reports" / "rank_zero_evaluation" / "analysis.json"
SAMPLE = REPOSITORY / "sample_traces" / "rank_zero_evaluation"
WIGGLE = (0.0, 0.004, -0.003, 0.002, -0.005, 0.001)


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """Twelve runs, of which the last six are a tenth slower."""
    document: dict[str, Any] = json.loads(STORED.read_text(encoding="utf-8"))
    top = tmp_path / "a b #1"
    for number in range(12):
        run = copy.deepcopy(document)
        run["run"]["wall_s"] *= (1 + WIGGLE[number % 6]) * (1.1 if number >= 6 else 1.0)
        run["run"]["throughput"]["step_s_median"]["value"] = run["run"]["wall_s"] / 511
        run["run"]["start_unix_s"] += 86_400 * number
        place = top / f"run-{number}"
        place.mkdir(parents=True)
        (place / "analysis.json").write_text(json.dumps(run), encoding="utf-8")
    return top


def history(*words: object) -> int:
    return main(["history", *map(str, words)])


def test_a_directory_becomes_a_page_a_badge_and_a_gate(
    runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (runs / "run-3" / "report.html").write_text("", encoding="utf-8")
    assert history(runs, "--fail-on", "worse") == 1
    assert "which is worse" in " ".join(capsys.readouterr().out.split())
    found = json.loads((runs / "study.json").read_text(encoding="utf-8"))
    assert found["kind"] == "history"
    assert [row["report"] for row in found["runs"] if row["report"]] == ["./run-3/report.html"]
    assert "▼" in (runs / "badge.svg").read_text(encoding="utf-8")
    assert history(runs, "--factor", "1.2", "--fail-on", "worse") == 0


@pytest.mark.parametrize("name", ["badge.svg", "study.html"])
def test_the_file_that_cannot_be_written_is_named(
    name: str, runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "out" / name / "taken").mkdir(parents=True)
    assert history(runs, "-o", tmp_path / "out") == 2
    assert f"Cannot write {tmp_path / 'out' / name}." in capsys.readouterr().err


def test_reports_are_made_and_linked_from_elsewhere(runs: Path, tmp_path: Path) -> None:
    for number in range(2, 12):
        shutil.rmtree(runs / f"run-{number}")
    assert history(runs, "--reports", "-o", tmp_path / "out") == 0
    page = (tmp_path / "out" / "study.html").read_text(encoding="utf-8")
    assert 'href="../a%20b%20%231/run-1/report.html"' in page
    assert "<h1" in (runs / "run-1" / "report.html").read_text(encoding="utf-8")


def test_a_run_that_cannot_be_read_is_named(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (runs / "run-5" / "analysis.json").write_text("{", encoding="utf-8")
    assert history(runs, "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert len(found["runs"]) == 11
    assert "run-5" in found["history"]["unreadable"][0]["path"]


def test_recordings_and_their_commit_are_read(tmp_path: Path) -> None:
    recording = Path(shutil.copytree(SAMPLE, tmp_path / "h" / "trace"))
    told = json.loads((recording / "run.json").read_text(encoding="utf-8"))
    told["commit"] = {"id": "0123456789" * 4, "branch": "main"}
    (recording / "run.json").write_text(json.dumps(told), encoding="utf-8")
    assert history(tmp_path / "h") == 0
    found = json.loads((tmp_path / "h" / "study.json").read_text(encoding="utf-8"))
    assert found["runs"][0]["commit"] == {"id": "0123456789" * 4, "branch": "main"}
    assert found["history"]["groups"][0]["points"][0]["label"] == "0123456789"


@pytest.mark.parametrize(("name", "code"), [("missing", 3), ("empty", 3)])
def test_what_is_wrong_is_three_lines(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, code: int
) -> None:
    (tmp_path / "empty").mkdir()
    assert history(tmp_path / name) == code
    told = [line for line in capsys.readouterr().err.splitlines() if "Reading run" not in line]
    assert len(told) == 3
