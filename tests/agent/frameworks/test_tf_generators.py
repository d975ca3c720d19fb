"""Batches that a generator makes for Keras in a thread of TensorFlow, recorded."""

import pytest

from perfscope.agent.perfscope_agent.recorder import Phase
from tests.agent.jobs import RANK_ZERO, Job, run
from tests.support import environments

PROGRAM = """
import os, sys, time
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np
import tensorflow as tf
import keras

class Slow(getattr(keras.utils, "PyDataset", keras.utils.Sequence)):
    def __len__(self):
        return 6

    def __getitem__(self, index):
        if index == 4:
            time.sleep(1.0)
        size = 10 if index == 5 else 25
        return np.ones((size, 8), "float32"), np.ones((size, 1), "float32")

model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(Slow(), epochs=2, verbose=0, shuffle=False)

def single():
    for number in range(12):
        yield np.full(8, number, "float32"), np.ones(1, "float32")

signature = (tf.TensorSpec((8,), tf.float32), tf.TensorSpec((1,), tf.float32))
data = tf.data.Dataset.from_generator(single, output_signature=signature).batch(4)
model.fit(data, epochs=1, verbose=0)
print([int(x[0, 0]) for x, _ in data])
"""


@pytest.fixture(scope="module", params=["tensorflow", "horovod"], ids=["keras3", "keras2"])
def done(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Job:
    place = tmp_path_factory.mktemp("generators")
    script = place / "train.py"
    script.write_text(PROGRAM)
    python = environments.environment(request.param).python
    return run([script], place / "trace", python=python, variables=RANK_ZERO)


def test_the_program_gets_its_batches(done: Job) -> None:
    assert (done.exit_code, done.stdout) == (0, b"[0, 4, 8]\n")
    assert done.process.metadata["agent_notes"] == []


def test_steps_have_the_samples_of_their_items(done: Job) -> None:
    samples = [step.sent for step in done.process.steps()]
    assert samples[:12] == [25, 25, 25, 25, 25, 10] * 2
    assert samples[12:15] == [4] * 3


def test_a_step_waits_until_its_item_is_ready(done: Job) -> None:
    """Of a tf.data.Dataset several items may be one batch: nothing is known of its steps."""
    process = done.process
    kinds = {name: kind for name, kind in process.phases() if name.startswith("perfscope.queue")}
    assert set(kinds.values()) == {Phase.INPUT}
    put, get = (f"perfscope.queue\x1e{what}\x1e1" for what in ("put", "get"))
    assert set(kinds) == {put, get}
    gets, puts = process.phase_records(get), process.phase_records(put)
    assert (len(gets), len(puts)) == (12, 12)
    steps = process.steps()
    for place, (taken, made) in enumerate(zip(gets, puts, strict=True)):
        assert taken.t1 == max(taken.t0, made.t0)
        assert steps[place].t0 == taken.t0 <= taken.t1 <= steps[place].t1
