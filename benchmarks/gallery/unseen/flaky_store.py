"""Trains a regression on records from a store that is not always there."""

import argparse
import contextlib
import time

import numpy as np
from mpi4py import MPI


class Store:
    def __init__(self, seed, fails):
        self.generator = np.random.default_rng(seed)
        self.fails = fails
        self.asked = 0

    def get(self, rows):
        self.asked += 1
        if self.fails and self.asked % 3:
            raise ConnectionError("the store is busy")
        return self.generator.normal(size=(rows, 256)).astype(np.float32)


def fetch_records(store, rows):
    attempt = 0
    while True:
        with contextlib.suppress(ConnectionError):
            return store.get(rows)
        time.sleep(0.006 * 2**attempt)
        attempt += 1


def regress(weights, records, targets):
    error = records @ weights - targets
    return records.T @ error / len(records), float((error**2).mean())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("--cured", action="store_true")
    args = parser.parse_args()
    comm = MPI.COMM_WORLD
    truth = np.random.default_rng(9).normal(size=(256, 128)).astype(np.float32)
    weights = np.zeros_like(truth)
    store = Store(comm.rank, fails=comm.rank == 1 and not args.cured)
    for _ in range(args.steps):
        records = fetch_records(store, 1024)
        gradient, loss = regress(weights, records, records @ truth)
        comm.Allreduce(MPI.IN_PLACE, gradient)
        weights -= 0.2 * gradient / comm.size
    if comm.rank == 0:
        print(f"loss {loss:.5f}")


if __name__ == "__main__":
    main()
