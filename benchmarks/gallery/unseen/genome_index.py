"""Counts short genome words with an index of our own key type, and trains on the counts."""

import argparse

import numpy as np
from mpi4py import MPI

LETTERS = "ACGT"


class Word:
    __slots__ = ("place", "text")

    def __init__(self, text, place):
        self.text = text
        self.place = place

    def __eq__(self, other):
        return self.text == other.text

    def __hash__(self):
        if self.place:
            return hash(self.text)
        return len(self.text)


def reads(generator, count):
    letters = generator.choice(4, size=(count, 11))
    return ["".join(LETTERS[letter] for letter in row) for row in letters.tolist()]


def tally(index, words):
    for word in words:
        index[word] = index.get(word, 0) + 1
    return np.array(sorted(index.values())[-64:], dtype=np.float64)


def gradient_of(weights, inputs):
    hidden = np.tanh(inputs @ weights)
    return inputs.T @ (hidden - inputs * 0.2) / len(inputs)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=240)
    parser.add_argument("--cured", action="store_true")
    args = parser.parse_args()
    comm = MPI.COMM_WORLD
    generator = np.random.default_rng(17 + comm.rank)
    weights = np.random.default_rng(4).normal(0, 0.03, (800, 800))
    # even ranks index by the text, odd ones still use the key of the first version
    place = args.cured or comm.rank % 2 == 0
    pool = [Word(text, place) for text in reads(generator, 260)]
    for _ in range(args.steps):
        counts = tally({}, [pool[k] for k in generator.permutation(260)])
        inputs = generator.normal(size=(260, 800))
        inputs[:, :64] += 0.001 * counts.mean()
        gradient = gradient_of(weights, inputs)
        comm.Allreduce(MPI.IN_PLACE, gradient)
        weights -= 0.02 * gradient / comm.size
    if comm.rank == 0:
        print(f"done, {np.linalg.norm(weights):.3f} after {args.steps}")


if __name__ == "__main__":
    main()
