"""Trains many small bandit models and remembers the best of them."""

import argparse
import copy

import numpy as np
from mpi4py import MPI


class Arm:
    def __init__(self, number, generator):
        self.number = number
        self.values = generator.normal(size=12).tolist()
        self.pulls = dict.fromkeys(range(12), 0)

    def pull(self, choice, reward):
        self.pulls[choice] += 1
        self.values[choice] += (reward - self.values[choice]) / self.pulls[choice]


def remember(arms):
    return copy.deepcopy(arms)


def play(arms, generator):
    rewards = generator.normal(size=(len(arms), 6)).tolist()
    for arm, row in zip(arms, rewards, strict=True):
        for reward in row:
            arm.pull(max(range(12), key=arm.values.__getitem__), reward)
    return sum(max(arm.values) for arm in arms)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=700)
    parser.add_argument("--cured", action="store_true")
    args = parser.parse_args()
    comm = MPI.COMM_WORLD
    generator = np.random.default_rng(comm.rank)
    arms = [Arm(number, generator) for number in range(500)]
    every = args.steps if args.cured else 1
    best, kept = -1.0, arms
    for step in range(1, args.steps + 1):
        score = comm.allreduce(play(arms, generator))
        if step % every == 0:
            kept = remember(arms)
        best = max(best, score)
    if comm.rank == 0:
        print(f"best {best:.4f} of {len(kept)}")


if __name__ == "__main__":
    main()
