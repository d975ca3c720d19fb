"""A coordinator that has workers train on variables of a server: `parameter_servers.py PORT`."""

import json
import os
import subprocess
import sys
import time

PORT = int(sys.argv[1]) if len(sys.argv) > 1 else 12421
TASKS = [("chief", 0), ("worker", 0), ("worker", 1), ("ps", 0)]
CLUSTER = {
    "chief": [f"localhost:{PORT}"],
    "worker": [f"localhost:{PORT + 1}", f"localhost:{PORT + 2}"],
    "ps": [f"localhost:{PORT + 3}"],
}
kind, index = os.environ.get("CORPUS_TASK", "chief 0").split()
servers = [
    subprocess.Popen([sys.executable, *sys.argv], env={**os.environ, "CORPUS_TASK": f"{one} {n}"})
    for one, n in TASKS[1:]
    if kind == "chief"
]
task = {"type": kind, "index": int(index)}
os.environ["TF_CONFIG"] = json.dumps({"cluster": CLUSTER, "task": task})

import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402, it reads the variable

BATCH, EPOCHS, STEPS, CLASSES = 64, 3, 20, 10

resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
if kind != "chief":
    server = tf.distribute.Server(
        resolver.cluster_spec(), job_name=kind, task_index=int(index), protocol="grpc"
    )
    server.join()

strategy = tf.distribute.ParameterServerStrategy(resolver)
coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
with strategy.scope():
    weights = tf.Variable(tf.random.stateless_normal((784, CLASSES), (1, 2), stddev=0.05))
    bias = tf.Variable(tf.zeros(CLASSES))


def dataset():
    """Digits made of noise."""
    images = np.random.RandomState(0).rand(1280, 784).astype(np.float32)
    labels = images[:, :CLASSES].argmax(axis=1)
    return tf.data.Dataset.from_tensor_slices((images, labels)).shuffle(1280).repeat().batch(BATCH)


@tf.function
def train_step(iterator):
    """One batch of one worker."""
    images, labels = next(iterator)
    with tf.GradientTape() as tape:
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels, images @ weights + bias)
        loss = tf.reduce_mean(losses)
    of_weights, of_bias = tape.gradient(loss, (weights, bias))
    weights.assign_sub(0.1 * of_weights)
    bias.assign_sub(0.1 * of_bias)
    return loss


batches = iter(coordinator.create_per_worker_dataset(dataset))
steps, seconds = 0, []
for epoch in range(EPOCHS):
    begin = time.time()
    for _ in range(STEPS):
        last = coordinator.schedule(train_step, args=(batches,))
        steps += 1
    coordinator.join()
    seconds.append(time.time() - begin)
    print(f"epoch {epoch}: {np.isfinite(last.fetch())}", flush=True)
print("steps", steps)
print("rate from step", STEPS)
print(f"samples/s {BATCH * STEPS * (EPOCHS - 1) / sum(seconds[1:]):.1f}", flush=True)
for process in servers:
    process.terminate()
for process in servers:
    process.wait()
