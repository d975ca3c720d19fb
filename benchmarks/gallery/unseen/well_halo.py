"""Diffuses heat on two halves of a plate and fits its conductivity to a target."""

import argparse

import numpy as np
from mpi4py import MPI

ROWS, COLUMNS = 700, 900


def exchange(comm, plate):
    other = 1 - comm.rank
    edge, halo = (-2, -1) if comm.rank == 0 else (1, 0)
    received = np.empty(COLUMNS)
    comm.Sendrecv(np.ascontiguousarray(plate[edge]), other, 0, received, other, 0)
    plate[halo] = received


def diffuse(plate, following, conductivity):
    inner = plate[1:-1, 1:-1]
    np.add(plate[:-2, 1:-1], plate[2:, 1:-1], out=following[1:-1, 1:-1])
    following[1:-1, 1:-1] += plate[1:-1, :-2]
    following[1:-1, 1:-1] += plate[1:-1, 2:]
    following[1:-1, 1:-1] *= conductivity
    following[1:-1, 1:-1] += (1.0 - 4.0 * conductivity) * inner
    return following, plate


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=450)
    args = parser.parse_args()
    comm = MPI.COMM_WORLD
    plate = np.random.default_rng(comm.rank).random((ROWS, COLUMNS)) * 100.0
    following = plate.copy()
    conductivity, spread = 0.1, 0.0
    for _ in range(args.steps):
        for _ in range(3):
            exchange(comm, plate)
            plate, following = diffuse(plate, following, conductivity)
        spread = comm.allreduce(float(plate.std())) / comm.size
        conductivity = min(0.24, max(0.01, conductivity + 1e-4 * (spread - 1.0)))
    if comm.rank == 0:
        print(f"spread {spread:.5f} conductivity {conductivity:.5f}")


if __name__ == "__main__":
    main()
