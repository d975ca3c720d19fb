"""Trains an autoencoder; a thread of rank 0 writes its weights now and then."""

import argparse
import tempfile
import threading
from pathlib import Path

import numpy as np
from mpi4py import MPI


def compress_step(weights, rows):
    code = np.tanh(rows @ weights[0])
    error = code @ weights[1] - rows
    back = (error @ weights[1].T) * (1 - code**2)
    return [rows.T @ back / len(rows), code.T @ error / len(rows)], float((error**2).mean())


def save_later(path, weights):
    copies = [weight.copy() for weight in weights]
    thread = threading.Thread(target=lambda: np.savez(path, *copies))
    thread.start()
    return thread


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=600)
    args = parser.parse_args()
    comm = MPI.COMM_WORLD
    folder = Path(tempfile.mkdtemp())
    generator = np.random.default_rng(comm.rank)
    same = np.random.default_rng(21)
    weights = [
        same.normal(0, 0.03, (512, 384)).astype(np.float32),
        same.normal(0, 0.03, (384, 512)).astype(np.float32),
    ]
    writer = None
    for step in range(args.steps):
        rows = generator.random((384, 512), dtype=np.float32)
        gradients, loss = compress_step(weights, rows)
        for weight, gradient in zip(weights, gradients, strict=True):
            comm.Allreduce(MPI.IN_PLACE, gradient)
            weight -= 0.002 * gradient / comm.size
        if comm.rank == 0 and step % 120 == 119:
            if writer:
                writer.join()
            writer = save_later(folder / f"step{step}.npz", weights)
    if writer:
        writer.join()
    if comm.rank == 0:
        print(f"loss {loss:.5f}")


if __name__ == "__main__":
    main()
