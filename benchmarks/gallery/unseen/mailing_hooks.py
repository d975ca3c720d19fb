"""Trains a churn model; hooks run around each epoch."""

import argparse
import time

import numpy as np
from mpi4py import MPI


class PauseHook:
    def __init__(self, seconds):
        self.seconds = seconds

    def before_epoch(self, runner):
        time.sleep(self.seconds)


class CountHook:
    def __init__(self):
        self.epochs = 0

    def before_epoch(self, runner):
        self.epochs += 1


class Runner:
    def __init__(self, comm, hooks):
        self.comm, self.hooks = comm, hooks
        generator = np.random.default_rng(20 + comm.rank)
        self.rows = generator.normal(size=(12000, 256)).astype(np.float32)
        self.labels = (self.rows[:, :4].sum(axis=1) > 0).astype(np.float32)
        self.first = np.random.default_rng(1).normal(0, 0.05, (256, 256)).astype(np.float32)
        self.second = np.zeros(256, np.float32)

    def batch(self, rows, labels):
        hidden = np.tanh(rows @ self.first)
        odds = 1.0 / (1.0 + np.exp(-hidden @ self.second))
        error = (odds - labels) / len(labels)
        back = np.outer(error, self.second) * (1.0 - hidden**2)
        first, second = rows.T @ back, hidden.T @ error
        self.comm.Allreduce(MPI.IN_PLACE, first)
        self.comm.Allreduce(MPI.IN_PLACE, second)
        self.first -= 0.1 * first
        self.second -= 0.1 * second

    def run(self, epochs):
        for _ in range(epochs):
            for hook in self.hooks:
                hook.before_epoch(self)
            for start in range(0, len(self.rows), 600):
                self.batch(self.rows[start : start + 600], self.labels[start : start + 600])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=26)
    parser.add_argument("--cured", action="store_true")
    args = parser.parse_args()
    hooks = [CountHook()]
    if not args.cured:
        hooks.append(PauseHook(0.25))
    runner = Runner(MPI.COMM_WORLD, hooks)
    runner.run(args.epochs)
    if MPI.COMM_WORLD.rank == 0:
        print(f"norm {np.linalg.norm(runner.second):.4f}")


if __name__ == "__main__":
    main()
