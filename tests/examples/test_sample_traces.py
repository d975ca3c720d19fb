"""The recordings in sample_traces/ are small, clean, and say what their README promises."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from scripts.sample_runs import SAMPLES as MADE
from tests.examples.trainer_run import finding
from tests.support.environments import REPOSITORY as ROOT

SAMPLES = sorted(path.parent for path in (ROOT / "sample_traces").glob("*/run.json"))
SIZE_LIMIT_BYTES = 600_000
PRIVATE = re.compile(rb"/(home|root|Users)/|/work/|password|secret", re.IGNORECASE)
HOST = "node01"


def known(name: str) -> dict[str, Any]:
    """What the program of a sample measured itself."""
    path = ROOT / "sample_traces" / name / "known_values.json"
    values: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return values


def stored(name: str) -> dict[str, Any]:
    """The analysis of a sample in the repository, which tests/golden makes again."""
    path = ROOT / "reports" / name / "analysis.json"
    document: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    # What the agent wrote beside the records is no trace of its own.
    assert "cannot be read" not in str(document["quality"])
    return document


def test_every_sample_is_there_and_no_other() -> None:
    assert [path.name for path in SAMPLES] == sorted(sample.name for sample in MADE)


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.name)
def test_small_described_and_without_private_words(sample: Path) -> None:
    files = [path for path in sample.rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) < SIZE_LIMIT_BYTES
    assert sample / "README.md" in files
    assert not [path for path in files if PRIVATE.search(path.read_bytes())]


@pytest.mark.parametrize("sample", MADE, ids=lambda sample: str(sample.name))
def test_the_readme_is_that_of_the_command(sample: Any) -> None:
    place = ROOT / "sample_traces" / sample.name
    run = json.loads((place / "run.json").read_text(encoding="utf-8"))
    assert run["command"] == list(sample.program)
    assert run["exit_code"] == 0
    assert (run["host"], run["ranks_requested"]) == (HOST, sample.ranks)
    readme = (place / "README.md").read_text(encoding="utf-8")
    assert sample.wrong in readme
    assert sample.expected in readme


def test_rank_zero_evaluation() -> None:
    values, analysis = known("rank_zero_evaluation"), stored("rank_zero_evaluation")
    verdict = finding(analysis, "rank_zero_evaluation")
    evaluations_s = values["seconds_by_rank"]["evaluate"][0]
    assert verdict["status"] == "fail"
    assert verdict["gain_s"] == pytest.approx(evaluations_s, rel=0.1)
    assert analysis["unlabeled"]["share"] <= 0.05


def test_sgan_evaluation() -> None:
    values, analysis = known("sgan_evaluation"), stored("sgan_evaluation")
    verdict = finding(analysis, "rank_zero_evaluation")
    assert (verdict["status"], verdict["ranks"]) == ("fail", [0])
    assert Path(verdict["where"][0]["file"]).name == "networks.py"
    evaluations_s = values["seconds_by_rank"]["evaluate"][0]
    [evaluate] = [phase for phase in analysis["phases"] if phase["id"] == "evaluate"]
    # what the program times is the calls and a little around them
    assert evaluate["seconds_by_rank"][0] == pytest.approx(evaluations_s, rel=0.1)
    assert evaluate["seconds_by_rank"][1] == 0
    assert analysis["run"]["throughput"]["steps"] == values["steps"]
    assert len(analysis["horovod"]["locations"]) == 2
    assert analysis["horovod"]["exposed"]["reason"] is None


def test_horovod_straggler() -> None:
    values, analysis = known("horovod_straggler"), stored("horovod_straggler")
    assert analysis["run"]["throughput"]["steps"] == values["steps"]
    waited = analysis["horovod"]["exposed"]["step_wait_s_median_by_rank"]
    assert waited[0] == pytest.approx(values["ahead_s_median_by_rank"][0], abs=0.005)
    assert waited[1] < 0.005
    verdict = finding(analysis, "straggler")
    assert verdict["status"] in {"fail", "warn"}
    assert verdict["ranks"] == [1]
    assert analysis["collectives"]["late_arrivals"][0]["rank"] == 1


def test_ddp_slow_rank() -> None:
    values, analysis = known("ddp_slow_rank"), stored("ddp_slow_rank")
    exchange = analysis["collectives"]["gradient_exchange"]
    assert exchange["exchanges"] == values["steps"]
    assert exchange["wait_s_by_rank"] == pytest.approx(values["ahead_s_median_by_rank"], abs=0.002)
    assert (analysis["run"]["launcher"], analysis["run"]["ranks"]) == ("torchrun", 2)
    late = analysis["collectives"]["late_arrivals"][0]
    assert (late["rank"], Path(late["file"]).name) == (1, "train_ddp.py")
    files = (ROOT / "sample_traces" / "ddp_slow_rank").glob("node01/*.json")
    roles = [json.loads(path.read_text(encoding="utf-8"))["role"] for path in files]
    assert (roles.count("rank"), roles.count("worker")) == (2, 4)


def test_daal4py_imbalance() -> None:
    values, analysis = known("daal4py_imbalance"), stored("daal4py_imbalance")
    assert values["rows_by_rank"][0] > 3 * values["rows_by_rank"][1]
    counts = {phase["id"]: phase["count"] for phase in analysis["phases"]}
    # k-means and the training of a regression are training, its prediction is prediction
    assert (counts["train"], counts["predict"]) == (4 * values["rounds"], 2 * values["rounds"])
    [train] = [phase for phase in analysis["phases"] if phase["id"] == "train"]
    seconds = values["seconds_by_rank"]
    trained = [a + b for a, b in zip(seconds["kmeans"], seconds["regression"], strict=True)]
    assert train["seconds_by_rank"] == pytest.approx(trained, rel=0.1)
    assert analysis["metrics"]["load_balance"]["value"] < 0.9
    verdict = finding(analysis, "load_imbalance")
    assert verdict["status"] in {"fail", "warn"}
    assert verdict["ranks"] == [0]
