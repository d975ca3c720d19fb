"""Sorts mail by a linear model; a thread keeps the journal of what was decided."""

import argparse
import json
import os
import tempfile
import threading
from pathlib import Path

import numpy as np
from mpi4py import MPI


class Journal(threading.Thread):
    def __init__(self, path, copy_first):
        super().__init__(daemon=True)
        self.path, self.copy_first = path, copy_first
        self.entries, self.guard = [], threading.Lock()
        self.wake, self.over = threading.Event(), False

    def note(self, entry):
        with self.guard:
            self.entries = [*self.entries[-40:], entry]
        self.wake.set()

    def write(self, entries):
        with self.path.open("w") as file:
            json.dump(entries, file)
            file.flush()
            os.fsync(file.fileno())

    def run(self):
        while not self.over:
            self.wake.wait()
            self.wake.clear()
            if self.copy_first:
                with self.guard:
                    entries = list(self.entries)
                self.write(entries)
            else:
                with self.guard:
                    self.write(self.entries)


def decide(letters, weights):
    scores = np.tanh(letters @ weights)
    return letters.T @ (scores - np.roll(scores, 1, axis=1) * 0.5) / len(letters), scores


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--cured", action="store_true")
    args = parser.parse_args()
    comm = MPI.COMM_WORLD
    path = Path(tempfile.mkdtemp()) / "journal.json"
    journal = Journal(path, copy_first=args.cured)
    journal.start()
    post = np.random.default_rng(60 + comm.rank)
    weights = np.random.default_rng(3).normal(0, 0.04, (500, 500)).astype(np.float32)
    for _ in range(args.steps):
        letters = post.normal(size=(160, 500)).astype(np.float32)
        slope, scores = decide(letters, weights)
        journal.note(scores[:4].ravel().tolist())
        comm.Allreduce(MPI.IN_PLACE, slope)
        weights -= 0.02 * slope / comm.size
    journal.over = True
    journal.wake.set()
    if comm.rank == 0:
        print(f"weights {np.linalg.norm(weights):.4f}")


if __name__ == "__main__":
    main()
