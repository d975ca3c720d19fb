"""Trains an autoencoder; all ranks hold the same weights."""

import argparse

import numpy as np
from mpi4py import MPI

PIXELS, CODE = 784, 400


def restore(weights, images):
    code = np.tanh(images @ weights[0])
    error = code @ weights[1] - images
    back = (error @ weights[1].T) * (1 - code**2)
    return [images.T @ back / len(images), code.T @ error / len(images)], float((error**2).mean())


def same_everywhere(comm, weights, moments):
    for array in (*weights, *moments):
        comm.Bcast(array, root=0)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("--cured", action="store_true")
    args = parser.parse_args()
    comm = MPI.COMM_WORLD
    generator = np.random.default_rng(comm.rank)
    same = np.random.default_rng(2)
    weights = [
        same.normal(0, 0.03, (PIXELS, CODE)).astype(np.float32),
        same.normal(0, 0.03, (CODE, PIXELS)).astype(np.float32),
    ]
    moments = [np.zeros_like(weight) for weight in (*weights, *weights)]
    for _ in range(args.steps):
        images = generator.random((128, PIXELS), dtype=np.float32)
        gradients, loss = restore(weights, images)
        for index, gradient in enumerate(gradients):
            comm.Allreduce(MPI.IN_PLACE, gradient)
            gradient /= comm.size
            moments[index] += 0.1 * (gradient - moments[index])
            moments[index + 2] += 0.01 * (gradient**2 - moments[index + 2])
            weights[index] -= 0.001 * moments[index] / (np.sqrt(moments[index + 2]) + 1e-8)
        if not args.cured:
            same_everywhere(comm, weights, moments)
    if comm.rank == 0:
        print(f"loss {loss:.5f}")


if __name__ == "__main__":
    main()
