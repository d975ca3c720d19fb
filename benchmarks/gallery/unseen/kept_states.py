"""Trains an extreme value model; rank 0 keeps its states and clears the oldest of them away."""

import argparse
import tempfile
from pathlib import Path

import numpy as np
from mpi4py import MPI


class Keeper:
    def __init__(self, folder, kept):
        self.folder, self.kept = folder, kept
        for number in range(kept):
            (folder / f"state-{number:07d}.bin").write_bytes(b"")

    def clear(self):
        states = sorted(self.folder.glob("state-*.bin"), key=lambda path: path.stat().st_mtime_ns)
        for path in states[: -self.kept]:
            path.unlink()

    def keep(self, number, weights):
        (self.folder / f"state-{number:07d}.bin").write_bytes(weights.tobytes())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--cured", action="store_true")
    args = parser.parse_args()
    comm = MPI.COMM_WORLD
    generator = np.random.default_rng(30 + comm.rank)
    weights = np.zeros((500, 40), dtype=np.float32)
    teacher = np.random.default_rng(9).normal(size=(500, 40)).astype(np.float32)
    with tempfile.TemporaryDirectory() as name:
        keeper = Keeper(Path(name), 3000) if comm.rank == 0 else None
        for step in range(args.steps):
            inputs = generator.normal(size=(900, 500)).astype(np.float32)
            error = np.tanh(inputs @ weights) - np.tanh(inputs @ teacher)
            slope = inputs.T @ error / len(inputs)
            comm.Allreduce(MPI.IN_PLACE, slope)
            weights -= 0.1 * slope / comm.size
            if keeper is not None:
                if step % 100 == 0:
                    keeper.keep(100000 + step, weights)
                if not args.cured or step % 100 == 0:
                    keeper.clear()
        comm.Barrier()
    if comm.rank == 0:
        print(f"error {float((error**2).mean()):.4f}")


if __name__ == "__main__":
    main()
