"""Keras' fit with Horovod's optimizer and callbacks, as its tensorflow2_keras_mnist does."""

import horovod.tensorflow.keras as hvd
import tensorflow as tf

BATCH, EPOCHS, STEPS = 64, 3, 20

hvd.init()
tf.random.set_seed(1)
images = tf.random.uniform((1280, 28, 28, 1))
labels = tf.random.uniform((1280,), maxval=10, dtype=tf.int64)
dataset = tf.data.Dataset.from_tensor_slices((images, labels)).repeat().shuffle(256).batch(BATCH)
model = tf.keras.Sequential(
    [
        tf.keras.layers.Conv2D(8, 3, activation="relu"),
        tf.keras.layers.MaxPooling2D(),
        tf.keras.layers.Flatten(),
        tf.keras.layers.Dense(10, activation="softmax"),
    ]
)
optimizer = hvd.DistributedOptimizer(tf.optimizers.Adam(0.001))
model.compile(
    loss=tf.losses.SparseCategoricalCrossentropy(),
    optimizer=optimizer,
    metrics=["accuracy"],
    experimental_run_tf_function=False,
)
callbacks = [
    hvd.callbacks.BroadcastGlobalVariablesCallback(0),
    hvd.callbacks.MetricAverageCallback(),
    hvd.callbacks.LearningRateWarmupCallback(initial_lr=0.001, warmup_epochs=2),
]
if hvd.rank() == 0:
    callbacks.append(tf.keras.callbacks.ModelCheckpoint("./checkpoint-{epoch}.h5"))
history = model.fit(dataset, steps_per_epoch=STEPS, callbacks=callbacks, epochs=EPOCHS, verbose=0)
if hvd.rank() == 0:
    print("epochs", len(history.history["loss"]))
    print("steps", STEPS * EPOCHS, flush=True)
