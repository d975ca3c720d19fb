"""Steps that a coordinator of TensorFlow has its workers compute."""

from collections.abc import Callable
from itertools import pairwise

from tests.agent.jobs import Job
from tests.support.environments import Environment

CLUSTER = """
import os, socket
os.environ["GRPC_FAIL_FAST"] = "use_caller"
import numpy as np
import tensorflow as tf

def port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]

spec = tf.train.ClusterSpec(
    {job: ["localhost:%d" % port()] for job in ("worker", "ps")}
)
for job in ("worker", "ps"):
    config = tf.compat.v1.ConfigProto(inter_op_parallelism_threads=2)
    tf.distribute.Server(spec, job_name=job, task_index=0, config=config, protocol="grpc")
resolver = tf.distribute.cluster_resolver.SimpleClusterResolver(spec, rpc_layer="grpc")
strategy = tf.distribute.ParameterServerStrategy(resolver)
"""
SCHEDULED = (
    CLUSTER
    + """
coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
with strategy.scope():
    weight = tf.Variable(tf.zeros(3))

def data():
    return tf.data.Dataset.from_tensor_slices(np.ones((32, 3), np.float32)).repeat().batch(8)

@tf.function
def update(batches):
    return weight.assign_add(0.1 * tf.reduce_mean(next(batches), axis=0))

@tf.function
def evaluate(batches):
    return tf.reduce_sum(weight * next(batches))

made = iter(coordinator.create_per_worker_dataset(data))
given = iter(coordinator.create_per_worker_dataset(data().unbatch().batch(4)))
for batches in (made, given):
    for _ in range(5):
        coordinator.schedule(update, args=(batches,))
    coordinator.join()
    coordinator.schedule(evaluate, args=(batches,))
    coordinator.join()
print(round(float(weight.numpy()[0]), 3))
"""
)
FITTED = (
    CLUSTER
    + """
with strategy.scope():
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    model.compile(tf.keras.optimizers.legacy.SGD(), loss="mse")
data = tf.data.Dataset.from_tensor_slices((np.ones((32, 3)), np.ones(32))).repeat().batch(8)
model.fit(data, epochs=2, steps_per_epoch=5, verbose=0)
print("fitted")
"""
)


def test_what_workers_are_given_to_train_on_are_steps(
    job: Callable[..., Job], environment: Callable[[str], Environment]
) -> None:
    done = job(SCHEDULED, python=environment("tensorflow").python)
    assert done.stdout == b"1.0\n", done.stderr
    (process,) = done.of_role("rank") or done.of_role("unranked")
    steps = process.steps()
    assert [one.sent for one in steps] == [8] * 5 + [4] * 5
    assert all(one.t1 <= after.t0 for one, after in pairwise(steps))
    assert process.metadata["step_source"] == "tensorflow"
    assert process.metadata["frameworks"]["tensorflow"]["size"] == 1  # all servers are its own
    assert not process.metadata["agent_notes"]


def test_keras_fits_a_model_of_parameter_servers_as_ever(
    job: Callable[..., Job], environment: Callable[[str], Environment]
) -> None:
    """It refuses callbacks that want what each batch gave as numbers."""
    done = job(FITTED, python=environment("horovod").python)
    assert (done.exit_code, done.stdout) == (0, b"fitted\n"), done.stderr
    (process,) = done.of_role("rank") or done.of_role("unranked")
    assert [one.tag for one in process.steps()] == [0] * 5 + [1] * 5
