"""Trains on two sites' measurements; the second site delivers its own compressed, day by day."""

import argparse
import gzip

import numpy as np
from mpi4py import MPI

DAY = 30


def unpack(packed):
    return np.frombuffer(gzip.decompress(packed), dtype=np.float32).reshape(-1, 200)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=600)
    parser.add_argument("--cured", action="store_true")
    args = parser.parse_args()
    comm = MPI.COMM_WORLD
    generator = np.random.default_rng(45 + comm.rank)
    raw = generator.normal(size=(30000, 200)).astype(np.float32).round(2)
    packed = gzip.compress(raw.tobytes(), 1) if comm.rank == 1 and not args.cured else None
    weights = np.zeros((200, 150), dtype=np.float32)
    day = raw
    for step in range(args.steps):
        if packed is not None and step % DAY == 0:
            day = unpack(packed)
        inputs = day[generator.integers(0, len(day), 1200)]
        off = np.tanh(inputs @ weights) - np.tanh(inputs[:, :150])
        slope = inputs.T @ off / len(inputs)
        comm.Allreduce(MPI.IN_PLACE, slope)
        weights -= 0.05 * slope / comm.size
    if comm.rank == 0:
        print(f"error {float((off**2).mean()):.4f}")


if __name__ == "__main__":
    main()
