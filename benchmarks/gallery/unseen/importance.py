"""Trains on samples drawn by their importance, which each rank brings up to date for its shard."""

import argparse

import numpy as np
from mpi4py import MPI


def surprise_of(weights, inputs, targets):
    found = np.empty(len(inputs), dtype=np.float32)
    for start in range(0, len(inputs), 1000):
        part = slice(start, start + 1000)
        guess = np.tanh(inputs[part] @ weights)
        found[part] = np.abs(guess - targets[part]).sum(axis=1)
    return found + 1e-3


def update_of(weights, inputs, targets):
    guess = np.tanh(inputs @ weights)
    return inputs.T @ ((guess - targets) * (1 - guess * guess)) / len(inputs)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("--cured", action="store_true")
    args = parser.parse_args()
    comm = MPI.COMM_WORLD
    teacher = np.random.default_rng(3).normal(size=(300, 60)).astype(np.float32)
    generator = np.random.default_rng(40 + comm.rank)
    inputs = generator.normal(size=(14000, 300)).astype(np.float32)
    targets = np.tanh(inputs @ teacher)
    weights = np.zeros((300, 60), dtype=np.float32)
    chances = np.full(len(inputs), 1.0 / len(inputs))
    for step in range(args.steps):
        turn = step % (2 * comm.size)
        if turn == (0 if args.cured else 2 * comm.rank):
            surprise = surprise_of(weights, inputs, targets).astype(np.float64)
            chances = surprise / surprise.sum()
        chosen = generator.choice(len(inputs), size=1500, p=chances)
        change = update_of(weights, inputs[chosen], targets[chosen])
        comm.Allreduce(MPI.IN_PLACE, change)
        weights -= 0.05 * change / comm.size
    if comm.rank == 0:
        print(f"weights {np.abs(weights).mean():.4f}")


if __name__ == "__main__":
    main()
