"""The trainer recorded with its evaluation on rank 0 and without it: promised beside obtained."""

import json
from pathlib import Path

import pytest

from perfscope.cli.main import main
from tests.examples.trainer_run import TINY, record_trainer

REPEATS = 4
STEPS = ("--work", "sleep", "--forward-ms", "10", "--backward-ms", "20", "--steps", "100")
FAULT = ("--evaluate-every", "25", "--evaluate-ms", "500")
PLANTED_S = 3 * 0.5  # of four evaluations; the last may overlap with the end of the run
GAIN_TOLERANCE = 0.15  # of two noisy sides


@pytest.mark.long
def test_what_was_promised_is_obtained(tmp_path: Path) -> None:
    """Repeats of both sides are recorded in turn, so that a drift of the machine hits both."""
    for number in range(REPEATS):
        for name, options in (("before", FAULT), ("after", ())):
            place = tmp_path / name / f"repeat-{number}"
            place.parent.mkdir(exist_ok=True)
            record_trainer(place, *TINY, *STEPS, *options)
    sides = [str(tmp_path / name) for name in ("before", "after")]
    assert main(["compare", *sides, "-o", str(tmp_path / "out"), "--fail-on", "slower"]) == 0
    study = json.loads((tmp_path / "out" / "study.json").read_text(encoding="utf-8"))
    found = study["compare"]
    [comparison] = found["comparisons"]
    assert comparison["answer"] == "faster"
    assert comparison["counts"] == [REPEATS, REPEATS]
    changes = {row["id"]: row["change"] for row in found["finding_changes"]}
    assert changes["rank_zero_evaluation"] == "gone"
    prediction = comparison["prediction"]
    assert prediction["obtained_s"] > PLANTED_S
    assert prediction["predicted_s"] == pytest.approx(prediction["obtained_s"], rel=GAIN_TOLERANCE)
    parts = {part["id"]: part["delta_s"] for part in found["waterfall"]["steps"][0]["parts"]}
    assert parts["evaluation"] < -PLANTED_S / 2  # of a mean rank: rank 0 has it, the other waits
    assert [row["name"] for row in found["differences"]][:1] == ["command"]
