"""Finds clusters of points with k-means; every rank holds a part of the points."""

import argparse

import numpy as np
from mpi4py import MPI

POINTS, AXES, CLUSTERS = 40_000, 32, 48


def assign(points, lengths, centers):
    distances = lengths - 2.0 * points @ centers.T + (centers**2).sum(axis=1)
    return distances.argmin(axis=1), float(distances.min(axis=1).mean())


def collect(points, nearest):
    member = np.zeros((len(points), CLUSTERS), np.float32)
    member[np.arange(len(points)), nearest] = 1.0
    return np.concatenate([member.T @ points, member.sum(axis=0)[:, None]], axis=1)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=300)
    args = parser.parse_args()
    comm = MPI.COMM_WORLD
    points = np.random.default_rng(comm.rank).normal(size=(POINTS, AXES)).astype(np.float32)
    lengths = (points**2).sum(axis=1)[:, None]
    centers = np.random.default_rng(0).normal(size=(CLUSTERS, AXES)).astype(np.float32)
    for _ in range(args.rounds):
        nearest, spread = assign(points, lengths, centers)
        sums = collect(points, nearest)
        comm.Allreduce(MPI.IN_PLACE, sums)
        centers = sums[:, :-1] / np.maximum(sums[:, -1:], 1.0)
    if comm.rank == 0:
        print(f"spread {spread:.4f}")


if __name__ == "__main__":
    main()
