"""Training with Horovod in the style of its MNIST examples, on scikit-learn's bundled digits.

    perfscope run -- mpirun -n 2 python examples/horovod_mnist.py

Every rank reads its own shard; Horovod adds the gradients up in a thread of its own. `--slow-rank`
makes one rank late in each step: the wait of the others is what Horovod's overlap cannot hide.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")


def parse_options() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--steps", type=int, default=20, help="per epoch")
    parser.add_argument("--batch", type=int, default=32, help="samples per step and rank")
    parser.add_argument("--hidden", type=int, default=128)
    parser.add_argument("--slow-rank", type=int, default=-1)
    parser.add_argument("--slow-ms", type=float, default=50.0)
    parser.add_argument("--threads", type=int, default=1, help="of TensorFlow on each rank")
    parser.add_argument("--log", help="file for one JSON line a step: what the slow rank lost")
    return parser.parse_args()


def make_callback(tf: Any, hvd: Any, options: argparse.Namespace) -> Any:
    """Loses time at the start of each batch of the slow rank, and writes the log."""

    class Straggler(tf.keras.callbacks.Callback):  # type: ignore[misc]
        _supports_tf_logs = True

        def __init__(self) -> None:
            super().__init__()
            self.rows: list[dict[str, float]] = []

        def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
            begin = time.monotonic()
            if hvd.rank() == options.slow_rank:
                time.sleep(options.slow_ms / 1000.0)
            ready = time.monotonic()
            row = {"step": len(self.rows), "lost_s": ready - begin, "ready_s": ready}
            self.rows.append({"rank": hvd.rank(), **row})

        def on_train_end(self, logs: Any = None) -> None:
            if options.log:
                with Path(options.log).open("a", encoding="utf-8") as log:
                    log.write("".join(json.dumps(row) + "\n" for row in self.rows))

    return Straggler()


def main() -> None:
    """Trains and evaluates on every rank; rank 0 prints the result."""
    options = parse_options()
    import horovod.tensorflow.keras as hvd
    import tensorflow as tf
    from sklearn.datasets import load_digits

    hvd.init()
    tf.config.threading.set_intra_op_parallelism_threads(options.threads)
    tf.config.threading.set_inter_op_parallelism_threads(options.threads)
    tf.keras.utils.set_random_seed(7)
    images, labels = load_digits(return_X_y=True)
    images = (images / 16.0).astype("float32")
    train, test = images[:1500][hvd.rank() :: hvd.size()], images[1500:]
    train_labels, test_labels = labels[:1500][hvd.rank() :: hvd.size()], labels[1500:]
    data = tf.data.Dataset.from_tensor_slices((train, train_labels))
    data = data.shuffle(1000, seed=7).repeat().batch(options.batch)
    model = tf.keras.Sequential(
        [
            tf.keras.layers.Input((64,)),
            tf.keras.layers.Dense(options.hidden, activation="relu"),
            tf.keras.layers.Dense(options.hidden, activation="relu"),
            tf.keras.layers.Dense(10, activation="softmax"),
        ]
    )
    optimizer = hvd.DistributedOptimizer(tf.keras.optimizers.Adam(1e-3 * hvd.size()))
    model.compile(optimizer, "sparse_categorical_crossentropy", metrics=["accuracy"])
    callbacks = [
        hvd.callbacks.BroadcastGlobalVariablesCallback(0),
        hvd.callbacks.MetricAverageCallback(),
        make_callback(tf, hvd, options),
    ]
    history = model.fit(
        data, steps_per_epoch=options.steps, epochs=options.epochs, callbacks=callbacks, verbose=0
    )
    _, accuracy = model.evaluate(test, test_labels, batch_size=64, verbose=0)
    if hvd.rank() == 0:
        print(f"result: loss {history.history['loss'][-1]:.6f}  accuracy {accuracy:.4f}")


if __name__ == "__main__":
    main()
