"""Fits a quantile regression, then bounds its weights by bootstrap."""

import argparse

import numpy as np
from mpi4py import MPI

DRAWS = 400


def quantile_step(weights, inputs, targets, level):
    over = targets - inputs @ weights > 0
    return inputs.T @ np.where(over, -level, 1.0 - level) / len(inputs)


def resampled(seed, inputs, targets):
    generator = np.random.default_rng(seed)
    chosen = generator.integers(0, len(inputs), len(inputs))
    return np.linalg.lstsq(inputs[chosen], targets[chosen], rcond=None)[0]


def bounds(comm, inputs, targets, cured):
    own = range(comm.rank, DRAWS, comm.size) if cured else range(DRAWS)
    if not cured and comm.rank:
        return None
    draws = {seed: resampled(seed, inputs, targets) for seed in own}
    if cured:
        draws = {seed: value for part in comm.allgather(draws) for seed, value in part.items()}
    values = np.array([draws[seed] for seed in sorted(draws)])
    return np.quantile(values, [0.05, 0.95], axis=0)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("--cured", action="store_true")
    args = parser.parse_args()
    comm = MPI.COMM_WORLD
    generator = np.random.default_rng(comm.rank)
    truth = np.random.default_rng(77).normal(size=120)
    weights = np.zeros(120)
    for _ in range(args.steps):
        inputs = generator.normal(size=(6000, 120))
        targets = inputs @ truth + generator.normal(size=6000)
        gradient = quantile_step(weights, inputs, targets, level=0.5)
        comm.Allreduce(MPI.IN_PLACE, gradient)
        weights -= 0.2 * gradient / comm.size
    held = np.random.default_rng(5)
    inputs = held.normal(size=(2500, 120))
    targets = inputs @ truth + held.normal(size=2500)
    found = bounds(comm, inputs, targets, args.cured)
    comm.Barrier()
    if comm.rank == 0:
        print(f"width {(found[1] - found[0]).mean():.5f}")


if __name__ == "__main__":
    main()
