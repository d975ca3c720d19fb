"""Learns the gains of a bank of image filters on large generated pictures."""

import argparse

import numpy as np
from mpi4py import MPI

SIDE = 1500
GAINS = 6


class Bank:
    def __init__(self, reuse):
        self.room = np.empty((SIDE, SIDE)) if reuse else None

    def response(self, picture, gain):
        if self.room is None:
            scaled = picture * gain
            shifted = scaled + 0.1
            squared = shifted * shifted
            return float((squared - scaled).mean())
        room = self.room
        np.multiply(picture, gain, out=room)
        mean = float(room.mean())
        room += 0.1
        room *= room
        return float(room.mean()) - mean


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--cured", action="store_true")
    args = parser.parse_args()
    comm = MPI.COMM_WORLD
    generator = np.random.default_rng(comm.rank)
    pictures = generator.random((4, SIDE, SIDE))
    gains = np.linspace(0.5, 1.5, GAINS)
    bank = Bank(reuse=args.cured)
    for step in range(args.steps):
        picture = pictures[step % len(pictures)]
        responses = np.array([bank.response(picture, gain) for gain in gains])
        comm.Allreduce(MPI.IN_PLACE, responses)
        gains -= 0.1 * (responses / comm.size - 0.2)
    if comm.rank == 0:
        print(f"gains {gains.sum():.4f}")


if __name__ == "__main__":
    main()
