"""A Keras program with one fault: what is in its loop keeps memory or compiles again.

    perfscope run -- python examples/faults/keras_loop.py --call predict --calls 1000

`predict` builds an input pipeline in every call; `rebuild` makes and compiles a model in every
iteration; `retrace` calls a compiled function with a Python number that is another one each time.
`predict_on_batch` is the cure of the first, `train` and `traced` of the others.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
PAGE_KIB = os.sysconf("SC_PAGESIZE") // 1024


def resident_kib() -> int:
    """Resident memory of this process."""
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * PAGE_KIB


def work(call: str) -> Callable[[int], object]:
    """What the loop does, by its number."""
    import numpy as np
    import tensorflow as tf

    images, labels = np.zeros((8, 16), np.float32), np.zeros(8, np.int64)

    def build() -> tf.keras.Model:
        made = tf.keras.Sequential(
            [tf.keras.layers.Input((16,)), tf.keras.layers.Dense(16), tf.keras.layers.Dense(4)]
        )
        made.compile("sgd", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True))
        return made

    model = build()

    @tf.function
    def shifted(values: tf.Tensor, by: object) -> tf.Tensor:
        return values + tf.cast(by, tf.float32)

    known: dict[str, Callable[[int], object]] = {
        "predict": lambda _: model.predict(images, verbose=0),
        "predict_on_batch": lambda _: model.predict_on_batch(images),
        "train": lambda _: model.train_on_batch(images, labels),
        "rebuild": lambda _: build().train_on_batch(images, labels),
        "retrace": lambda number: shifted(images, number),
        "traced": lambda number: shifted(images, tf.constant(number)),
    }
    return known[call]


def main() -> None:
    """Calls, and prints how memory grew over the second half of the calls."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    choices = ("predict", "predict_on_batch", "train", "rebuild", "retrace", "traced")
    parser.add_argument("--call", choices=choices, default="predict")
    parser.add_argument("--calls", type=int, default=1000)
    parser.add_argument("--least-s", type=float, default=0.0, help="go on for so many seconds")
    options = parser.parse_args()
    call = work(options.call)
    began, times = time.monotonic(), []
    while len(times) < options.calls or time.monotonic() - began < options.least_s:
        call(len(times))
        times.append((time.monotonic() - began, resident_kib()))
    half = len(times) // 2
    calls, grown = len(times) - half, times[-1][1] - times[half][1]
    each_ms = (times[-1][0] - times[half][0]) / calls * 1e3
    print(f"result: {len(times)} calls  {each_ms:.3f} ms each  {grown / calls:.3f} KiB each")


if __name__ == "__main__":
    main()
