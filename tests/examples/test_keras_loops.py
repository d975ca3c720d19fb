"""Keras in a loop, 3,000 calls: growth against the program's own measurement, and its causes."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support import environments
from tests.support.environments import REPOSITORY
from tests.support.recording import record_and_analyze

pytestmark = [pytest.mark.long, pytest.mark.timeout(1800)]

SCRIPT = REPOSITORY / "examples" / "faults" / "keras_loop.py"
RESULT = re.compile(r"^result: (\d+) calls  (\S+) ms each  (\S+) KiB each", re.MULTILINE)
GROWTH = re.compile(r"Growth per (\w+)\(\), of the last")
KIB = {"B": 1 / 1024, "KiB": 1.0, "MiB": 1024.0}
TOLERANCE, NOTHING_KIB = 0.2, 0.3
LONGEST_S = 1500.0
ENVIRONMENTS = pytest.mark.parametrize("name", ["tensorflow", "horovod"], ids=["keras3", "keras2"])


@dataclass(frozen=True)
class Loop:
    """One run: what the program measured of itself, and what the report says."""

    own_kib: float
    findings: dict[str, dict[str, Any]]

    @property
    def told_kib(self) -> float:
        """Growth per call in the report; 0 where it tells none."""
        for row in self.findings["memory_growth"]["evidence"]:
            if GROWTH.match(row["label"]):
                number, unit = row["value"].split()
                return float(number) * KIB[unit]
        return 0.0


def run(name: str, call: str, calls: int, place: Path) -> Loop:
    python = environments.environment(name).python
    words: list[str | Path] = [python, SCRIPT, "--call", call, "--calls", str(calls)]
    variables = {"HIDDEN_MODULES": "sklearn"}  # a third of what TensorFlow loads
    done, document = record_and_analyze(
        words, place=place, variables=variables, timeout_s=LONGEST_S
    )
    told = RESULT.search(done.stdout)
    assert told is not None
    return Loop(float(told[3]), {finding["id"]: finding for finding in document["findings"]})


def check_growth(loop: Loop) -> None:
    """Within a fifth of the program's own measurement, or both next to nothing."""
    if max(loop.own_kib, loop.told_kib) >= NOTHING_KIB:
        assert loop.told_kib == pytest.approx(loop.own_kib, rel=TOLERANCE)


@ENVIRONMENTS
def test_predict_3000_times(name: str, tmp_path: Path) -> None:
    loop = run(name, "predict", 3000, tmp_path)
    check_growth(loop)
    growth, cost = loop.findings["memory_growth"], loop.findings["predict_in_loop"]
    assert growth["status"] == "info"
    assert "Model.predict keeps memory in every call" in growth["title"]
    labels = [row["label"] for row in growth["evidence"]]
    assert {"Warm-up of rank 0", "Warm-up ends after"} <= set(labels)
    assert cost["status"] == "fail"
    assert "builds an input pipeline each time" in cost["title"]
    assert cost["gain_basis"] == "upper_bound"


@ENVIRONMENTS
def test_the_ratio_to_predict_on_batch_is_measured(name: str, tmp_path: Path) -> None:
    cost = run(name, "both", 200, tmp_path).findings["predict_in_loop"]
    assert cost["status"] == "fail"
    rows = {row["label"]: row["value"] for row in cost["evidence"]}
    ratio = (
        rows["One predict(), median of the last half"] / rows["One predict_on_batch() in this run"]
    )
    assert ratio == pytest.approx(rows["Times as long"])
    assert ratio > 3
    assert f"{ratio:,.0f} times as long as predict_on_batch" in cost["title"]


@ENVIRONMENTS
def test_predict_on_batch_is_not_flagged(name: str, tmp_path: Path) -> None:
    loop = run(name, "predict_on_batch", 10000, tmp_path)
    check_growth(loop)
    flagged = {f["id"] for f in loop.findings.values() if f["status"] in {"fail", "warn"}}
    assert flagged.isdisjoint({"memory_growth", "predict_in_loop", "start_up"})


@ENVIRONMENTS
@pytest.mark.parametrize(
    ("call", "calls", "words"),
    [("retrace", 400, "TensorFlow traced shifted() 400 times"), ("rebuild", 120, "built and")],
)
def test_compiling_again_is_critical_and_told_apart(
    name: str, call: str, calls: int, words: str, tmp_path: Path
) -> None:
    loop = run(name, call, calls, tmp_path)
    check_growth(loop)
    for identity in ("memory_growth", "start_up"):
        assert loop.findings[identity]["status"] == "fail"
        assert words in loop.findings[identity]["title"]
