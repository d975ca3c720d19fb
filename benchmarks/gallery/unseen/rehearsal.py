"""Trains a ridge ensemble and watches how it does on performances not seen."""

import argparse

import numpy as np
from mpi4py import MPI


def dress_rehearsal(weights, stage, answers):
    wrong = 0
    for start in range(0, len(stage), 512):
        guess = np.tanh(stage[start : start + 512] @ weights).argmax(axis=1)
        wrong += int((guess != answers[start : start + 512]).sum())
    return wrong / len(stage)


def practice(weights, inputs, labels):
    scores = np.tanh(inputs @ weights)
    scores[np.arange(len(labels)), labels] -= 1.0
    return inputs.T @ scores / len(labels)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=600)
    parser.add_argument("--cured", action="store_true")
    args = parser.parse_args()
    every = 60 if args.cured else 3
    comm = MPI.COMM_WORLD
    teacher = np.random.default_rng(0).normal(size=(600, 50)).astype(np.float32)
    generator = np.random.default_rng(500 + comm.rank)
    stage = generator.normal(size=(30000, 600)).astype(np.float32)
    answers = (stage @ teacher).argmax(axis=1)
    weights = np.zeros((600, 50), dtype=np.float32)
    best = 1.0
    for step in range(1, args.steps + 1):
        inputs = generator.normal(size=(600, 600)).astype(np.float32)
        gradient = practice(weights, inputs, (inputs @ teacher).argmax(axis=1))
        comm.Allreduce(MPI.IN_PLACE, gradient)
        weights -= 0.1 * gradient / comm.size
        if step % every == 0:
            best = comm.allreduce(dress_rehearsal(weights, stage, answers)) / comm.size
    if comm.rank == 0:
        print(f"wrong {best:.4f}")


if __name__ == "__main__":
    main()
