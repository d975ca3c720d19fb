"""Trains a mixture of small experts and keeps the state before the last step to go back to."""

import argparse
import pickle

import numpy as np
from mpi4py import MPI


class Expert:
    def __init__(self, draw):
        self.weights = draw.normal(0, 0.1, (80, 60)).astype(np.float32)
        self.notes = {f"row {k}": [0.0] * 12 for k in range(40)}


def save_aside(experts):
    return pickle.loads(pickle.dumps(experts))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--cured", action="store_true")
    args = parser.parse_args()
    comm = MPI.COMM_WORLD
    draw = np.random.default_rng(6)
    experts = [Expert(draw) for _ in range(30)]
    generator = np.random.default_rng(25 + comm.rank)
    before, best = save_aside(experts), np.inf
    for step in range(args.steps):
        inputs = generator.normal(size=(500, 80)).astype(np.float32)
        slopes, error = [], 0.0
        for expert in experts:
            off = np.tanh(inputs @ expert.weights) - inputs[:, :60]
            slopes.append(inputs.T @ off / len(inputs))
            error += float((off * off).mean())
        slope = np.stack(slopes)
        comm.Allreduce(MPI.IN_PLACE, slope)
        if error < 2 * best:
            best = min(best, error)
            if not args.cured or step % 100 == 0:
                before = save_aside(experts)
        else:
            experts = before
        for expert, change in zip(experts, slope, strict=True):
            expert.weights -= 0.05 * change / comm.size
    if comm.rank == 0:
        print(f"error {error:.4f}")


if __name__ == "__main__":
    main()
