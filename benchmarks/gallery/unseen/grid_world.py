"""Learns a value table of a grid world; a second thread follows how the table spreads."""

import argparse
import threading
import time

import numpy as np
from mpi4py import MPI

SIDE = 60


class Spread(threading.Thread):
    def __init__(self, table, pause):
        super().__init__(daemon=True)
        self.table = table
        self.pause = pause
        self.ended = threading.Event()

    def run(self):
        while not self.ended.is_set():
            rows = self.table.tolist()
            bins = [0] * 20
            for row in rows:
                for value in row:
                    bins[min(19, max(0, int(value * 2)))] += 1
            self.widest = max(bins)
            time.sleep(self.pause)


def episode(table, generator, moves):
    x, y = (int(value) for value in generator.integers(0, SIDE, 2))
    for step in generator.integers(0, 4, moves).tolist():
        nx, ny = x, y
        if step < 2:
            nx = min(SIDE - 1, max(0, x + 2 * step - 1))
        else:
            ny = min(SIDE - 1, max(0, y + 2 * step - 5))
        reward = 1.0 if (nx, ny) == (SIDE - 1, SIDE - 1) else 0.001 * nx
        table[x, y] += 0.1 * (reward + 0.95 * table[nx, ny] - table[x, y])
        x, y = nx, ny


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=350)
    parser.add_argument("--cured", action="store_true")
    args = parser.parse_args()
    comm = MPI.COMM_WORLD
    table = np.zeros((SIDE, SIDE))
    generator = np.random.default_rng(comm.rank)
    spread = Spread(table, pause=2.0 if args.cured else 0.0)
    spread.start()
    for _ in range(args.steps):
        for _ in range(6):
            episode(table, generator, moves=2000)
        comm.Allreduce(MPI.IN_PLACE, table)
        table /= comm.size
    spread.ended.set()
    spread.join()
    if comm.rank == 0:
        print(f"value {table.sum():.4f}")


if __name__ == "__main__":
    main()
