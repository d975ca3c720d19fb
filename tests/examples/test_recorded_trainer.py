"""Recording the trainer changes no result, names each planted fault, and predicts the gain."""

from pathlib import Path
from typing import Any

import pytest

from tests.examples.trainer_run import TINY, finding, record_trainer, run_trainer

UNLABELED_LIMIT = 0.05
GAIN_TOLERANCE = 0.1
SPREAD_TOLERANCE = 0.2  # of a gain whose two sides are both noisy
STEP = ("--work", "sleep", "--forward-ms", "10", "--backward-ms", "20")
LONG_STEP = ("--work", "sleep", "--forward-ms", "40", "--backward-ms", "80")
"""Of which what a busy machine adds, a wake-up that comes late, is a small part."""


def test_recording_changes_no_result(tmp_path: Path) -> None:
    options = (*TINY, "--steps", "40", "--evaluate-every", "10")
    plain = run_trainer(tmp_path, *options)
    recorded, _ = record_trainer(tmp_path, *options)
    marked, _ = record_trainer(tmp_path / "marked", *options, "--markers")
    assert recorded.losses == plain.losses
    assert recorded.accuracy == plain.accuracy
    assert marked.losses == plain.losses


@pytest.mark.parametrize(
    "markers",
    [
        pytest.param((), id="samples"),
        pytest.param(("--markers",), id="markers", marks=pytest.mark.long),
    ],
)
def test_evaluation_on_rank_zero(tmp_path: Path, markers: tuple[str, ...]) -> None:
    options = (*TINY, *LONG_STEP, "--steps", "32")
    evaluation = ("--evaluate-every", "8", "--evaluate-ms", "600")
    planted, analysis = record_trainer(tmp_path, *options, *evaluation, *markers)
    verdict = finding(analysis, "rank_zero_evaluation")
    assert verdict["status"] == "fail"
    assert verdict["ranks"] == [0]
    assert ("train_numpy.py", "evaluate") in places(verdict)
    assert line_is_in(verdict, "evaluate")
    assert verdict["gain_s"] == pytest.approx(planted.without_s("evaluate"), rel=GAIN_TOLERANCE)
    assert analysis["unlabeled"]["share"] <= UNLABELED_LIMIT
    assert "evaluate" in analysis["verdict"]["sentence"]
    assert "rank_zero_evaluation" in analysis["verdict"]["top"]
    assert analysis["replay"]["available"], analysis["replay"]["reason"]
    assert analysis["replay"]["relative_error"] < 1e-6


@pytest.mark.long
def test_slow_rank(tmp_path: Path) -> None:
    options = (*TINY, *STEP, "--steps", "150", "--evaluate-every", "none")
    slow = ("--slow-rank", "1", "--slow-ms", "15", "--slow-where", "backward")
    # The markers tell that both ranks process equally many samples: rank 1 should be as fast.
    planted, analysis = record_trainer(tmp_path, *options, *slow, "--markers")
    verdict = finding(analysis, "straggler")
    assert verdict["status"] == "fail"
    assert verdict["ranks"] == [1]
    given_back_s = planted.critical_s() - planted.critical_s(ranks=(0,))
    assert verdict["gain_s"] == pytest.approx(given_back_s, rel=GAIN_TOLERANCE)
    work_s = [planted.critical_s(ranks=(rank,)) for rank in (0, 1)]
    balance = sum(work_s) / (2 * max(work_s))
    assert analysis["metrics"]["load_balance"]["value"] == pytest.approx(balance, abs=0.02)
    assert finding(analysis, "rank_zero_evaluation")["status"] == "pass"


@pytest.mark.long
def test_slow_rank_without_markers(tmp_path: Path) -> None:
    options = (*TINY, *STEP, "--steps", "150", "--evaluate-every", "none")
    planted, analysis = record_trainer(tmp_path, *options, "--slow-rank", "1", "--slow-ms", "15")
    verdict = finding(analysis, "load_imbalance")
    assert verdict["status"] == "fail"
    assert verdict["ranks"] == [1]
    # Rank 1 may have more to do: of two ranks only an even spread of the same work is certain.
    work_s = [planted.critical_s(ranks=(rank,)) for rank in (0, 1)]
    given_back_s = planted.critical_s() - sum(work_s) / 2
    assert verdict["gain_s"] == pytest.approx(given_back_s, rel=SPREAD_TOLERANCE)


@pytest.mark.long
def test_another_rank_slow_in_each_step(tmp_path: Path) -> None:
    options = (*TINY, *STEP, "--steps", "150", "--evaluate-every", "none")
    _, analysis = record_trainer(tmp_path, *options, "--random-slow-ms", "30")
    metrics = analysis["metrics"]
    assert metrics["load_balance"]["value"] > 0.9
    assert metrics["serialization_efficiency"]["value"] < 0.85
    # milder where the machine's CPUs were crowded, which makes ranks late in turn as well
    verdict = finding(analysis, "transient_imbalance")
    is_contended = "because the ranks wait for CPUs" in verdict["title"]
    assert verdict["status"] in ({"warn", "info"} if is_contended else {"fail", "warn"})
    assert "different rank is late" in verdict["title"]


def test_healthy_run(tmp_path: Path) -> None:
    options = (*TINY, *LONG_STEP, "--steps", "60", "--evaluate-every", "none")
    _, analysis = record_trainer(tmp_path, *options)
    assert {f["status"] for f in analysis["findings"]}.isdisjoint({"fail", "error"})
    metrics = {name: one["value"] for name, one in analysis["metrics"].items() if "value" in one}
    product = metrics["load_balance"] * metrics["communication_efficiency"]
    assert metrics["parallel_efficiency"] == pytest.approx(product)
    assert analysis["unlabeled"]["share"] <= UNLABELED_LIMIT


def places(verdict: dict[str, Any]) -> set[tuple[str, str]]:
    """File name and function of each place that a finding names."""
    return {(Path(where["file"]).name, where["function"]) for where in verdict["where"]}


def line_is_in(verdict: dict[str, Any], function: str) -> bool:
    """Whether the named line lies in the function, in the source as it is."""
    where = next(w for w in verdict["where"] if w["function"] == function)
    lines = Path(where["file"]).read_text(encoding="utf-8").splitlines()
    above = [line for line in lines[: where["line"]] if line.startswith("def ")]
    return above[-1].startswith(f"def {function}(")
