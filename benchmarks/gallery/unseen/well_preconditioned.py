"""Trains with a preconditioner that is worked out anew every tenth step."""

import argparse

import numpy as np
from mpi4py import MPI


def root_of(statistics):
    values, vectors = np.linalg.eigh(statistics + 1e-3 * np.eye(len(statistics)))
    return ((vectors / np.sqrt(values)) @ vectors.T).astype(np.float32)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=600)
    args = parser.parse_args()
    comm = MPI.COMM_WORLD
    teacher = np.random.default_rng(4).normal(size=(400, 300)).astype(np.float32)
    generator = np.random.default_rng(50 + comm.rank)
    weights = np.zeros((400, 300), dtype=np.float32)
    statistics = np.zeros((400, 400))
    root = np.eye(400, dtype=np.float32)
    for step in range(args.steps):
        inputs = generator.normal(size=(700, 400)).astype(np.float32)
        error = np.tanh(inputs @ weights) - np.tanh(inputs @ teacher)
        slope = inputs.T @ error / len(inputs)
        comm.Allreduce(MPI.IN_PLACE, slope)
        slope /= comm.size
        statistics = 0.95 * statistics + 0.05 * (slope @ slope.T)
        if step % 10 == 0:
            root = root_of(statistics)
        weights -= 0.01 * (root @ slope)
    if comm.rank == 0:
        print(f"error {float((error**2).mean()):.4f}")


if __name__ == "__main__":
    main()
