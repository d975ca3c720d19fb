"""Trains an autoencoder on pictures that are made smaller one by one."""

import argparse

import numpy as np
from mpi4py import MPI


def shrink(picture, factor):
    rows, columns = len(picture) // factor, len(picture[0]) // factor
    return [
        [picture[row * factor][column * factor] for column in range(columns)] for row in range(rows)
    ]


def batch_of(pictures, factor, at_once):
    if at_once:
        return pictures[:, ::factor, ::factor].reshape(len(pictures), -1)
    return np.array([shrink(picture, factor) for picture in pictures]).reshape(len(pictures), -1)


def gradient_of(weights, images):
    error = np.tanh(images @ weights) - images
    return images.T @ error / len(images)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--cured", action="store_true")
    args = parser.parse_args()
    comm = MPI.COMM_WORLD
    generator = np.random.default_rng(20 + comm.rank)
    stock = generator.random((256, 96, 96), dtype=np.float32)
    weights = np.random.default_rng(3).normal(0, 0.05, (576, 576)).astype(np.float32)
    for _ in range(args.steps):
        pictures = stock[generator.integers(0, len(stock), 96)]
        gradient = gradient_of(weights, batch_of(pictures, 4, args.cured))
        comm.Allreduce(MPI.IN_PLACE, gradient)
        weights -= 0.01 * gradient / comm.size
    if comm.rank == 0:
        print(f"norm {np.linalg.norm(weights):.4f}")


if __name__ == "__main__":
    main()
