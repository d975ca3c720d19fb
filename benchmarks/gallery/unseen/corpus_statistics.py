"""Counts a corpus into a vocabulary, then trains a unigram mixture with it."""

import argparse
import random
from collections import Counter

import numpy as np
from mpi4py import MPI

CHUNKS, VOCABULARY = 90, 2000


def chunk(number):
    chooser = random.Random(number)
    return [f"t{int(chooser.paretovariate(0.7)) % 50000}" for _ in range(150000)]


def count(chunks):
    counts = Counter()
    for number in chunks:
        counts.update(chunk(number))
    return counts


def vocabulary_of(comm, cured):
    if cured:
        counts = sum(comm.allgather(count(range(comm.rank, CHUNKS, comm.size))), Counter())
    else:
        counts = comm.bcast(count(range(CHUNKS)) if comm.rank == 0 else None)
    ordered = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    return np.array([amount for _, amount in ordered[:VOCABULARY]], dtype=np.float32)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=800)
    parser.add_argument("--cured", action="store_true")
    args = parser.parse_args()
    comm = MPI.COMM_WORLD
    frequency = vocabulary_of(comm, args.cured)
    frequency /= frequency.sum()
    generator = np.random.default_rng(comm.rank)
    mixture = np.random.default_rng(2).normal(0, 0.1, (VOCABULARY, 64)).astype(np.float32)
    for _ in range(args.steps):
        documents = generator.poisson(frequency * 300, (96, VOCABULARY)).astype(np.float32)
        topics = np.tanh(documents @ mixture)
        gradient = documents.T @ (topics - topics.mean(axis=0)) / len(documents)
        comm.Allreduce(MPI.IN_PLACE, gradient)
        mixture += 0.001 * gradient / comm.size
    if comm.rank == 0:
        print(f"norm {np.linalg.norm(mixture):.4f}")


if __name__ == "__main__":
    main()
