"""A classifier trained with Keras, as its guides do."""

import numpy as np
from tensorflow import keras

SAMPLES, BATCH, EPOCHS = 2048, 64, 3

keras.utils.set_random_seed(7)
random = np.random.default_rng(7)
x = random.random((SAMPLES, 28, 28, 1), dtype="float32")
y = random.integers(0, 10, SAMPLES)
model = keras.Sequential(
    [
        keras.layers.Conv2D(16, 3, activation="relu"),
        keras.layers.MaxPooling2D(2),
        keras.layers.Flatten(),
        keras.layers.Dense(10, activation="softmax"),
    ]
)
model.compile(optimizer="adam", loss="sparse_categorical_crossentropy", metrics=["accuracy"])
model.fit(x, y, batch_size=BATCH, epochs=EPOCHS, verbose=0)
print("steps", EPOCHS * SAMPLES // BATCH, flush=True)
