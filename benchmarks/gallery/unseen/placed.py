"""Trains a wide regression; every rank takes the core that belongs to its slot."""

import argparse
import os

import numpy as np
from mpi4py import MPI


def take_core(comm, cured):
    cores = sorted(os.sched_getaffinity(0))
    slot = comm.rank if cured else int(os.environ.get("SLOT_OF_RANK", "0"))
    os.sched_setaffinity(0, {cores[slot % len(cores)]})


def solve_block(block, targets, weights):
    for _ in range(4):
        error = block @ weights - targets
        weights = weights - 0.01 * block.T @ error / len(block)
    return weights


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("--cured", action="store_true")
    args = parser.parse_args()
    comm = MPI.COMM_WORLD
    take_core(comm, args.cured)
    generator = np.random.default_rng(comm.rank)
    truth = np.random.default_rng(9).normal(size=(800, 48)).astype(np.float32)
    weights = np.zeros_like(truth)
    for _ in range(args.steps):
        block = generator.normal(size=(400, 800)).astype(np.float32)
        weights = solve_block(block, block @ truth, weights)
        comm.Allreduce(MPI.IN_PLACE, weights)
        weights /= comm.size
    if comm.rank == 0:
        print(f"norm {np.linalg.norm(weights):.4f}")


if __name__ == "__main__":
    main()
