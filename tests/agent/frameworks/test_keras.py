"""A Keras program on TensorFlow, recorded, with each package that Keras comes in."""

import struct
from collections.abc import Callable

import pytest

from perfscope.agent.perfscope_agent.recorder import Phase
from perfscope.readers.recording.layout import KEPT_NOTHING
from tests.agent.jobs import RANK_ZERO, Job, Process, run
from tests.support import environments
from tests.support.environments import Environment

PROGRAM = """
import importlib, os, sys
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np
import tensorflow as tf
keras = importlib.import_module(sys.argv[2])
from perfscope_agent import marker  # the recorder's own, on the path of recorded runs

x = np.random.default_rng(0).random((100, 8)).astype("float32")
y = x.sum(axis=1, keepdims=True)

def build(name):
    model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(1)], name=name)
    model.compile("sgd", "mse", metrics=["mae"])
    return model

def part(name):
    marker.metric("part " + name, 0)

events = []
class Own(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        events.append(type(logs["loss"]).__name__)

model, gan = build("model"), build("gan")
data = tf.data.Dataset.from_tensor_slices((x, y)).batch(25)
part("fit")
own = [Own()]
saver = keras.callbacks.ModelCheckpoint(sys.argv[1] + "/best.keras")
model.fit(x, y, 32, 2, 0, own + [saver], validation_data=(x[:20], y[:20]))
part("dataset")
model.fit(data, epochs=1, verbose=0, callbacks=own)
part("split")
model.fit(x, y, verbose=0, validation_split=0.2)
part("by hand")
def evaluate_images():
    return model.predict_on_batch(x[:4])
evaluate_images()
part("others")
model.evaluate(x, y, verbose=0)
model.predict(x, verbose=0)
model.predict_on_batch(x[:4])
model.test_on_batch(x[:4], y[:4])
model(x[:4], training=False)
part("gan")
for bx, by in data:
    model.train_on_batch(bx, by)
    model.train_on_batch(bx, by)
    gan.train_on_batch(bx, by)
model.save_weights(sys.argv[1] + "/w.weights.h5")
part("compiled")
optimizer = keras.optimizers.SGD()

@tf.function
def forward(bx):
    return model(bx, training=True)

@tf.function
def train_step(bx, by):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((forward(bx) - by) ** 2)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return loss

for bx, by in data:
    train_step(bx, by)
part("eager")
for bx, by in data:
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(bx, training=True) - by) ** 2)
    gradients = tape.gradient(loss, model.trainable_variables)
    if hasattr(optimizer, "stateless_apply"):  # Keras 3
        optimizer.apply(gradients, model.trainable_variables)
    else:
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
print(len(own), sorted(set(events)), [c.__class__.__name__ for c in model.history.model.layers])
part("failing")
class Failing(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        raise ValueError("from a callback")
model.fit(x, y, verbose=0, callbacks=[Failing()])
"""


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(("tensorflow", "keras"), id="keras3"),
        # in CI a job of Horovod trains with it, and with tf_keras, which is the same code
        pytest.param(("horovod", "keras"), id="keras2", marks=pytest.mark.long),
        pytest.param(("tensorflow", "tf_keras"), id="tf_keras"),
    ],
)
def done(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Job:
    place = tmp_path_factory.mktemp("keras")
    script = place / "train.py"
    script.write_text(PROGRAM)
    name, package = request.param
    python = environments.environment(name).python
    return run([script, str(place), package], place / "trace", python=python, variables=RANK_ZERO)


@pytest.fixture
def process(done: Job) -> Process:
    return done.process


def parts(process: Process) -> dict[str, list[tuple[int, int, int]]]:
    """Number, epoch and samples of the steps of each part of the program."""
    begins = [(r.t0, name[5:]) for name, r in process.metrics() if name.startswith("part ")]
    found: dict[str, list[tuple[int, int, int]]] = {name: [] for _, name in begins}
    for step in process.steps():
        name = [part for begin, part in begins if begin <= step.t0][-1]
        found[name].append((step.seq, step.tag, step.sent))
    return found


def test_program_is_unharmed(done: Job) -> None:
    assert done.exit_code == 1
    assert done.stdout == b"1 ['float'] ['Dense']\n"
    assert b"ValueError: from a callback" in done.stderr
    assert b"perfscope" not in done.stderr


def test_steps_of_fit_have_epochs_and_samples(process: Process) -> None:
    found = parts(process)
    epoch = [32, 32, 32, 4]
    assert [samples for _, _, samples in found["fit"]] == epoch * 2
    assert [number for number, _, _ in found["fit"]] == list(range(8))
    assert [tag for _, tag, _ in found["fit"]] == [0] * 4 + [1] * 4
    assert [samples for _, _, samples in found["dataset"]] == [25] * 4
    assert [samples for _, _, samples in found["split"]] == [32, 32, 16]


def test_every_iteration_of_a_loop_by_hand_is_a_step(process: Process) -> None:
    found = parts(process)
    assert [samples for _, _, samples in found["gan"]] == [25] * 4
    assert [samples for _, _, samples in found["compiled"]] == [25] * 4
    assert [samples for _, _, samples in found["eager"]] == [25] * 4
    assert found["others"] == []


def test_how_steps_run_is_noted(process: Process) -> None:
    frameworks = process.metadata["frameworks"]
    assert frameworks["keras"]["run_eagerly"] is False
    assert frameworks["tensorflow"]["functions_run_eagerly"] is False


def test_phases_are_those_of_the_program(process: Process) -> None:
    found = process.phases()
    count = {name: len([n for n, _ in found if n == name]) for name, _ in found}
    kinds = dict(found)
    assert count["fit"] == 4
    assert count["evaluate"] == 2 + 1 + 1
    assert count["train_on_batch"] == 12
    assert count["model.save"] == 2
    assert count["train_step"] == 4
    assert count["tf.data"] == 3 * 5
    assert "forward" not in count
    assert kinds["fit"] == kinds["train_on_batch"] == kinds["train_step"] == Phase.TRAIN
    assert kinds["evaluate"] == kinds["test_on_batch"] == Phase.EVALUATE
    assert kinds["predict"] == kinds["predict_on_batch"] == Phase.PREDICT
    assert kinds["model.save"] == kinds["model.save_weights"] == Phase.CHECKPOINT
    assert kinds["tf.data"] == Phase.INPUT


def test_a_prediction_by_a_function_that_evaluates_is_an_evaluation(process: Process) -> None:
    kinds = [kind for name, kind in process.phases() if name == "predict_on_batch"]
    assert kinds == [Phase.EVALUATE, Phase.PREDICT]


def test_calls_are_counted_with_what_they_set_up_and_keep(process: Process) -> None:
    last = {process.name(r): r for r in process.calls()}
    assert last["train_on_batch"].seq == 12
    assert last["predict"].seq == 1
    assert last["predict_on_batch"].seq == 2
    assert last["evaluate"].seq == 1  # those inside fit() are part of it
    assert last["fit"].seq == 4
    assert last["train_step"].seq == 4
    for name in ("predict", "evaluate", "train_on_batch"):
        assert last[name].tag == last[name].seq
        # one compiled function for each batch: 100 samples are 4 batches
        assert last[name].peer == (12 if name == "train_on_batch" else 4)
        assert last[name].request > 0
        assert abs(last[name].sent - KEPT_NOTHING) < 1 << 30
        assert 1 << 27 < last[name].received < 1 << 33


def test_validation_is_nested_in_training_and_outside_its_steps(process: Process) -> None:
    fit = process.phase_records("fit")[0]
    for evaluation in process.phase_records("evaluate")[:2]:
        assert fit.t0 < evaluation.t0 < evaluation.t1 < fit.t1
        assert not [s for s in process.steps() if s.t0 < evaluation.t1 and evaluation.t0 < s.t1]


def test_metrics_are_those_of_the_framework(process: Process) -> None:
    written = [(name, record.tag) for name, record in process.metrics()]
    assert written[1:9] == [
        (name, epoch) for epoch in (0, 1) for name in ("loss", "mae", "val_loss", "val_mae")
    ]
    names = {name for name, _ in written}
    assert {"gan/loss", "gan/metric_1"} <= names
    losses = [
        struct.unpack("<d", struct.pack("<Q", record.sent))[0]
        for name, record in process.metrics()
        if name == "loss"
    ]
    assert all(0 < loss < 100 for loss in losses)


def test_metadata_names_backend_and_reason(process: Process) -> None:
    metadata = process.metadata
    assert metadata["agent_notes"] == []
    assert {"keras", "tensorflow"} <= set(metadata["versions"])
    assert metadata["batch_size"] == 32
    keras = metadata["frameworks"]["keras"]
    assert keras["backend"] == "tensorflow"
    assert keras["input_wait"] is None
    assert "profiler" in keras["input_wait_reason"]
    tensorflow = metadata["frameworks"]["tensorflow"]
    assert tensorflow["build"]["is_cuda_build"] is False
    assert isinstance(tensorflow["build"]["onednn"], bool)
    traced = {row["name"]: row["traces"] for row in tensorflow["tracing"]}
    # all batches are equally long; TensorFlow traces twice where the first call makes variables
    assert traced["train_step"] in (1, 2)
    assert tensorflow["functions_made"] >= len(traced)
    places = {row["name"]: (row["file"], row["line"]) for row in tensorflow["tracing"]}
    # of a decorated function Python's first line is that of the decorator
    line = PROGRAM[: PROGRAM.index("@tf.function\ndef train_step")].count("\n") + 1
    assert places["train_step"] == (metadata["exception"]["file"], line)
    # Keras's own functions are none of the program's
    assert {file for file, _ in places.values()} == {metadata["exception"]["file"], ""}
    assert {"inter_op_threads", "intra_op_threads"} <= set(tensorflow)
    assert metadata["exception"]["type"] == "ValueError"
    assert metadata["exception"]["file"].endswith("train.py")


BY_HAND = """
import numpy as np
import keras

model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(1)])
model.compile("sgd", "mse")
for number in range(3):
    model.train_on_batch(np.ones((4, 8), "float32"), np.ones((4, 1), "float32"))
"""


def test_batches_of_a_loop_by_hand_are_not_said_to_be_taken_in_a_compiled_function(
    job: Callable[..., Job], environment: Callable[[str], Environment]
) -> None:
    done = job(BY_HAND, python=environment("tensorflow").python, variables=RANK_ZERO)
    assert done.exit_code == 0, done.stderr
    assert "input_wait_reason" not in done.process.metadata["frameworks"]["keras"]
