"""Learns speeds on a road network; each rank holds a part of its crossings."""

import argparse

import numpy as np
from mpi4py import MPI

CROSSINGS, WIDTH = 3000, 64


def degrees():
    ranks = np.arange(1, CROSSINGS + 1)
    return np.maximum(2, 6000 / ranks**0.75).astype(int)


def own_crossings(comm, by_edges):
    if by_edges:
        return np.arange(comm.rank, CROSSINGS, comm.size)
    each = CROSSINGS // comm.size
    return np.arange(comm.rank * each, (comm.rank + 1) * each)


def gather_neighbours(features, sources, targets, count):
    messages = np.tanh(features[sources])
    order = np.flatnonzero(np.diff(targets, prepend=-1))
    return np.add.reduceat(messages, order, axis=0)[:count]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=120)
    parser.add_argument("--cured", action="store_true")
    args = parser.parse_args()
    comm = MPI.COMM_WORLD
    same = np.random.default_rng(3)
    features = same.normal(size=(CROSSINGS, WIDTH)).astype(np.float32)
    weights = same.normal(0, 0.1, (WIDTH, WIDTH)).astype(np.float32)
    mine = own_crossings(comm, args.cured)
    count = degrees()[mine]
    targets = np.repeat(np.arange(len(mine)), count)
    sources = np.random.default_rng(comm.rank).integers(0, CROSSINGS, len(targets))
    speeds = features[mine] @ same.normal(size=(WIDTH, WIDTH)).astype(np.float32)
    for _ in range(args.steps):
        gathered = gather_neighbours(features, sources, targets, len(mine))
        hidden = gathered @ weights
        error = (hidden - speeds) / CROSSINGS
        change = gathered.T @ error
        comm.Allreduce(MPI.IN_PLACE, change)
        weights -= 1e-4 * change
    if comm.rank == 0:
        print(f"norm {np.linalg.norm(weights):.4f}")


if __name__ == "__main__":
    main()
