"""Fits a detector's head to boxes that are annotated in a JSON file."""

import argparse
import json
import tempfile
from pathlib import Path

import numpy as np
from mpi4py import MPI


def write_annotations(folder):
    generator = np.random.default_rng(1)
    boxes = generator.random((1500, 6, 4)).round(4).tolist()
    path = folder / "instances.json"
    path.write_text(json.dumps([{"id": n, "boxes": rows} for n, rows in enumerate(boxes)]))
    return path


class Boxes:
    def __init__(self, path, keep):
        self.path = path
        self.kept = self.load() if keep else None

    def load(self):
        return json.loads(self.path.read_text())

    def __getitem__(self, picked):
        entries = self.kept or self.load()
        return np.array([entries[n]["boxes"] for n in picked], np.float32).reshape(len(picked), -1)


def fit(head, features, wanted):
    error = features @ head - wanted
    return features.T @ error / len(features)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--cured", action="store_true")
    args = parser.parse_args()
    comm = MPI.COMM_WORLD
    path = write_annotations(Path(tempfile.mkdtemp()))
    boxes = Boxes(path, keep=args.cured)
    generator = np.random.default_rng(60 + comm.rank)
    head = np.zeros((1024, 24), np.float32)
    for _ in range(args.steps):
        wanted = boxes[generator.integers(0, 1500, 512)]
        features = generator.random((512, 1024), dtype=np.float32)
        features = np.tanh(features @ np.eye(1024, dtype=np.float32))
        gradient = fit(head, features, wanted)
        comm.Allreduce(MPI.IN_PLACE, gradient)
        head -= 0.002 * gradient / comm.size
    if comm.rank == 0:
        print(f"norm {np.linalg.norm(head):.4f}")


if __name__ == "__main__":
    main()
