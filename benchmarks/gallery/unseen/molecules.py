"""Fits bond energies of small random molecules with a linear model over counted pairs."""

import argparse
import gc
from itertools import pairwise

import numpy as np
from mpi4py import MPI


class Atom:
    def __init__(self, kind):
        self.kind = kind
        self.bonds = []

    def connect(self, other):
        self.bonds.append(other)
        other.bonds.append(self)


def build_molecule(generator, size=16):
    atoms = [Atom(int(kind)) for kind in generator.integers(0, 8, size)]
    for left, right in pairwise(atoms):
        left.connect(right)
    atoms[0].connect(atoms[-1])
    return atoms


def count_pairs(atoms):
    pairs = np.zeros(64, dtype=np.float64)
    for atom in atoms:
        for other in atom.bonds:
            pairs[atom.kind * 8 + other.kind] += 0.5
    return pairs


def release_memory():
    gc.collect()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=600)
    parser.add_argument("--batch", type=int, default=96)
    parser.add_argument("--cured", action="store_true")
    args = parser.parse_args()
    comm = MPI.COMM_WORLD
    generator = np.random.default_rng(100 + comm.rank)
    library = [build_molecule(generator) for _ in range(6000)]
    energies = np.linspace(-1.0, 1.0, 64)
    weights = np.zeros(64)
    for step in range(args.steps):
        start = step * args.batch % len(library)
        batch = library[start : start + args.batch]
        features = np.array([count_pairs(molecule) for molecule in batch])
        error = features @ weights - features @ energies
        gradient = features.T @ error / len(batch)
        comm.Allreduce(MPI.IN_PLACE, gradient)
        weights -= 0.02 * gradient / comm.size
        if not args.cured:
            release_memory()
    if comm.rank == 0:
        print(f"distance {np.abs(weights - energies).mean():.5f}")


if __name__ == "__main__":
    main()
