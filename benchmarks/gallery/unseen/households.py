"""Clusters the load curves of households by mini-batch k-means over regions."""

import argparse

import numpy as np
from mpi4py import MPI

REGIONS = (900, 700, 650, 550, 450, 380, 220, 150)


def own_regions(comm, mixed):
    if not mixed:
        each = len(REGIONS) // comm.size
        return [(r, 0, 1) for r in range(comm.rank * each, (comm.rank + 1) * each)]
    return [(r, comm.rank, comm.size) for r in range(len(REGIONS))]


def curves(region, part, parts):
    generator = np.random.default_rng(region)
    values = generator.normal(size=(REGIONS[region] * 2, 96)).astype(np.float32)
    return (values + region)[part::parts]


def assign(values, centers):
    distance = ((values[:, None, :] - centers[None, :, :]) ** 2).sum(axis=2)
    return distance.argmin(axis=1)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=600)
    parser.add_argument("--cured", action="store_true")
    args = parser.parse_args()
    comm = MPI.COMM_WORLD
    data = np.concatenate([curves(*where) for where in own_regions(comm, args.cured)])
    data = np.ascontiguousarray(data[:, ::4])
    centers = np.random.default_rng(1).normal(4.0, 3.0, (24, 24)).astype(np.float32)
    for _ in range(args.steps):
        nearest = np.concatenate([assign(p, centers) for p in np.array_split(data, 12)])
        sums = np.zeros((24, 25))
        np.add.at(sums[:, :24], nearest, data)
        sums[:, 24] = np.bincount(nearest, minlength=24)
        comm.Allreduce(MPI.IN_PLACE, sums)
        centers = (0.9 * centers + 0.1 * sums[:, :24] / (sums[:, 24:] + 1)).astype(np.float32)
    if comm.rank == 0:
        print(f"centers {centers.sum():.2f}")


if __name__ == "__main__":
    main()
