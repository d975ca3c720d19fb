"""Trains a small network and keeps the loss of every sample for a curve."""

import argparse

import numpy as np
from mpi4py import MPI


class Curve:
    def __init__(self, in_blocks):
        self.in_blocks = in_blocks
        self.values = [] if in_blocks else np.array([])

    def extend(self, losses):
        if self.in_blocks:
            self.values.append(losses)
            return
        for loss in losses:
            self.values = np.append(self.values, loss)


def step_of(weights, inputs, targets):
    hidden = np.maximum(inputs @ weights[0], 0.0)
    error = hidden @ weights[1] - targets
    back = (error @ weights[1].T) * (hidden > 0)
    return inputs.T @ back, hidden.T @ error, (error**2).mean(axis=1)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("--cured", action="store_true")
    args = parser.parse_args()
    comm = MPI.COMM_WORLD
    generator = np.random.default_rng(comm.rank)
    same = np.random.default_rng(2)
    weights = [
        same.normal(0, 0.02, (512, 512)).astype(np.float32),
        same.normal(0, 0.02, (512, 64)).astype(np.float32),
    ]
    curve = Curve(in_blocks=args.cured)
    for _ in range(args.steps):
        inputs = generator.random((512, 512), dtype=np.float32)
        first, second, losses = step_of(weights, inputs, inputs[:, :64])
        comm.Allreduce(MPI.IN_PLACE, first)
        comm.Allreduce(MPI.IN_PLACE, second)
        weights[0] -= 0.0001 * first
        weights[1] -= 0.0001 * second
        curve.extend(losses)
    if comm.rank == 0:
        print(f"last {np.concatenate([np.atleast_1d(part) for part in curve.values])[-1]:.4f}")


if __name__ == "__main__":
    main()
