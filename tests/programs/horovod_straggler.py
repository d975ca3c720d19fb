"""One allreduce of Horovod a step, rank 1 late: `horovod_straggler.py STEPS SLOW_MS LOG`.

The log holds, for each rank and step, when it asked for the allreduce by the clock that all ranks
of a host share: the difference is how long Horovod keeps the other rank waiting.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import horovod.tensorflow as hvd
import numpy as np
import tensorflow as tf

from perfscope_agent import marker  # type: ignore[import-not-found]  # on the path of recorded runs

steps, slow_ms, log = int(sys.argv[1]), float(sys.argv[2]), Path(sys.argv[3])
hvd.init()
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
