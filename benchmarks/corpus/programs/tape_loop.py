"""A loop from scratch in TensorFlow, with metrics and a validation, as Keras' guide shows it."""

import time

import numpy as np
import tensorflow as tf

keras = tf.keras
SAMPLES, BATCH, EPOCHS = 2048, 64, 2

keras.utils.set_random_seed(1)
numbers = np.random.default_rng(0)
x = numbers.random((SAMPLES, 784), dtype=np.float32)
y = numbers.integers(10, size=SAMPLES)
training = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(512).batch(BATCH)
validation = tf.data.Dataset.from_tensor_slices((x[:256], y[:256])).batch(BATCH)
model = keras.Sequential(
    [keras.Input((784,)), keras.layers.Dense(64, activation="relu"), keras.layers.Dense(10)]
)
optimizer = keras.optimizers.Adam(1e-3)
loss_of = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
accuracy = keras.metrics.SparseCategoricalAccuracy()


@tf.function
def train_step(batch, targets):
    """One step of gradient descent."""
    with tf.GradientTape() as tape:
        loss = loss_of(targets, model(batch, training=True))
    gradients = tape.gradient(loss, model.trainable_weights)
    optimizer.apply_gradients(zip(gradients, model.trainable_weights, strict=True))
    accuracy.update_state(targets, model(batch, training=True))
    return loss


@tf.function
def test_step(batch, targets):
    """Counts what is right."""
    accuracy.update_state(targets, model(batch, training=False))


steps = 0
for epoch in range(EPOCHS):
    begin = time.time()
    for batch, targets in training:
        loss = train_step(batch, targets)
        steps += 1
    accuracy.reset_state()
    for batch, targets in validation:
        test_step(batch, targets)
    print(f"epoch {epoch} has a loss: {bool(loss > 0)}")
    accuracy.reset_state()
print("steps", steps, flush=True)
