"""The recordings in sample_traces/ are small, clean, and say what their README promises."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.examples.trainer_run import analyse, finding
from tests.support.environments import REPOSITORY as ROOT

SAMPLES = sorted(path.parent for path in (ROOT / "sample_traces").glob("*/run.json"))
SIZE_LIMIT_BYTES = 1_000_000
PRIVATE = re.compile(rb"/(home|root|Users)/|password|secret", re.IGNORECASE)


def test_there_are_samples() -> None:
    assert [path.name for path in SAMPLES] == ["rank_zero_evaluation"]


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.name)
def test_small_described_and_without_private_words(sample: Path) -> None:
    files = [path for path in sample.rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) < SIZE_LIMIT_BYTES
    assert sample / "README.md" in files
    assert not [path for path in files if PRIVATE.search(path.read_bytes())]


def test_rank_zero_evaluation(tmp_path: Path) -> None:
    sample = ROOT / "sample_traces" / "rank_zero_evaluation"
    known = json.loads((sample / "known_values.json").read_text(encoding="utf-8"))
    analysis = analyse(sample, output=tmp_path)
    verdict = finding(analysis, "rank_zero_evaluation")
    evaluations_s = known["seconds_by_rank"]["evaluate"][0]
    assert verdict["status"] == "fail"
    assert verdict["gain_s"] == pytest.approx(evaluations_s, rel=0.1)
    assert analysis["unlabelled"]["share"] <= 0.05


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.name)
def test_the_report_in_the_repository_is_that_of_the_recording(
    sample: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    stored = ROOT / "reports" / sample.name / "analysis.json"
    assert analyse(sample.relative_to(ROOT), output=tmp_path) == json.loads(
        stored.read_text(encoding="utf-8")
    )
