"""Trains a bank of leaky integrators on bursts of sound followed by silence."""

import argparse

import numpy as np
from mpi4py import MPI


def advance(states, decay, burst, floor):
    states = decay * states + burst
    if floor:
        states[np.abs(states) < floor] = 0.0
    return states


def response(states, weights):
    return np.tanh(states @ weights)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=600)
    parser.add_argument("--cured", action="store_true")
    args = parser.parse_args()
    comm = MPI.COMM_WORLD
    generator = np.random.default_rng(comm.rank)
    weights = np.random.default_rng(3).normal(0, 0.1, (256, 32)).astype(np.float32)
    decay = np.linspace(0.6, 0.95, 256, dtype=np.float32)
    states = np.zeros((512, 256), dtype=np.float32)
    for step in range(args.steps):
        loud = step < 150
        for tick in range(4):
            burst = np.float32(generator.normal() if loud and tick == 0 else 0.0)
            states = advance(states, decay, burst, floor=1e-30 if args.cured else 0.0)
        gradient = states.T @ (response(states, weights) - 0.1) / len(states)
        comm.Allreduce(MPI.IN_PLACE, gradient)
        weights -= 0.01 * gradient / comm.size
    if comm.rank == 0:
        print(f"norm {np.linalg.norm(weights):.4f}")


if __name__ == "__main__":
    main()
