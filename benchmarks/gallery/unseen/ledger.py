"""Trains a two-layer regressor and keeps a journal of every parameter's gradient norm."""

import argparse
import os
import tempfile
from itertools import pairwise
from pathlib import Path

import numpy as np
from mpi4py import MPI

SIZES = (256, 512, 512, 512, 256, 64)


class Journal:
    def __init__(self, path, safe):
        self.stream = path.open("w")
        self.safe = safe

    def write(self, step, name, value):
        self.stream.write(f"{step},{name},{value:.6g}\n")
        if self.safe:
            self.stream.flush()
            os.fsync(self.stream.fileno())


def backward(layers, inputs, targets):
    values = [inputs]
    for layer in layers:
        values.append(np.tanh(values[-1] @ layer))
    error = (values[-1] - targets) / len(inputs)
    gradients = []
    for layer, value, below in zip(layers[::-1], values[:0:-1], values[-2::-1], strict=True):
        error *= 1.0 - value**2
        gradients.append(below.T @ error)
        error = error @ layer.T
    return gradients[::-1]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=700)
    parser.add_argument("--cured", action="store_true")
    args = parser.parse_args()
    comm = MPI.COMM_WORLD
    same = np.random.default_rng(1)
    pairs = list(pairwise(SIZES))
    layers = [same.normal(0, 0.06, pair).astype(np.float32) for pair in pairs]
    generator = np.random.default_rng(50 + comm.rank)
    place = Path(tempfile.mkdtemp())
    journal = Journal(place / "gradients.csv", safe=not args.cured) if comm.rank == 0 else None
    for step in range(args.steps):
        inputs = generator.normal(size=(256, SIZES[0])).astype(np.float32)
        gradients = backward(layers, inputs, np.tanh(inputs[:, : SIZES[-1]]))
        for number, gradient in enumerate(gradients):
            comm.Allreduce(MPI.IN_PLACE, gradient)
            layers[number] -= 0.05 / comm.size * gradient
        if journal is not None:
            for number, gradient in enumerate(gradients):
                for part, rows in enumerate(np.array_split(gradient, 8)):
                    journal.write(step, f"layer{number}.{part}", float(np.linalg.norm(rows)))
    if comm.rank == 0:
        print(f"norm {sum(float(np.linalg.norm(layer)) for layer in layers):.3f}")


if __name__ == "__main__":
    main()
