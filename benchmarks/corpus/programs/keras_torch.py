"""A convolutional network in Keras 3 on PyTorch: fit with validation, a checkpoint, evaluate."""

import os
import time

os.environ.setdefault("KERAS_BACKEND", "torch")

import keras
import numpy as np

BATCH, EPOCHS, EXAMPLES = 32, 3, 640


class Clock(keras.callbacks.Callback):
    """Seconds of the batches after the first."""

    def __init__(self) -> None:
        super().__init__()
        self.steps, self.seconds, self.begin = 0, 0.0, None

    def on_train_batch_begin(self, batch, logs=None):
        """Until the next one begins it is a step."""
        now = time.time()
        if self.begin is not None:
            self.seconds += now - self.begin
        self.begin = now if self.steps else None
        self.steps += 1

    def on_test_begin(self, logs=None):
        """What follows is no training."""
        if self.begin is not None:
            self.seconds += time.time() - self.begin
        self.begin = None


keras.utils.set_random_seed(0)
random = np.random.default_rng(0)
images = random.random((EXAMPLES, 16, 16, 1), dtype=np.float32)
labels = random.integers(0, 4, EXAMPLES)
layers = [
    keras.layers.Conv2D(8, 3, activation="relu"),
    keras.layers.MaxPooling2D(),
    keras.layers.Flatten(),
    keras.layers.Dense(4, activation="softmax"),
]
model = keras.Sequential([keras.Input((16, 16, 1)), *layers])
model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
clock = Clock()
model.fit(
    images,
    labels,
    batch_size=BATCH,
    epochs=EPOCHS,
    validation_split=0.2,
    verbose=0,
    callbacks=[clock],
)
model.save("model.keras")
print(f"loss {model.evaluate(images, labels, verbose=0)[0]:.3f}")
print("steps", clock.steps)
print(f"samples/s {BATCH * (clock.steps - EPOCHS) / clock.seconds:.1f}", flush=True)
