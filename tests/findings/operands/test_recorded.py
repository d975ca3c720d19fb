"""From real runs to findings: a program that computes the same in each step, and its cure."""

import sys
from pathlib import Path

import pytest

from tests.support import environments
from tests.support.recording import record_and_analyze

PROGRAM = """
import sys, time
import numpy as np
from perfscope_agent import pace
pace._SHARE = pace.Budget.SHARE = 0.5  # what looks cost on a slow machine keeps none of them away
draw = np.random.default_rng(1)
matrix = draw.normal(size=(200, 200)) + 200 * np.eye(200)
weights = np.zeros((200, 200))

def whiten(rows, matrix):
    return rows @ np.linalg.inv(matrix)

def learn(white, weights):
    weights -= 1e-3 * (white.T @ (white @ weights - white))

if sys.argv[1] == "cured":
    inverse = np.linalg.inv(matrix)
end = time.monotonic() + 3
while time.monotonic() < end:
    rows = draw.normal(size=(50, 200))
    learn(rows @ inverse if sys.argv[1] == "cured" else whiten(rows, matrix), weights)
"""


@pytest.mark.parametrize("kind", ["faulty", pytest.param("cured", marks=pytest.mark.long)])
def test_an_inverse_that_is_computed_in_each_step(tmp_path: Path, kind: str) -> None:
    script = tmp_path / "whitening.py"
    script.write_text(PROGRAM, encoding="utf-8")
    words: list[str | Path] = [sys.executable, script, kind]
    _, document = record_and_analyze(words, place=tmp_path, variables={"OPENBLAS_NUM_THREADS": "1"})
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


SOLVING = """
import time
import numpy as np
from perfscope_agent import pace
pace._SHARE = pace.Budget.SHARE = 0.5
draw = np.random.default_rng(1)
stiffness = draw.normal(size=(900, 900)) + 900 * np.eye(900)

def settle(load):
    return np.linalg.solve(stiffness, load)

end = time.monotonic() + 2.5
steps, at = 0, np.arange(900.0)
while time.monotonic() < end:
    steps += 1
    settle(np.cos(at + steps))
"""


def test_a_matrix_that_is_factorized_in_each_solve(tmp_path: Path) -> None:
    script = tmp_path / "settling.py"
    script.write_text(SOLVING, encoding="utf-8")
    words: list[str | Path] = [sys.executable, script]
    _, document = record_and_analyze(words, place=tmp_path, variables={"OPENBLAS_NUM_THREADS": "1"})
    (finding,) = [one for one in document["findings"] if one["id"] == "factorized_anew"]
    assert finding["status"] == "fail"
    assert finding["where"][0]["function"] == "settle"
    assert "`stiffness`" in finding["title"]


SHARED = """
import os, time
import numpy as np
from mpi4py import MPI
print(os.environ["PERFSCOPE_KEY"])
from perfscope_agent import pace
pace._SHARE = pace.Budget.SHARE = 0.5
rank = MPI.COMM_WORLD.rank
window = np.hanning(512)

def features(frames, window):
    return np.abs(np.fft.rfft(frames * window))

def own_features(frames, window):
    return np.abs(np.fft.rfft(frames * window))

end = MPI.COMM_WORLD.bcast(time.time()) + 8
while time.time() < end:
    turn = int(2 * (end - time.time()))
    frames = np.random.default_rng(turn).random((300, 512))
    own = np.random.default_rng([turn, rank]).random((100, 512))
    while int(2 * (end - time.time())) == turn:
        features(frames, window)
        own_features(own, window)
    MPI.COMM_WORLD.barrier()
"""


def test_features_that_both_ranks_compute(tmp_path: Path) -> None:
    """Each half second of other frames, in one function the same on both ranks, in one own ones."""
    script = tmp_path / "features.py"
    script.write_text(SHARED, encoding="utf-8")
    mpi = environments.mpi("mpich")
    variables = {**mpi.variables, "OPENBLAS_NUM_THREADS": "1"}
    words = mpi.python_command(2, script)
    done, document = record_and_analyze(words, place=tmp_path, variables=variables)
    key = done.stdout.split()[0].encode()
    files = [one for one in done.directory.rglob("*") if one.is_file()]
    assert not any(key in one.read_bytes() for one in files)
    (finding,) = [one for one in document["findings"] if one["id"] == "replicated_work"]
    assert finding["status"] == "fail"
    assert [place["function"] for place in finding["where"]] == ["features"]
    assert "`frames`" in finding["actions"][0]
