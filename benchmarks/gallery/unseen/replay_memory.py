"""Trains a value function from a memory of past transitions."""

import argparse

import numpy as np
from mpi4py import MPI

STATE = 96


class Memory:
    def __init__(self, most):
        self.states = np.empty((most, STATE), np.float32)
        self.filled = 0

    def add(self, states):
        self.states[self.filled : self.filled + len(states)] = states
        self.filled += len(states)

    def all(self):
        return self.states[: self.filled]


class GrowingMemory:
    def __init__(self):
        self.states = np.empty((0, STATE), np.float32)

    def add(self, states):
        self.states = np.concatenate([self.states, states])

    def all(self):
        return self.states


def rollout(generator, count):
    return generator.normal(size=(count, STATE)).astype(np.float32)


def improve(weights, batch):
    hidden = np.maximum(batch @ weights[0], 0)
    error = hidden @ weights[1] - np.sin(batch[:, :1])
    back = (error @ weights[1].T) * (hidden > 0)
    return [batch.T @ back / len(batch), hidden.T @ error / len(batch)], float((error**2).mean())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=700)
    parser.add_argument("--cured", action="store_true")
    args = parser.parse_args()
    comm = MPI.COMM_WORLD
    generator = np.random.default_rng(comm.rank)
    same = np.random.default_rng(4)
    weights = [
        same.normal(0, 0.1, (STATE, 384)).astype(np.float32),
        same.normal(0, 0.1, (384, 1)).astype(np.float32),
    ]
    memory = Memory(256 * args.steps) if args.cured else GrowingMemory()
    for _ in range(args.steps):
        memory.add(rollout(generator, 256))
        states = memory.all()
        batch = states[generator.integers(0, len(states), 512)]
        gradients, loss = improve(weights, batch)
        for weight, gradient in zip(weights, gradients, strict=True):
            comm.Allreduce(MPI.IN_PLACE, gradient)
            weight -= 0.05 * gradient / comm.size
    if comm.rank == 0:
        print(f"loss {loss:.5f}")


if __name__ == "__main__":
    main()
