"""Learns word embeddings by skip-gram with negative samples, averaged over the ranks."""

import argparse

import numpy as np
from mpi4py import MPI


def average_all(comm, tables):
    everyone = comm.allgather(tables)
    return {name: sum(each[name] for each in everyone) / comm.size for name in tables}


def average(comm, tables):
    for table in tables.values():
        comm.Allreduce(MPI.IN_PLACE, table)
        table /= comm.size
    return tables


def train(tables, centers, contexts):
    center, context = tables["center"], tables["context"]
    for start in range(0, len(centers), 256):
        left, right = centers[start : start + 256], contexts[start : start + 256]
        chance = 1.0 / (1.0 + np.exp(-(center[left] * context[right]).sum(axis=1)))
        pull = (0.05 * (1.0 - chance))[:, None]
        change = pull * context[right]
        np.add.at(context, right, pull * center[left])
        np.add.at(center, left, change)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=450)
    parser.add_argument("--cured", action="store_true")
    args = parser.parse_args()
    comm = MPI.COMM_WORLD
    generator = np.random.default_rng(300 + comm.rank)
    same = np.random.default_rng(12)
    names = ("center", "context")
    tables = {name: same.normal(0, 0.1, (12000, 64)).astype(np.float32) for name in names}
    for _ in range(args.steps):
        centers = generator.zipf(1.4, 1500) % 12000
        contexts = (centers + generator.integers(1, 9, 1500)) % 12000
        train(tables, centers, contexts)
        tables = average(comm, tables) if args.cured else average_all(comm, tables)
    if comm.rank == 0:
        print(f"norm {np.linalg.norm(tables['center']):.3f}")


if __name__ == "__main__":
    main()
