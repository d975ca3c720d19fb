"""Trains a naive Bayes filter; each rank notes its batches in the registry of runs."""

import argparse
import sqlite3
import tempfile

import numpy as np
from mpi4py import MPI


class Registry:
    def __init__(self, path, each):
        self.base = sqlite3.connect(path, timeout=60.0)
        self.each = each
        self.rows = []

    def note(self, rank, step, part, value):
        self.rows.append((rank, step, part, value))
        if self.each:
            self.save()

    def save(self):
        with self.base:
            self.base.executemany("INSERT INTO batches VALUES (?, ?, ?, ?)", self.rows)
        self.rows = []


def update(counts, generator):
    words = generator.integers(0, 4000, (300, 60))
    spam = words[:, 0] % 2
    np.add.at(counts, (spam[:, None], words), 1.0)
    return float(np.log(counts + 1.0).mean())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=350)
    parser.add_argument("--cured", action="store_true")
    args = parser.parse_args()
    comm = MPI.COMM_WORLD
    path = comm.bcast(f"{tempfile.mkdtemp()}/runs.db" if comm.rank == 0 else None)
    if comm.rank == 0:
        with sqlite3.connect(path) as base:
            base.execute("CREATE TABLE batches (rank, step, part, value)")
    comm.Barrier()
    registry = Registry(path, each=not args.cured)
    generator = np.random.default_rng(comm.rank)
    counts = np.zeros((2, 4000))
    for step in range(args.steps):
        for part in range(4):
            value = update(counts, generator)
            registry.note(comm.rank, step, part, value)
        comm.Allreduce(MPI.IN_PLACE, counts)
        counts /= comm.size
    registry.save()
    comm.Barrier()
    if comm.rank == 0:
        print(f"counts {counts.sum():.3f}")


if __name__ == "__main__":
    main()
