"""A loop by hand in TensorFlow with Horovod's tape, as its tensorflow2_mnist does."""

import horovod.tensorflow as hvd
import tensorflow as tf

BATCH, STEPS = 32, 60

hvd.init()
tf.random.set_seed(hvd.rank())
images = tf.random.uniform((1024, 28, 28, 1))
labels = tf.random.uniform((1024,), maxval=10, dtype=tf.int64)
dataset = tf.data.Dataset.from_tensor_slices((images, labels)).repeat().shuffle(256).batch(BATCH)
model = tf.keras.Sequential(
    [
        tf.keras.layers.Conv2D(16, 3, activation="relu"),
        tf.keras.layers.MaxPooling2D(),
        tf.keras.layers.Flatten(),
        tf.keras.layers.Dense(10),
    ]
)
loss_of = tf.losses.SparseCategoricalCrossentropy(from_logits=True)
optimizer = tf.optimizers.Adam(0.001 * hvd.size())


@tf.function
def training_step(batch, targets, is_first):
    """One step; the first one makes all ranks start alike."""
    with tf.GradientTape() as tape:
        loss = loss_of(targets, model(batch, training=True))
    tape = hvd.DistributedGradientTape(tape)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
    if is_first:
        hvd.broadcast_variables(model.variables, root_rank=0)
        hvd.broadcast_variables(optimizer.variables(), root_rank=0)
    return loss


for step, (batch, targets) in enumerate(dataset.take(STEPS)):
    loss = training_step(batch, targets, step == 0)
    if step % 20 == 0 and hvd.rank() == 0:
        print(f"step {step} has a loss: {bool(loss > 0)}")
if hvd.rank() == 0:
    print("steps", STEPS, flush=True)
