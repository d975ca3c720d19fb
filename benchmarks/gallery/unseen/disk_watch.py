"""Trains a regression forest of hashed features; rank 0 keeps an eye on the scratch disk."""

import argparse
import shutil
import subprocess

import numpy as np
from mpi4py import MPI


def free_blocks(cured):
    if cured:
        return shutil.disk_usage("/tmp").free // 1024
    answer = subprocess.run(
        ["sh", "-c", "df -k /tmp | tail -1 | awk '{print $4}'"],
        capture_output=True,
        text=True,
        check=True,
    )
    return int(answer.stdout)


def hashed(rows, seed):
    mixed = (rows * (2654435761 + 2 * seed)) % 4093
    return mixed % 512


def boost(residual, rows, trees):
    for seed in range(trees):
        leaves = hashed(rows, seed).ravel()
        sums = np.bincount(leaves, weights=residual, minlength=512)
        counts = np.bincount(leaves, minlength=512) + 1.0
        residual = residual - 0.3 * (sums / counts)[leaves]
    return residual


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=900)
    parser.add_argument("--cured", action="store_true")
    args = parser.parse_args()
    comm = MPI.COMM_WORLD
    generator = np.random.default_rng(80 + comm.rank)
    rows = generator.integers(0, 100000, 20000)
    lost = 0.0
    for _ in range(args.steps):
        residual = boost(np.sin(rows / 5000.0), rows, trees=16)
        lost = comm.allreduce(float((residual**2).mean()))
        rows = (rows * 31 + 7) % 100003
        if comm.rank == 0 and free_blocks(args.cured) < 1000:
            raise SystemExit("the scratch disk is full")
    if comm.rank == 0:
        print(f"residual {lost:.6f}")


if __name__ == "__main__":
    main()
