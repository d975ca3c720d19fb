"""How the ranks keep their weights alike: gradients by Horovod, or weights by mpi4py."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import tensorflow as tf

if TYPE_CHECKING:
    from sgan.options import Options


class Team:
    """One process alone; the others are built on it."""

    name = "none"

    def __init__(self) -> None:
        self.rank = 0
        self.size = 1
        self._rows: list[dict[str, float]] = []

    def optimizer(self, learning_rate: float) -> Any:
        """A new optimizer."""
        return tf.keras.optimizers.Adam(learning_rate)

    def descend(self, optimizer: Any, tape: Any, loss: Any, variables: list[Any]) -> None:
        """One step of an optimizer in a training step written by hand."""
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))

    def start(self, models: list[Any]) -> None:
        """Gives every rank the weights of rank 0."""

    def average(self, models: list[Any]) -> None:
        """After an iteration: makes the ranks agree on their weights, if they do not already."""

    def lose_time(self, options: Options) -> None:
        """What the slow rank does before it begins an iteration."""
        begin = time.monotonic()
        if self.rank == options.slow_rank:
            time.sleep(options.slow_ms / 1000.0)
        ready = time.monotonic()
        row = {"step": len(self._rows), "lost_s": ready - begin, "ready_s": ready}
        self._rows.append({"rank": self.rank, **row})

    def evaluated(self, seconds: float) -> None:
        """Notes that the iteration that is just over was followed by an evaluation."""
        self._rows[-1]["evaluate_s"] = seconds

    def finish(self, options: Options) -> None:
        """Writes the log, if one was asked for."""
        if not options.log:
            return
        with Path(options.log).open("a", encoding="utf-8") as log:
            log.write("".join(json.dumps(row) + "\n" for row in self._rows))


class HorovodTeam(Team):
    """Horovod adds the gradients of all ranks up inside the optimizers."""

    name = "horovod"

    def __init__(self) -> None:
        super().__init__()
        import horovod.tensorflow.keras as keras_hvd

        keras_hvd.init()
        self._hvd = keras_hvd
        self.rank, self.size = keras_hvd.rank(), keras_hvd.size()

    def optimizer(self, learning_rate: float) -> Any:
        return self._hvd.DistributedOptimizer(super().optimizer(learning_rate))

    def descend(self, optimizer: Any, tape: Any, loss: Any, variables: list[Any]) -> None:
        # Horovod adds gradients up where the optimizer computes them, not where it applies them.
        optimizer.minimize(loss, variables, tape=tape)

    def start(self, models: list[Any]) -> None:
        import horovod.tensorflow as hvd

        hvd.broadcast_variables([v for model in models for v in model.variables], root_rank=0)


class Mpi4pyTeam(Team):
    """Every rank trains on its own; after each iteration all take the mean of the weights."""

    name = "mpi4py"

    def __init__(self) -> None:
        super().__init__()
        from mpi4py import MPI

        self._mpi = MPI
        self.rank, self.size = MPI.COMM_WORLD.rank, MPI.COMM_WORLD.size

    def start(self, models: list[Any]) -> None:
        values = self._gather(models)
        self._mpi.COMM_WORLD.Bcast(values)
        self._scatter(models, values)

    def average(self, models: list[Any]) -> None:
        if self.size == 1:
            return
        values = self._gather(models)
        self._mpi.COMM_WORLD.Allreduce(self._mpi.IN_PLACE, values)
        self._scatter(models, values / np.float32(self.size))

    @staticmethod
    def _gather(models: list[Any]) -> Any:
        return np.concatenate([np.ravel(w) for model in models for w in model.get_weights()])

    @staticmethod
    def _scatter(models: list[Any], values: Any) -> None:
        place = 0
        for model in models:
            weights = []
            for old in model.get_weights():
                weights.append(values[place : place + old.size].reshape(old.shape))
                place += old.size
            model.set_weights(weights)


def connect(wanted: str) -> Team:
    """The team of this process: what was asked for, or the best that is installed."""
    for name, team in (("horovod", HorovodTeam), ("mpi4py", Mpi4pyTeam)):
        if wanted not in ("auto", name):
            continue
        try:
            return team()
        except ImportError:
            if wanted == name:
                raise
    return Team()
