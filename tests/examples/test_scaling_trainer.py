"""The example of docs/scaling.md, really run with 1, 2 and 4 ranks."""

import json
from pathlib import Path
from typing import Any

import pytest

from perfscope.cli.main import main
from perfscope.errors import ExitCode
from tests.examples.trainer_run import TINY, trainer_command
from tests.support import recording

RANKS = (1, 2, 4)
# Sleeping work scales ideally however few cores there are.
WORK = (
    "--work",
    "sleep",
    "--markers",
    "--batch",
    "16",
    "--forward-ms",
    "20",
    "--backward-ms",
    "20",
)


def series(place: Path, samples: dict[int, int], *options: str) -> dict[str, Any]:
    """The scaling study of recorded runs at each number of ranks."""
    for ranks in RANKS:
        sized = (*TINY, *WORK, "--samples", str(samples[ranks]), "--epochs", "2", *options)
        command = trainer_command(place / "log.jsonl", *sized, ranks=ranks)
        done = recording.record(command, cwd=place, output=place / str(ranks))
        assert done.exit_code == 0, done.stderr
    runs = [str(place / str(ranks)) for ranks in RANKS]
    assert main(["scaling", *runs, "-o", str(place / "study")]) == ExitCode.OK
    document = json.loads((place / "study" / "study.json").read_text(encoding="utf-8"))
    assert isinstance(document, dict)
    return document


@pytest.mark.long
def test_strong_scaling_with_an_evaluation_that_stays(tmp_path: Path) -> None:
    found = series(tmp_path, dict.fromkeys(RANKS, 2048), "--evaluate-ms", "1500")
    assert found["scaling"]["growth"]["kind"] == "strong"
    assert found["scaling"]["growth"]["basis"] == "samples"
    finding = next(row for row in found["findings"] if row["id"] == "serial_phase")
    assert finding["status"] == "fail"
    assert "Evaluation" in finding["title"]
    # 2 x 1.5 s of 2 x (1.5 s + 128 steps of 40 ms)
    law = found["scaling"]["parts"][0]["amdahl"]
    assert law["value"] == pytest.approx(1.5 / (1.5 + 128 * 0.04), abs=0.1)


@pytest.mark.long
def test_weak_scaling_without_a_fault(tmp_path: Path) -> None:
    samples = {ranks: 1024 * ranks for ranks in RANKS}
    found = series(tmp_path, samples, "--evaluate-every", "none")
    assert found["scaling"]["growth"]["kind"] == "weak"
    assert found["scaling"]["growth"]["work_ratio"] == pytest.approx(4.0)
    assert found["scaling"]["points"][-1]["speedup"] > 2  # ideal is 4
    loud = {row["id"] for row in found["findings"] if row["status"] in ("fail", "warn")}
    assert "serial_phase" not in loud
    assert "evaluation_frequency" not in loud
