"""Boosts decision stumps over histograms that the ranks add up."""

import argparse

import numpy as np
from mpi4py import MPI

BINS, FIELDS = 64, 24


def histogram(binned, residual):
    sums = np.empty((FIELDS, BINS, 2))
    for field in range(FIELDS):
        sums[field, :, 0] = np.bincount(binned[field], weights=residual, minlength=BINS)
        sums[field, :, 1] = np.bincount(binned[field], minlength=BINS)
    return sums


def best_split(sums):
    left = np.cumsum(sums, axis=1)[:, :-1]
    right = sums.sum(axis=1, keepdims=True) - left
    gain = left[..., 0] ** 2 / (left[..., 1] + 1) + right[..., 0] ** 2 / (right[..., 1] + 1)
    field, cut = np.unravel_index(gain.argmax(), gain.shape)
    parts = left[field, cut], right[field, cut]
    return int(field), int(cut), [part[0] / (part[1] + 1) for part in parts]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--trees", type=int, default=400)
    args = parser.parse_args()
    comm = MPI.COMM_WORLD
    generator = np.random.default_rng(comm.rank)
    binned = generator.integers(0, BINS, (FIELDS, 100_000))
    residual = np.sin(binned[0] / 9.0) + np.cos(binned[1] / 7.0) + generator.normal(size=100_000)
    for _ in range(args.trees):
        sums = histogram(binned, residual)
        comm.Allreduce(MPI.IN_PLACE, sums)
        field, cut, (low, high) = best_split(sums)
        residual -= 0.3 * np.where(binned[field] <= cut, low, high)
    lost = comm.allreduce(float((residual**2).mean())) / comm.size
    if comm.rank == 0:
        print(f"residual {lost:.5f}")


if __name__ == "__main__":
    main()
