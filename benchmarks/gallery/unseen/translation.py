"""Trains a recurrent scorer on sentences of different lengths."""

import argparse

import numpy as np
from mpi4py import MPI

WIDTH = 96


def global_batch(step, size=32):
    generator = np.random.default_rng(1000 + step)
    lengths = np.minimum(10 + generator.pareto(1.1, size) * 30, 400).astype(int)
    return [generator.normal(size=(length, WIDTH)).astype(np.float32) for length in lengths]


def own_part(sentences, comm, dealt):
    if dealt:
        ordered = sorted(sentences, key=len)
        order = list(range(comm.size)) + list(range(comm.size))[::-1]
        return [s for k, s in enumerate(ordered) if order[k % len(order)] == comm.rank]
    share = len(sentences) // comm.size
    return sentences[comm.rank * share : (comm.rank + 1) * share]


def read(sentence, recurrent):
    state = np.zeros(WIDTH, dtype=np.float32)
    total = np.zeros_like(recurrent)
    for word in sentence:
        state = np.tanh(state @ recurrent + word)
        total += np.outer(word, state)
    return total / len(sentence)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--cured", action="store_true")
    args = parser.parse_args()
    comm = MPI.COMM_WORLD
    recurrent = np.random.default_rng(8).normal(0, 0.05, (WIDTH, WIDTH)).astype(np.float32)
    for step in range(args.steps):
        gradient = np.zeros_like(recurrent)
        for sentence in own_part(global_batch(step), comm, dealt=args.cured):
            gradient += read(sentence, recurrent)
        comm.Allreduce(MPI.IN_PLACE, gradient)
        recurrent -= 0.0005 * gradient
    if comm.rank == 0:
        print(f"norm {np.linalg.norm(recurrent):.3f}")


if __name__ == "__main__":
    main()
