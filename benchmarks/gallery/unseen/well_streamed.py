"""Trains on files read one block ahead by a thread, and keeps its weights every 200 steps."""

import argparse
import concurrent.futures
import tempfile
from pathlib import Path

import numpy as np
from mpi4py import MPI


def write_blocks(folder, generator, count):
    for number in range(count):
        np.save(folder / f"{number}.npy", generator.random((512, 512), dtype=np.float32))


def read_block(folder, number, count):
    return np.load(folder / f"{number % count}.npy")


def train(weights, block):
    code = np.tanh(block @ weights)
    error = code @ weights.T - block
    return (block.T @ ((error @ weights) * (1.0 - code**2)) + error.T @ code) / len(block)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("--blocks", type=int, default=20)
    args = parser.parse_args()
    comm = MPI.COMM_WORLD
    folder = Path(tempfile.mkdtemp())
    write_blocks(folder, np.random.default_rng(comm.rank), args.blocks)
    weights = np.random.default_rng(5).normal(0, 0.02, (512, 384)).astype(np.float32)
    with concurrent.futures.ThreadPoolExecutor(1) as readers:
        following = readers.submit(read_block, folder, 0, args.blocks)
        for step in range(1, args.steps + 1):
            block = following.result()
            following = readers.submit(read_block, folder, step, args.blocks)
            gradient = train(weights, block)
            comm.Allreduce(MPI.IN_PLACE, gradient)
            weights -= 0.001 * gradient / comm.size
            if step % 200 == 0 and comm.rank == 0:
                np.save(folder / "weights.npy", weights)
    if comm.rank == 0:
        print(f"norm {np.linalg.norm(weights):.4f}")


if __name__ == "__main__":
    main()
