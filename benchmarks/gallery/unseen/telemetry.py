"""Trains a fault detector on telemetry that arrives as lists of numbers."""

import argparse

import numpy as np
from mpi4py import MPI


def receive(rank, windows):
    generator = np.random.default_rng(rank)
    return [generator.normal(size=(250, 64)).tolist() for _ in range(windows)]


def prepare(window):
    return np.array(window, dtype=np.float32)


def detect(weights, values):
    hidden = np.tanh(values @ weights[0])
    error = hidden @ weights[1] - values
    back = (error @ weights[1].T) * (1.0 - hidden**2)
    return values.T @ back / len(values), hidden.T @ error / len(values)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=600)
    parser.add_argument("--windows", type=int, default=24)
    parser.add_argument("--cured", action="store_true")
    args = parser.parse_args()
    comm = MPI.COMM_WORLD
    windows = receive(comm.rank, args.windows)
    if args.cured:
        windows = [prepare(window) for window in windows]
    same = np.random.default_rng(3)
    weights = [
        same.normal(0, 0.1, (64, 512)).astype(np.float32),
        same.normal(0, 0.1, (512, 64)).astype(np.float32),
    ]
    for step in range(args.steps):
        for part in range(10):
            window = windows[(step * 10 + part) % len(windows)]
            values = window if args.cured else prepare(window)
            gradients = detect(weights, values)
            for weight, gradient in zip(weights, gradients, strict=True):
                weight -= 0.001 * gradient
        for weight in weights:
            comm.Allreduce(MPI.IN_PLACE, weight)
            weight /= comm.size
    if comm.rank == 0:
        print(f"norm {sum(float(np.linalg.norm(weight)) for weight in weights):.3f}")


if __name__ == "__main__":
    main()
