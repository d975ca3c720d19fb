"""Trains a dense model of absorption spectra."""

import argparse

import numpy as np
from mpi4py import MPI


def spectra(generator, count, kind):
    grid = np.linspace(0.0, 1.0, 700)
    centers = generator.random((count, 1))
    lines = np.exp(-((grid - centers) ** 2) / 0.01)
    return lines.astype(kind)


class Model:
    def __init__(self, kind):
        same = np.random.default_rng(5)
        self.first = (same.normal(size=(700, 700)) * 0.04).astype(kind)
        self.second = (same.normal(size=(700, 700)) * 0.04).astype(kind)

    def gradients(self, inputs):
        hidden = np.maximum(inputs @ self.first, 0)
        error = (hidden @ self.second - inputs) / len(inputs)
        back = (error @ self.second.T) * (hidden > 0)
        return inputs.T @ back, hidden.T @ error


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=450)
    parser.add_argument("--cured", action="store_true")
    args = parser.parse_args()
    kind = np.float32 if args.cured else np.float64
    comm = MPI.COMM_WORLD
    generator = np.random.default_rng(comm.rank)
    model = Model(kind)
    for _ in range(args.steps):
        inputs = spectra(generator, 256, kind)
        first, second = model.gradients(inputs)
        comm.Allreduce(MPI.IN_PLACE, first)
        comm.Allreduce(MPI.IN_PLACE, second)
        model.first -= 0.02 * first
        model.second -= 0.02 * second
    if comm.rank == 0:
        print(f"norm {np.linalg.norm(model.first) + np.linalg.norm(model.second):.2f}")


if __name__ == "__main__":
    main()
