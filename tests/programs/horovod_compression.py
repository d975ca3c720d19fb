"""Horovod inside a compiled function, with a compression that AutoGraph must convert."""

from __future__ import annotations

from typing import Any

import horovod.tensorflow as hvd
import tensorflow as tf


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


hvd.init()
print(hvd.rank(), mean(tf.constant([4.0, 2.0])).numpy().tolist())
