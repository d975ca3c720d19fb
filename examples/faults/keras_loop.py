"""A Keras program with one fault: what is in its loop keeps memory or compiles again.

    perfscope run -- python examples/faults/keras_loop.py --call predict --calls 3000

`predict` builds an input pipeline in every call; `rebuild` makes and compiles a model in every
iteration; `retrace` calls a compiled function with a Python number that is another one each time.
`predict_on_batch` is the cure of the first, `train` and `traced` of the others; `both` predicts in
turn by the first and its cure. The program reads its own memory after each call and prints by how
much it grows per call in the last half: the median of all slopes between two calls (Theil and Sen).
"""

from __future__ import annotations

import argparse
import os
import time
from array import array
from collections.abc import Callable
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
PAGE_KIB = os.sysconf("SC_PAGESIZE") // 1024
MOST_CALLS = 1 << 20
MOST_POINTS = 400


def private_kib() -> int:
    """Resident memory of this process that is no file's and not shared."""
    _, resident, shared, *_ = Path("/proc/self/statm").read_text(encoding="ascii").split()
    return (int(resident) - int(shared)) * PAGE_KIB


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

    def both(_: int) -> object:
        return model.predict(images, verbose=0), model.predict_on_batch(images)

    known: dict[str, Callable[[int], object]] = {
        "predict": lambda _: model.predict(images, verbose=0),
        "predict_on_batch": lambda _: model.predict_on_batch(images),
        "both": both,
        "train": lambda _: model.train_on_batch(images, labels),
        "rebuild": lambda _: build().train_on_batch(images, labels),
        "retrace": lambda number: shifted(images, number),
        "traced": lambda number: shifted(images, tf.constant(number)),
    }
    return known[call]


def slope(values: array[int]) -> float:
    """Median slope over all pairs of at most 400 values, per value; 0 of fewer than two."""
    import numpy as np

    if len(values) < 2:
        return 0.0
    keep = np.linspace(0, len(values) - 1, min(len(values), MOST_POINTS)).astype(np.int64)
    first, second = np.triu_indices(len(keep), 1)
    rise = np.asarray(values, np.float64)[keep]
    slopes = (rise[second] - rise[first]) / (keep[second] - keep[first])
    return float(np.median(slopes))


def main() -> None:
    """Calls, and prints how memory grew over the second half of the calls."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    choices = ("predict", "predict_on_batch", "both", "train", "rebuild", "retrace", "traced")
    parser.add_argument("--call", choices=choices, default="predict")
    parser.add_argument("--calls", type=int, default=1000)
    parser.add_argument("--least-s", type=float, default=0.0, help="go on for so many seconds")
    options = parser.parse_args()
    call = work(options.call)
    kept = array("q", [1]) * MOST_CALLS  # before the loop, whose memory would otherwise grow by it
    began, done = time.monotonic(), 0
    while done < options.calls or time.monotonic() - began < options.least_s:
        call(done)
        kept[done] = private_kib()
        done += 1
        if done == MOST_CALLS:
            break
    seconds = time.monotonic() - began
    half = kept[done // 2 : done]
    each_ms = seconds / max(1, done) * 1e3
    print(f"result: {done} calls  {each_ms:.3f} ms each  {slope(half):.3f} KiB each")


if __name__ == "__main__":
    main()
