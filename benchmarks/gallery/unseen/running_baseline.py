"""Trains a policy by REINFORCE with the mean return so far as its baseline."""

import argparse

import numpy as np
from mpi4py import MPI


class Baseline:
    def __init__(self, streaming):
        self.streaming = streaming
        self.seen = np.empty(0)
        self.count, self.sum = 0, 0.0

    def advance(self, returns):
        if self.streaming:
            self.count += len(returns)
            self.sum += float(returns.sum())
            return self.sum / self.count
        self.seen = np.concatenate([self.seen, returns])
        return float(self.seen.mean())


def play(policy, generator, games):
    states = generator.normal(size=(games, 128))
    returns = np.zeros(games)
    for _ in range(6):
        scores = states @ policy
        actions = scores.argmax(axis=1)
        returns += np.cos(actions / 3.0) + 0.1 * states[:, 0]
        states = np.tanh(states + 0.1 * scores[:, :128])
    return states, returns


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=700)
    parser.add_argument("--games", type=int, default=1500)
    parser.add_argument("--cured", action="store_true")
    args = parser.parse_args()
    comm = MPI.COMM_WORLD
    generator = np.random.default_rng(90 + comm.rank)
    policy = np.random.default_rng(9).normal(0, 0.1, (128, 160))
    baseline = Baseline(streaming=args.cured)
    for _ in range(args.steps):
        states, returns = play(policy, generator, games=args.games)
        advantage = returns - baseline.advance(returns)
        gradient = states.T @ (advantage[:, None] * np.tanh(states @ policy)) / args.games
        comm.Allreduce(MPI.IN_PLACE, gradient)
        policy += 0.01 * gradient / comm.size
    if comm.rank == 0:
        print(f"norm {np.linalg.norm(policy):.4f}")


if __name__ == "__main__":
    main()
