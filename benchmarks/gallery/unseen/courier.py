"""Rank 0 simulates robot arms and hands the states to rank 1, which fits their dynamics."""

import argparse
import time

import numpy as np
from mpi4py import MPI

SHAPE = (2000, 24)


def simulate(states, torque):
    for _ in range(40):
        states = states + 0.01 * np.sin(states @ torque)
    return states


def collect(comm, states, eager):
    if not eager:
        while not comm.Iprobe(source=0):
            time.sleep(0.02)
    comm.Recv(states, source=0)
    return states


def fit(model, states):
    gradient = np.zeros_like(model)
    for part in np.array_split(states, 20):
        error = part @ model - np.sin(part)
        gradient += part.T @ error / len(states)
    return model - 0.05 * gradient


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=250)
    parser.add_argument("--cured", action="store_true")
    args = parser.parse_args()
    comm = MPI.COMM_WORLD
    generator = np.random.default_rng(1)
    torque = generator.normal(0, 0.3, (24, 24))
    model = np.zeros((24, 24))
    states = np.empty(SHAPE)
    for _ in range(args.steps):
        if comm.rank == 0:
            start = generator.normal(size=SHAPE) + model[:1]
            states = simulate(start, torque)
            comm.Send(states, dest=1)
        else:
            states = collect(comm, states, eager=args.cured)
            model = fit(model, states)
        comm.Bcast(model, root=1)
    if comm.rank == 0:
        print(f"norm {np.linalg.norm(model):.4f}")


if __name__ == "__main__":
    main()
