"""Trains on every rank's own records and averages the models after each pass over them."""

import argparse

import numpy as np
from mpi4py import MPI

WIDTH = 256


def passes_over(weights, records, batch):
    for start in range(0, len(records), batch):
        rows = records[start : start + batch]
        error = np.tanh(rows @ weights) - np.roll(rows, 1, axis=1) * 0.1
        weights -= 0.01 * (rows.T @ error) / len(rows)
    return float((error**2).mean())


def average(comm, weights):
    comm.Allreduce(MPI.IN_PLACE, weights)
    weights /= comm.size


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=150)
    parser.add_argument("--cured", action="store_true")
    args = parser.parse_args()
    comm = MPI.COMM_WORLD
    shares = (12288, 12288) if args.cured else (7680, 16896)
    records = np.random.default_rng(comm.rank).normal(size=(shares[comm.rank % 2], WIDTH))
    records = records.astype(np.float32)
    weights = np.random.default_rng(1).normal(0, 0.05, (WIDTH, WIDTH)).astype(np.float32)
    for _ in range(args.rounds):
        loss = passes_over(weights, records, 256)
        average(comm, weights)
    if comm.rank == 0:
        print(f"loss {loss:.5f}")


if __name__ == "__main__":
    main()
