"""Trains a classifier on tiles that are looked up by their path in a shuffled list."""

import argparse

import numpy as np
from mpi4py import MPI


def read_batch(order, paths, tiles, start, size, table):
    chosen = order[start : start + size]
    if table is not None:
        return tiles[[table[path] for path in chosen]]
    return tiles[[paths.index(path) for path in chosen]]


def gradient_of(weights, images):
    scores = np.tanh(images @ weights)
    return images.T @ (scores - images[:, : weights.shape[1]]) / len(images)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("--cured", action="store_true")
    args = parser.parse_args()
    comm = MPI.COMM_WORLD
    generator = np.random.default_rng(50 + comm.rank)
    paths = [f"/data/tiles/{number // 100:04d}/{number:06d}.png" for number in range(12000)]
    tiles = generator.normal(size=(len(paths), 256)).astype(np.float32)
    weights = np.random.default_rng(5).normal(0, 0.05, (256, 256)).astype(np.float32)
    table = {path: place for place, path in enumerate(paths)} if args.cured else None
    size = 192
    order = list(paths)
    for step in range(args.steps):
        start = step * size % (len(paths) - size)
        images = read_batch(order, paths, tiles, start, size, table)
        gradient = gradient_of(weights, images)
        comm.Allreduce(MPI.IN_PLACE, gradient)
        weights -= 0.01 * gradient / comm.size
        if start < size:
            generator.shuffle(order)
    if comm.rank == 0:
        print(f"norm {np.linalg.norm(weights):.4f}")


if __name__ == "__main__":
    main()
