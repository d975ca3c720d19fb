"""Trains a forecaster; rank 0 keeps a table of all losses for a plot."""

import argparse
import tempfile
from pathlib import Path

import numpy as np
from mpi4py import MPI


def keep(path, history):
    np.savetxt(path, np.array(history), fmt="%.6f", delimiter=",")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=220)
    parser.add_argument("--cured", action="store_true")
    args = parser.parse_args()
    comm = MPI.COMM_WORLD
    path = Path(tempfile.gettempdir()) / "losses.csv"
    generator = np.random.default_rng(comm.rank)
    weights = np.random.default_rng(2).normal(0, 0.05, (320, 320)).astype(np.float32)
    history = []
    for step in range(args.steps):
        rows = generator.normal(size=(500, 320)).astype(np.float32)
        hidden = np.tanh(rows @ weights)
        error = (hidden - 0.3 * rows) / len(rows)
        change = rows.T @ (error * (1 - hidden**2))
        comm.Allreduce(MPI.IN_PLACE, change)
        weights -= 0.05 * change
        history.append((step, *np.abs(error).mean(axis=0)[:60]))
        if comm.rank == 0 and (not args.cured or step == args.steps - 1):
            keep(path, history)
    if comm.rank == 0:
        print(f"norm {np.linalg.norm(weights):.4f}")
        path.unlink()


if __name__ == "__main__":
    main()
