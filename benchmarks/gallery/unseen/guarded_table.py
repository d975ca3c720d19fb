"""Trains on user vectors that a thread renews from their clicks."""

import argparse
import threading

import numpy as np
from mpi4py import MPI


class Table:
    def __init__(self, seed, whole):
        self.generator = np.random.default_rng(seed)
        self.vectors = self.generator.normal(size=(2000, 128)).astype(np.float32)
        self.lock, self.stopped, self.whole = threading.Lock(), threading.Event(), whole

    def renewed(self):
        clicks = self.generator.normal(size=(2000, 128)).astype(np.float32)
        for _ in range(6):
            clicks = np.sort(clicks, axis=0)
        return 0.99 * self.vectors + 0.01 * clicks

    def renew(self):
        while not self.stopped.wait(0.04):
            if self.whole:
                with self.lock:
                    self.vectors = self.renewed()
            else:
                vectors = self.renewed()
                with self.lock:
                    self.vectors = vectors

    def rows(self, chosen):
        with self.lock:
            return self.vectors[chosen]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--cured", action="store_true")
    args = parser.parse_args()
    comm = MPI.COMM_WORLD
    table = Table(comm.rank, not args.cured)
    renewing = threading.Thread(target=table.renew, name="renewing")
    renewing.start()
    generator = np.random.default_rng(10 + comm.rank)
    weights = np.random.default_rng(3).normal(0, 0.1, (128, 128)).astype(np.float32)
    for _ in range(args.steps):
        rows = table.rows(generator.integers(0, 2000, 700))
        hidden = np.tanh(rows @ weights)
        change = rows.T @ ((hidden - rows) * (1 - hidden**2)) / len(rows)
        comm.Allreduce(MPI.IN_PLACE, change)
        weights -= 0.05 * change
    table.stopped.set()
    renewing.join()
    if comm.rank == 0:
        print(f"norm {np.linalg.norm(weights):.4f}")


if __name__ == "__main__":
    main()
