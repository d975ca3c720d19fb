"""Two ranks that average gradients of sentences: each step its own draw, or both the same."""

import random
import sys

import numpy as np
from mpi4py import MPI

STEPS, SHORT, LONG = 60, 2, 150

world = MPI.COMM_WORLD


def encode(tokens: int, state: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Work that grows with the length of what it is given."""
    for _ in range(tokens):
        state = np.tanh(state @ weights)
    return state


def main() -> None:
    """A step for each sentence, after which all ranks meet; all sentences are on all ranks."""
    draws = random.Random(world.rank if sys.argv[1] == "unequal" else 0)
    numbers, gradient = np.random.default_rng(world.rank), np.ones(64)
    state, weights = numbers.standard_normal((128, 128)), numbers.standard_normal((128, 128)) / 11
    sentences = [SHORT, LONG] * (STEPS // 2)
    draws.shuffle(sentences)
    for tokens in sentences:
        state = encode(tokens, state, weights)
        world.Allreduce(MPI.IN_PLACE, gradient)


main()
