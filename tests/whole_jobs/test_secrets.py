"""Secrets of a real job of TensorFlow reach no file of the recording, no report, no terminal."""

import pytest

from tests.support import recording
from tests.support.environments import environment
from tests.support.leaks import leaked

TIMEOUT_S = 280.0
# Put together here so that no scanner takes this file for a leak.
MARK = "hunt" + "er2"
TOKENS = {
    "environment": "ghp_" + "16C7e42F292c6912E7710c838347Ae178B4a",
    "argument": "hf_" + "AbCdEfGhIjKlMnOpQrStUv",
    "phase": "glpat-" + "x1y2z3a4b5c6d7e8f9g0",
    "metric": "AKIA" + "IOSFODNN7EXAMPLE",
    "function": "sk-" + "proj4bcd3fgh1jklmn0pqrst",
    "exception": "xoxb-" + "123456789012-abcdefABCDEF",
}
PROGRAM = """
import os, sys
import tensorflow as tf
import numpy as np
from mpi4py import MPI
from perfscope_agent import marker

def loss_of(name):
    def loss(wanted, given):
        return tf.reduce_mean(tf.square(wanted - given))
    loss.__name__ = loss.__qualname__ = name
    return loss

phase, metric, function, exception = sys.argv[1:5]
mark = os.environ["MY_SETTING"]
model = tf.keras.Sequential([tf.keras.layers.Input((4,)), tf.keras.layers.Dense(1)])
model.compile("sgd", loss_of("plain"), metrics=[loss_of(metric)])
model.fit(np.ones((8, 4)), np.ones((8, 1)), batch_size=4, epochs=1, verbose=0)
named = loss_of(function)
tf.function(named)(tf.ones((2, 1)), tf.ones((2, 1)))
with marker.phase("upload to https://me:%s@example.org/?token=%s" % (mark, phase)):
    MPI.COMM_WORLD.barrier()
marker.metric("api_key=" + mark, 1.0)
print("told", MPI.COMM_WORLD.rank, flush=True)
MPI.COMM_WORLD.barrier()
MPI.Finalize()
raise ValueError("login failed: password=%s %s" % (mark, exception))
"""
VARIABLES = {
    "HOROVOD_SECRET_KEY": MARK,
    "TF_CONFIG": f'{{"auth_token": "{MARK}"}}',
    "TORCH_HOME": f"https://me:{MARK}@example.org/",
    "NCCL_DEBUG_FILE": TOKENS["environment"],
    "MY_SETTING": MARK,
    "OMP_NUM_THREADS": "1",
    "TF_CPP_MIN_LOG_LEVEL": "3",
}


def leaks(content: bytes) -> list[str]:
    return leaked(content, {**TOKENS, "mark": MARK})


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> recording.Recorded:
    """A rank with secrets wherever a program may have them, which ends with an exception."""
    directory = tmp_path_factory.mktemp("secrets")
    program = directory / "program.py"
    program.write_text(PROGRAM, encoding="utf-8")
    place = environment("tensorflow")
    planted = [TOKENS[name] for name in ("phase", "metric", "function", "exception")]
    words = [*planted, "--password", MARK, f"--api-token={MARK}", TOKENS["argument"]]
    words += ["--url", f"https://me:{MARK}@example.org/data"]
    return recording.record(
        [place.mpirun, "-n", "1", place.python, program, *words],
        cwd=directory,
        output=directory / "trace",
        variables=VARIABLES,
        timeout_s=TIMEOUT_S,
    )


def test_the_job_really_had_them(recorded: recording.Recorded) -> None:
    assert recorded.stdout.count("told") == 1, recorded.stderr
    assert recorded.exit_code != 0
    # what the job itself prints is its own
    assert MARK in recorded.stderr
    own = [line for line in recorded.stderr.splitlines() if line.startswith("perfscope:")]
    assert own
    assert leaks("\n".join(own).encode()) == []


def test_no_byte_of_recording_or_report_holds_one(recorded: recording.Recorded) -> None:
    done = recording.analyze(recorded.directory, "--no-strict")
    assert done.returncode == 0, done.stderr
    as_json = recording.analyze(recorded.directory, "--json", "--no-report")
    verbose = recording.analyze(recorded.directory, "-v")
    for shown in (done, as_json, verbose):
        assert leaks((shown.stdout + shown.stderr).encode()) == []
    files = [path for path in recorded.directory.rglob("*") if path.is_file()]
    names = {path.name for path in files}
    assert {"run.json", "analysis.json", "report.html"} <= names
    assert sum(path.suffix == ".rec" for path in files) == 1
    assert {path.name: found for path in files if (found := leaks(path.read_bytes()))} == {}
    assert leaks("\n".join(map(str, files)).encode()) == []


def test_what_was_planted_has_left_its_place(recorded: recording.Recorded) -> None:
    written = b"".join(p.read_bytes() for p in recorded.directory.rglob("*") if p.is_file())
    assert b"upload to https://[redacted]@example.org" in written
    assert b"ValueError" in written
    assert b"api_key=[redacted]" in written
