"""One allreduce of Horovod a step, rank 1 late: `horovod_straggler.py STEPS SLOW_MS LOG`.

The log holds, for each rank and step, when it asked for the allreduce by the clock that all ranks
of a host share: the difference is how long Horovod keeps the other rank waiting. Before the steps
Horovod is called in a compiled function, with a compression that AutoGraph must convert.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import horovod.tensorflow as hvd
import numpy as np
import tensorflow as tf

from perfscope_agent import marker  # type: ignore[import-not-found]  # on the path of recorded runs


class Halved:
    """Halves what is too large: `if` over a tensor works nowhere but in converted code."""

    @staticmethod
    def compress(tensor: Any) -> tuple[Any, None]:
        """What is sent, and what `decompress` needs of it."""
        if tf.reduce_max(tensor) > 1.0:
            tensor = tensor / 2.0
        return tensor, None

    @staticmethod
    def decompress(tensor: Any, _: None) -> Any:
        """What was sent."""
        return tensor


@tf.function  # type: ignore[untyped-decorator]
def mean(values: Any) -> Any:
    """The mean over the ranks."""
    return hvd.allreduce(values, compression=Halved)


steps, slow_ms, log = int(sys.argv[1]), float(sys.argv[2]), Path(sys.argv[3])
hvd.init()
print(hvd.rank(), mean(tf.constant([4.0, 2.0])).numpy().tolist(), flush=True)
gradient = tf.constant(np.ones(50_000, np.float32))
asked = []
for step in range(steps):
    marker.step(number=step)
    if hvd.rank() == 1:
        time.sleep(slow_ms / 1000.0)
    asked.append(time.monotonic())
    hvd.allreduce(gradient, name="gradient", op=hvd.Sum)
with log.with_suffix(f".{hvd.rank()}").open("w", encoding="utf-8") as file:
    json.dump(asked, file)
