"""From a real two-rank training run to the verdict, with the example program."""

import json
from pathlib import Path

import pytest

from perfscope.cli.main import main
from perfscope.schema.check import problems
from tests.support.environments import REPOSITORY, Mpi
from tests.support.recording import Recorder

TRAINER = REPOSITORY / "examples" / "train_numpy.py"


def line_of(function: str) -> int:
    """The line on which a function of the example begins."""
    lines = TRAINER.read_text(encoding="utf-8").splitlines()
    return next(n for n, text in enumerate(lines, start=1) if text.startswith(f"def {function}("))


def test_rank_zero_evaluation_is_named_without_markers(
    record: Recorder, mpich: Mpi, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ("--steps=60", "--samples=4096", "--evaluate-every=10", "--evaluate-ms=400")
    recorded = record(mpich.python_command(2, TRAINER, *options, "--work=sleep"))
    assert recorded.exit_code == 0, recorded.stderr
    assert main(["analyze", str(recorded.directory)]) == 0
    document = json.loads((recorded.directory / "analysis.json").read_text(encoding="utf-8"))
    assert list(problems(document)) == []
    assert document["replay"]["available"], document["replay"]["reason"]
    assert document["replay"]["relative_error"] < 1e-6
    finding = next(f for f in document["findings"] if f["id"] == "rank_zero_evaluation")
    assert finding["status"] == "fail"
    assert finding["ranks"][0] == 0
    place = finding["where"][0]
    assert Path(place["file"]).name == "train_numpy.py"
    assert place["function"] == "evaluate"
    assert 0 <= place["line"] - line_of("evaluate") < 30
    # the sleep alone is 0.4 s, and at least five of the six evaluations end before a collective
    assert finding["gain_s"] > 5 * 0.35
    assert "rank_zero_evaluation" in document["verdict"]["top"]
    for position in range(2):
        life = sum(row["ns_by_rank"][position] for row in document["ledger"])
        assert life > 0
    assert "Verdict:" in capsys.readouterr().out
