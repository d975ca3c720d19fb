"""Trains a regression; all ranks note their progress in one file for a dashboard."""

import argparse
import fcntl
import json
import tempfile
from pathlib import Path

import numpy as np
from mpi4py import MPI


class Progress:
    def __init__(self, path, rank):
        self.path, self.rank = path, rank

    def note(self, step, losses):
        with self.path.open("r+") as file:
            fcntl.lockf(file, fcntl.LOCK_EX)
            known = json.loads(file.read() or "{}")
            known[f"{self.rank}"] = {"step": step, "losses": losses}
            file.seek(0)
            file.truncate()
            file.write(json.dumps(known))
            file.flush()
            fcntl.lockf(file, fcntl.LOCK_UN)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=150)
    parser.add_argument("--cured", action="store_true")
    args = parser.parse_args()
    comm = MPI.COMM_WORLD
    path = Path(tempfile.gettempdir()) / "progress.json"
    if comm.rank == 0:
        path.write_text("")
    comm.Barrier()
    progress = Progress(path, comm.rank)
    generator = np.random.default_rng(comm.rank)
    rows = generator.normal(size=(3000, 300))
    targets = rows @ np.random.default_rng(5).normal(size=300)
    weights = np.zeros(300)
    losses = []
    for step in range(args.steps):
        error = rows @ weights - targets
        losses.extend(np.abs(error[:60]).tolist())
        change = rows.T @ error / len(rows)
        for _ in range(12):
            change += 1e-4 * (rows.T @ (rows @ change)) / len(rows)
        comm.Allreduce(MPI.IN_PLACE, change)
        weights -= 0.05 * change
        if not args.cured or step % 50 == 0:
            progress.note(step, losses[-9000:])
    if comm.rank == 0:
        print(f"norm {np.linalg.norm(weights):.4f}")
        path.unlink()


if __name__ == "__main__":
    main()
