"""Progress output too often, for real: named with its line, and the cure's gain predicted."""

import re
from pathlib import Path
from typing import Any

import pytest

from tests.support import environments, recording
from tests.support.environments import REPOSITORY

SCRIPT = REPOSITORY / "examples" / "faults" / "progress_output.py"
RESULT = re.compile(r"^result: error (\S+)  seconds (\S+)", re.MULTILINE)
EPOCHS = 120
PAIRS = 3
GAIN_TOLERANCE = 0.1


def command(*options: str) -> list[str]:
    return environments.mpi("mpich").python_command(2, SCRIPT, *options)


def recorded(directory: Path, *options: str) -> tuple[float, dict[str, Any]]:
    """Seconds by the program's own clock, and the analysis."""
    directory.mkdir()
    done, document = recording.record_and_analyze(command(*options), place=directory)
    found = RESULT.search(done.stdout)
    assert found is not None
    return float(found[2]), document


def output_of(document: dict[str, Any]) -> dict[str, Any]:
    found = next(f for f in document["findings"] if f["id"] == "frequent_evaluation")
    assert isinstance(found, dict)
    return found


def test_it_learns_and_prints_on_every_rank(tmp_path: Path) -> None:
    words = environments.mpi("mpich").python_command(
        2, SCRIPT, "--epochs", "4", "--samples", "256", "--print-every", "2"
    )
    done = recording.run_plain(words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    lines = re.findall(r"^epoch +(\d+)  rank (\d)  error (\S+)$", done.stdout, re.MULTILINE)
    assert sorted((epoch, rank) for epoch, rank, _ in lines) == [
        (epoch, rank) for epoch in ("2", "4") for rank in ("0", "1")
    ]
    assert len({error for epoch, _, error in lines if epoch == "4"}) == 1
    found = RESULT.search(done.stdout)
    assert found is not None
    assert float(found[1]) < 0.5


def test_too_often_is_named_with_the_line_that_calls_it(tmp_path: Path) -> None:
    _, document = recorded(tmp_path / "often", "--epochs", "24", "--samples", "4000")
    finding = output_of(document)
    assert finding["status"] == "fail"
    assert "Progress output too often: print_progress() (progress_output.py:" in finding["title"]
    assert finding["ranks"] == [0, 1]
    where = finding["where"][0]
    source = SCRIPT.read_text(encoding="utf-8").splitlines()
    assert where["function"] == "main"
    assert "print_progress(" in source[where["line"] - 1]


@pytest.mark.long
@pytest.mark.timeout(900)
def test_the_gain_of_every_30_epochs_is_the_real_one(tmp_path: Path) -> None:
    """The median of pairs of runs, as other programs may run beside one of them."""
    predicted, measured = [], []
    for pair in range(PAIRS):
        often_s, document = recorded(tmp_path / f"often-{pair}", "--epochs", str(EPOCHS))
        rarely_s, cured = recorded(
            tmp_path / f"rarely-{pair}", "--epochs", str(EPOCHS), "--print-every", "30"
        )
        finding = output_of(document)
        assert "every 30th time only" in finding["actions"][0]
        assert finding["gain_basis"] == "replay"
        predicted.append(finding["gain_s"])
        measured.append(often_s - rarely_s)
        assert output_of(cured)["status"] == "pass"
    middle = PAIRS // 2
    assert sorted(predicted)[middle] == pytest.approx(sorted(measured)[middle], rel=GAIN_TOLERANCE)
