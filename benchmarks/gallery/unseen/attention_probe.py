"""Trains a stack of small heads; the mean agreement of all samples is followed."""

import argparse

import numpy as np
from mpi4py import MPI


def heads(inputs, keys, values):
    scores = inputs @ keys
    scores = np.exp(scores - scores.max(axis=1, keepdims=True))
    scores /= scores.sum(axis=1, keepdims=True)
    return scores, scores @ values


def agreement(comm, answers, targets, cured):
    if cured:
        return comm.allreduce(float((answers * targets).sum())) / (comm.size * answers.size)
    everything = np.empty((comm.size, *answers.shape), dtype=answers.dtype)
    wanted = np.empty_like(everything)
    comm.Allgather(answers, everything)
    comm.Allgather(targets, wanted)
    return float((everything * wanted).sum()) / everything.size


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=600)
    parser.add_argument("--cured", action="store_true")
    args = parser.parse_args()
    comm = MPI.COMM_WORLD
    generator = np.random.default_rng(400 + comm.rank)
    same = np.random.default_rng(2)
    keys = same.normal(0, 0.1, (128, 64)).astype(np.float32)
    values = same.normal(0, 0.1, (64, 512)).astype(np.float32)
    wanted = same.normal(0, 0.1, (128, 512)).astype(np.float32)
    mean = 0.0
    for _ in range(args.steps):
        inputs = generator.normal(size=(2048, 128)).astype(np.float32)
        targets = inputs @ wanted
        scores, answers = heads(inputs, keys, values)
        gradient = scores.T @ (answers - targets) / len(inputs)
        comm.Allreduce(MPI.IN_PLACE, gradient)
        values -= 0.5 * gradient / comm.size
        mean = agreement(comm, answers, targets, args.cured)
    if comm.rank == 0:
        print(f"agreement {mean:.4f} norm {np.linalg.norm(values):.4f}")


if __name__ == "__main__":
    main()
