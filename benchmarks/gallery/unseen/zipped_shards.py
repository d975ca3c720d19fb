"""Trains on shards of measurements that two laboratories delivered."""

import argparse
import bz2
import tempfile
from pathlib import Path

import numpy as np
from mpi4py import MPI

ROWS, COLUMNS = 512, 192


def deliver(folder, rank, packed):
    for number in range(20):
        generator = np.random.default_rng(100 * rank + number)
        content = generator.integers(-99, 99, (ROWS, COLUMNS)).astype(np.int8).tobytes()
        if packed:
            (folder / f"shard{number}.bz2").write_bytes(bz2.compress(content))
        else:
            (folder / f"shard{number}.raw").write_bytes(content)


def load_shard(path):
    content = path.read_bytes()
    if path.suffix == ".bz2":
        content = bz2.decompress(content)
    return np.frombuffer(content, np.int8).reshape(ROWS, COLUMNS).astype(np.float32) / 99


def fit_shard(weights, rows):
    hidden = np.tanh(rows @ weights[0])
    error = hidden @ weights[1] - rows
    back = (error @ weights[1].T) * (1 - hidden**2)
    return [rows.T @ back / len(rows), hidden.T @ error / len(rows)], float((error**2).mean())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("--cured", action="store_true")
    args = parser.parse_args()
    comm = MPI.COMM_WORLD
    folder = Path(tempfile.mkdtemp())
    deliver(folder, comm.rank, packed=comm.rank == 1 and not args.cured)
    paths = sorted(folder.iterdir())
    same = np.random.default_rng(11)
    weights = [
        same.normal(0, 0.05, (COLUMNS, 320)).astype(np.float32),
        same.normal(0, 0.05, (320, COLUMNS)).astype(np.float32),
    ]
    for step in range(args.steps):
        gradients, loss = fit_shard(weights, load_shard(paths[step % len(paths)]))
        for weight, gradient in zip(weights, gradients, strict=True):
            comm.Allreduce(MPI.IN_PLACE, gradient)
            weight -= 0.05 * gradient / comm.size
    if comm.rank == 0:
        print(f"loss {loss:.5f}")


if __name__ == "__main__":
    main()
