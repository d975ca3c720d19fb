"""Attention over blocks that travel around a ring while the block at hand is worked on."""

import argparse

import numpy as np
from mpi4py import MPI


def attend(queries, block):
    scores = queries @ block.T / np.sqrt(queries.shape[1])
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    return weights @ block, weights.sum(axis=1, keepdims=True)


def around(comm, queries, mine):
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    block, coming = mine.copy(), np.empty_like(mine)
    total, norm = 0.0, 0.0
    for turn in range(comm.size):
        requests = []
        if turn < comm.size - 1:
            requests = [comm.Isend(block, right), comm.Irecv(coming, left)]
        part, weight = attend(queries, block)
        total, norm = total + part, norm + weight
        MPI.Request.Waitall(requests)
        block, coming = coming, block
    return total / norm


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=320)
    args = parser.parse_args()
    comm = MPI.COMM_WORLD
    generator = np.random.default_rng(comm.rank)
    projection = np.random.default_rng(1).normal(0, 0.05, (256, 256)).astype(np.float32)
    for _ in range(args.steps):
        tokens = generator.normal(size=(512, 256)).astype(np.float32)
        keys = tokens @ projection
        context = around(comm, tokens, keys)
        gradient = tokens.T @ (context - tokens) / len(tokens)
        comm.Allreduce(MPI.IN_PLACE, gradient)
        projection -= 0.01 * gradient / comm.size
    if comm.rank == 0:
        print(f"projection {np.linalg.norm(projection):.4f}")


if __name__ == "__main__":
    main()
