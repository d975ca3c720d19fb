"""Trains a matrix factorization of ratings; rank 0 appraises it on the ratings kept back."""

import argparse

import numpy as np
from mpi4py import MPI

USERS, FILMS, FACTORS = 4000, 3000, 32


def ratings(seed, count):
    generator = np.random.default_rng(seed)
    users = generator.integers(0, USERS, count)
    films = generator.integers(0, FILMS, count)
    return users, films, np.sin(users / 400.0) * np.cos(films / 300.0)


def appraise(tables, kept):
    users, films, stars = kept
    guesses = (tables[0][users] * tables[1][films]).sum(axis=1)
    return float(((guesses - stars) ** 2).sum()), len(stars)


def descend(tables, batch):
    users, films, stars = batch
    left, right = tables[0][users], tables[1][films]
    error = (left * right).sum(axis=1) - stars
    changes = np.zeros_like(tables[0]), np.zeros_like(tables[1])
    np.add.at(changes[0], users, error[:, None] * right)
    np.add.at(changes[1], films, error[:, None] * left)
    return changes


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("--cured", action="store_true")
    args = parser.parse_args()
    comm = MPI.COMM_WORLD
    same = np.random.default_rng(1)
    tables = [same.normal(0, 0.2, (rows, FACTORS)) for rows in (USERS, FILMS)]
    kept = ratings(99, 240000)
    if args.cured:
        kept = tuple(column[comm.rank :: comm.size] for column in kept)
    for step in range(args.steps):
        changes = descend(tables, ratings(1000 * comm.rank + step, 3000))
        for table, change in zip(tables, changes, strict=True):
            comm.Allreduce(MPI.IN_PLACE, change)
            table -= 0.01 * change
        if step % 5 == 4 and (args.cured or comm.rank == 0):
            lost, count = appraise(tables, kept)
    if args.cured:
        lost, count = comm.allreduce(lost), comm.allreduce(count)
    if comm.rank == 0:
        print(f"error {lost / count:.5f}")


if __name__ == "__main__":
    main()
