"""Accumulates gradients over micro-batches whose images have different sizes."""

import argparse

import numpy as np
from mpi4py import MPI

PARTS = 10


def load(generator):
    rows = int(generator.integers(40, 900))
    return generator.normal(size=(rows, 300)).astype(np.float32)


def forward_backward(weights, images):
    hidden = np.tanh(images @ weights)
    hidden = np.tanh(hidden @ weights)
    error = hidden - np.tanh(images)
    return images.T @ (error * (1.0 - hidden**2)) / len(images)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--cured", action="store_true")
    args = parser.parse_args()
    comm = MPI.COMM_WORLD
    generator = np.random.default_rng(200 + comm.rank)
    weights = np.random.default_rng(3).normal(0, 0.06, (300, 300)).astype(np.float32)
    for _ in range(args.steps):
        gradient = np.zeros_like(weights)
        for _ in range(PARTS):
            gradient += forward_backward(weights, load(generator))
            if not args.cured:
                comm.Barrier()
        comm.Allreduce(MPI.IN_PLACE, gradient)
        weights -= 0.01 * gradient / (PARTS * comm.size)
    if comm.rank == 0:
        print(f"norm {np.linalg.norm(weights):.4f}")


if __name__ == "__main__":
    main()
