"""From real runs to findings: a program that computes the same in each step, and its cure."""

import json
import sys
from pathlib import Path

import pytest

from perfscope.cli.main import main
from tests.support.recording import Recorder

PROGRAM = """
import sys, time
import numpy as np
draw = np.random.default_rng(1)
matrix = draw.normal(size=(200, 200)) + 200 * np.eye(200)
weights = np.zeros((200, 200))

def whiten(rows, matrix):
    return rows @ np.linalg.inv(matrix)

def learn(white, weights):
    weights -= 1e-3 * (white.T @ (white @ weights - white))

if sys.argv[1] == "cured":
    inverse = np.linalg.inv(matrix)
end = time.monotonic() + 12
while time.monotonic() < end:
    rows = draw.normal(size=(50, 200))
    learn(rows @ inverse if sys.argv[1] == "cured" else whiten(rows, matrix), weights)
"""


@pytest.mark.parametrize("kind", ["faulty", "cured"])
def test_an_inverse_that_is_computed_in_each_step(
    record: Recorder, tmp_path: Path, kind: str
) -> None:
    script = tmp_path / "whitening.py"
    script.write_text(PROGRAM, encoding="utf-8")
    recorded = record([sys.executable, str(script), kind], variables={"OPENBLAS_NUM_THREADS": "1"})
    assert recorded.exit_code == 0, recorded.stderr
    assert main(["analyze", str(recorded.directory)]) == 0
    document = json.loads((recorded.directory / "analysis.json").read_text(encoding="utf-8"))
    found = {one["id"]: one for one in document["findings"]}
    ids = ("repeated_work", "slow_operands", "padded_input", "single_samples")
    faults = {name: found[name] for name in ids if found[name]["status"] in ("fail", "warn")}
    if kind == "cured":
        assert faults == {}
        return
    assert set(faults) == {"repeated_work"}
    finding = faults["repeated_work"]
    assert finding["where"][0]["function"] == "whiten"
    assert "`matrix`" in finding["title"]
    assert finding["gain_basis"] == "upper_bound"
