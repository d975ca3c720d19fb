"""Trains with whitened inputs; the ranks share one running covariance."""

import argparse

import numpy as np
from mpi4py import MPI

WIDTH = 320


def whitening(batch):
    covariance = batch.T @ batch / len(batch) + 0.1 * np.eye(WIDTH)
    values, vectors = np.linalg.eigh(covariance)
    return (vectors / np.sqrt(values)) @ vectors.T


def whiten_in_order(comm, batch):
    matrix = None
    for rank in range(comm.size):
        if rank == comm.rank:
            matrix = whitening(batch)
        comm.Barrier()
    return matrix


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=380)
    parser.add_argument("--cured", action="store_true")
    args = parser.parse_args()
    comm = MPI.COMM_WORLD
    generator = np.random.default_rng(60 + comm.rank)
    weights = np.zeros((WIDTH, 16))
    teacher = np.random.default_rng(2).normal(size=(WIDTH, 16))
    for _ in range(args.steps):
        batch = generator.normal(size=(512, WIDTH)) * np.linspace(0.2, 3.0, WIDTH)
        matrix = whitening(batch) if args.cured else whiten_in_order(comm, batch)
        clean = batch @ matrix
        error = clean @ weights - np.tanh(clean @ teacher)
        gradient = clean.T @ error / len(batch)
        comm.Allreduce(MPI.IN_PLACE, gradient)
        weights -= 0.2 * gradient / comm.size
    if comm.rank == 0:
        print(f"norm {np.linalg.norm(weights):.4f}")


if __name__ == "__main__":
    main()
