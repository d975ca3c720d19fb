"""Trains on samples that every rank shuffles anew after each pass over them."""

import argparse

import numpy as np
from mpi4py import MPI

BATCH = 1000


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--passes", type=int, default=12)
    args = parser.parse_args()
    comm = MPI.COMM_WORLD
    generator = np.random.default_rng(65 + comm.rank)
    samples = generator.normal(size=(45 * BATCH, 250)).astype(np.float32)
    weights = np.zeros((250, 200), dtype=np.float32)
    for _ in range(args.passes):
        generator.shuffle(samples)
        for start in range(0, len(samples), BATCH):
            inputs = samples[start : start + BATCH]
            off = np.tanh(inputs @ weights) - np.tanh(inputs[:, :200])
            slope = inputs.T @ off / len(inputs)
            comm.Allreduce(MPI.IN_PLACE, slope)
            weights -= 0.05 * slope / comm.size
    if comm.rank == 0:
        print(f"error {float((off**2).mean()):.4f}")


if __name__ == "__main__":
    main()
