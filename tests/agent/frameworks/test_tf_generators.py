"""Batches that a generator makes for Keras in a thread of TensorFlow, recorded."""

import gc
from collections.abc import Iterator

import pytest

from perfscope.agent.perfscope_agent.frameworks import tf_generators
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

def endless():
    number = 0
    while True:
        if number == 9:
            time.sleep(1.0)
        yield np.ones((5, 8), "float32"), np.ones((5, 1), "float32")
        number += 1

class Held(Slow):
    def __getitem__(self, index):
        return np.ones((2, 8), "float32"), np.ones((2, 1), "float32")

model.fit(endless(), steps_per_epoch=4, epochs=3, validation_data=Held(), verbose=0)
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


def test_the_recording_keeps_no_generator_from_being_closed() -> None:
    closed = []

    def numbers() -> Iterator[int]:
        try:
            yield from range(3)
        finally:
            closed.append(True)

    items = tf_generators.Source(numbers)()
    assert next(items) == 0
    del items
    gc.collect()
    assert closed == [True]


def test_items_that_no_step_takes_are_not_remembered_without_bound() -> None:
    ready = tf_generators.Ready(tf_generators.Queue())
    for number in range(2 * tf_generators._MOST_AHEAD):
        ready.add(number, 1)
        if not ready.is_followed:
            break
    assert not ready.is_followed
    assert not ready.items


def test_steps_have_the_samples_of_their_items(done: Job) -> None:
    samples = [step.sent for step in done.process.steps()]
    assert samples[:12] == [25, 25, 25, 25, 25, 10] * 2
    assert samples[12:15] == [4] * 3


def test_a_generator_goes_on_from_epoch_to_epoch_beside_a_validation(done: Job) -> None:
    """Of twelve steps the tenth waits for its item, which takes a second to make."""
    put, get = _names(2)
    gets, puts = done.process.phase_records(get), done.process.phase_records(put)
    assert len(gets) == 12
    assert [step.sent for step in done.process.steps()[16:28]] == [5] * 12
    waits = [taken.t1 - taken.t0 for taken in gets]
    assert waits[9] == max(waits)
    for taken, made in zip(gets, puts, strict=False):
        assert taken.t1 == max(taken.t0, made.t0)


def _names(queue: int) -> tuple[str, str]:
    return f"perfscope.queue\x1eput\x1e{queue}", f"perfscope.queue\x1eget\x1e{queue}"


def test_a_step_waits_until_its_item_is_ready(done: Job) -> None:
    """Of a tf.data.Dataset several items may be one batch: nothing is known of its steps."""
    process = done.process
    kinds = {name: kind for name, kind in process.phases() if name.startswith("perfscope.queue")}
    assert set(kinds.values()) == {Phase.INPUT}
    put, get = _names(1)
    assert {put, get} <= set(kinds)
    gets, puts = process.phase_records(get), process.phase_records(put)
    # on a busy machine the note on one item was once not there: its thread had ended
    assert len(gets) == 12
    assert 11 <= len(puts) <= 12
    steps, made = process.steps(), {one.t0 for one in puts}
    for place, taken in enumerate(gets):
        assert taken.t1 == taken.t0 or len(puts) < len(gets) or taken.t1 in made
        assert steps[place].t0 == taken.t0 <= taken.t1 <= steps[place].t1


@pytest.mark.parametrize("name", ["shape", "element_spec"])
def test_what_a_property_of_the_program_raises_does_not_reach_it(name: str) -> None:
    class Odd:
        shape = None

        def __getitem__(self, index: int) -> int:
            return index

    assert tf_generators.taker(Odd()) is not None

    def raises(_: Odd) -> None:
        raise RuntimeError("not loaded yet")

    setattr(Odd, name, property(raises))
    assert tf_generators.taker(type("Data", (Odd,), {})()) is None
