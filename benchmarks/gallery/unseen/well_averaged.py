"""Trains on every rank's own records and averages the models twice in each pass."""

import argparse

import numpy as np
from mpi4py import MPI

WIDTH = 192


def walk(weights, records, batch):
    for start in range(0, len(records), batch):
        rows = records[start : start + batch]
        error = np.tanh(rows @ weights) - rows[:, ::-1] * 0.2
        weights -= 0.01 * (rows.T @ error) / len(rows)
    return float((error**2).mean())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=200)
    args = parser.parse_args()
    comm = MPI.COMM_WORLD
    records = np.random.default_rng(comm.rank).normal(size=(12288, WIDTH)).astype(np.float32)
    weights = np.random.default_rng(1).normal(0, 0.05, (WIDTH, WIDTH)).astype(np.float32)
    for _ in range(args.rounds):
        for half in np.split(records, 2):
            loss = walk(weights, half, 256)
            comm.Allreduce(MPI.IN_PLACE, weights)
            weights /= comm.size
    if comm.rank == 0:
        print(f"loss {loss:.5f}")


if __name__ == "__main__":
    main()
