"""Workers that know each other by TF_CONFIG, and a loop of their own: `... INDEX COUNT`."""

import json
import os
import sys
import time

index, count = int(sys.argv[1]), int(sys.argv[2])
cluster = {"worker": [f"localhost:{12411 + number}" for number in range(count)]}
os.environ["TF_CONFIG"] = json.dumps(
    {"cluster": cluster, "task": {"type": "worker", "index": index}}
)

import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402, it reads the variable

BATCH, EPOCHS, EXAMPLES, CLASSES = 64, 5, 1280, 10

strategy = tf.distribute.MultiWorkerMirroredStrategy()


def dataset(seed, size):
    """Digits made of noise, batches of all workers together."""
    images = np.random.RandomState(seed).rand(size, 28, 28, 1).astype(np.float32)
    labels = images.reshape(size, -1)[:, :CLASSES].argmax(axis=1).astype(np.int64)
    return tf.data.Dataset.from_tensor_slices((images, labels))


with strategy.scope():
    model = tf.keras.Sequential(
        [
            tf.keras.Input((28, 28, 1)),
            tf.keras.layers.Conv2D(16, 3, activation="relu"),
            tf.keras.layers.Flatten(),
            tf.keras.layers.Dense(CLASSES),
        ]
    )
    optimizer = tf.keras.optimizers.SGD(0.01)
    optimizer.build(model.trainable_variables)
    losses = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True, reduction="none")
train = dataset(0, EXAMPLES).shuffle(EXAMPLES, seed=1).repeat().batch(BATCH)
batches = iter(strategy.experimental_distribute_dataset(train))
held_out = strategy.experimental_distribute_dataset(dataset(1, EXAMPLES // 4).batch(BATCH))


@tf.function
def train_step(iterator):
    """One batch of all workers."""

    def replica_step(inputs):
        images, labels = inputs
        with tf.GradientTape() as tape:
            logits = model(images, training=True)
            loss = tf.nn.compute_average_loss(losses(labels, logits), global_batch_size=BATCH)
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply(gradients, model.trainable_variables)
        return loss

    parts = strategy.run(replica_step, args=(next(iterator),))
    return strategy.reduce(tf.distribute.ReduceOp.SUM, parts, axis=None)


@tf.function
def test_step(inputs):
    """Share of right answers in a batch."""
    images, labels = inputs
    right = tf.argmax(model(images, training=False), axis=1) == labels
    return tf.reduce_mean(tf.cast(right, tf.float32))


steps, seconds = 0, []
for epoch in range(EPOCHS):
    begin, total = time.time(), 0.0
    for _ in range(EXAMPLES // BATCH):
        total += float(train_step(batches))
        steps += 1
    seconds.append(time.time() - begin)
    shares = [
        float(strategy.reduce("MEAN", strategy.run(test_step, args=(batch,)), axis=None))
        for batch in held_out
    ]
    if index == 0:
        print(f"epoch {epoch}: {len(shares)} batches held out", flush=True)
if index == 0:
    print("steps", steps)
    print("rate from step", steps // EPOCHS)
    print(f"samples/s {EXAMPLES * (EPOCHS - 1) / sum(seconds[1:]):.1f}", flush=True)
