"""Standardizes columns of a large sensor table and learns their weights."""

import argparse

import numpy as np
from mpi4py import MPI

COLUMNS, READINGS = 2048, 2048


def column_means(table, chosen, turned):
    if turned:
        return np.array([float(np.sort(table[index])[::64].mean()) for index in chosen])
    return np.array([float(np.sort(table[:, index])[::64].mean()) for index in chosen])


def energy(table, chosen, turned):
    total = np.zeros(len(chosen))
    for row, index in enumerate(chosen):
        values = table[index] if turned else table[:, index]
        total[row] = float((values * values).sum() + np.abs(values).max())
    return total


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--cured", action="store_true")
    args = parser.parse_args()
    comm = MPI.COMM_WORLD
    generator = np.random.default_rng(comm.rank)
    table = generator.normal(size=(READINGS, COLUMNS))
    if args.cured:
        table = np.ascontiguousarray(table.T)
    weights = np.zeros(COLUMNS)
    for _ in range(args.steps):
        chosen = generator.permutation(COLUMNS)[:400]
        change = np.zeros(COLUMNS)
        for _ in range(3):
            change[chosen] += energy(table, chosen, args.cured)
        change[chosen[:40]] += column_means(table, chosen[:40], args.cured)
        comm.Allreduce(MPI.IN_PLACE, change)
        weights += 1e-3 * change / comm.size
    if comm.rank == 0:
        print(f"weights {weights.sum():.2f}")


if __name__ == "__main__":
    main()
