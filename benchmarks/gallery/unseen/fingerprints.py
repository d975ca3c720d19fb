"""Trains a two-layer regression and makes sure that all ranks hold the same weights."""

import argparse
import hashlib

import numpy as np
from mpi4py import MPI


def seal(layers, moments):
    digest = hashlib.sha256()
    for array in (*layers, *moments):
        digest.update(array.tobytes())
    return digest.digest()


def agree(comm, own):
    both = bytearray(32 * comm.size)
    comm.Allgather(own, both)
    return all(both[32 * k : 32 * k + 32] == own for k in range(comm.size))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--cured", action="store_true")
    args = parser.parse_args()
    comm = MPI.COMM_WORLD
    first = np.random.default_rng(1).normal(0, 0.05, (1200, 700)).astype(np.float32)
    second = np.random.default_rng(2).normal(0, 0.05, (700, 40)).astype(np.float32)
    moments = [np.zeros_like(first), np.zeros_like(second)]
    generator = np.random.default_rng(90 + comm.rank)
    for step in range(args.steps):
        inputs = generator.normal(size=(256, 1200)).astype(np.float32)
        hidden = np.maximum(inputs @ first, 0)
        error = hidden @ second - inputs[:, :40]
        of_second = hidden.T @ error / len(inputs)
        of_first = inputs.T @ ((error @ second.T) * (hidden > 0)) / len(inputs)
        for layer, moment, slope in zip(
            (first, second), moments, (of_first, of_second), strict=True
        ):
            comm.Allreduce(MPI.IN_PLACE, slope)
            moment *= 0.9
            moment += slope / comm.size
            layer -= 0.01 * moment
        is_due = not args.cured or step % 200 == 0
        if is_due and not agree(comm, seal((first, second), moments)):
            raise SystemExit("the ranks drifted apart")
    if comm.rank == 0:
        print(f"error {float((error**2).mean()):.4f}")


if __name__ == "__main__":
    main()
