"""Trains a bag-of-words sentiment classifier on generated reviews, data parallel."""

import argparse
import random
import re

import numpy as np
from mpi4py import MPI

WORDS = [f"w{number}" for number in range(3000)]


def generate_reviews(count, seed):
    chooser = random.Random(seed)
    reviews, stars = [], []
    for _ in range(count):
        words = chooser.choices(WORDS, k=60)
        reviews.append(" ".join(words).capitalize() + ".")
        stars.append(float(sum(int(word[1:]) for word in words) > 90000))
    return reviews, np.array(stars, dtype=np.float32)


def to_ids(text, vocabulary):
    return [vocabulary[word] for word in re.findall(r"[a-z]+\d*", text.lower())]


def bag(rows):
    counts = np.zeros((len(rows), len(WORDS)), dtype=np.float32)
    for row, ids in enumerate(rows):
        np.add.at(counts[row], ids, 1.0)
    return counts


def gradients(counts, stars, first, second):
    hidden = np.tanh(counts @ first)
    chance = 1.0 / (1.0 + np.exp(-(hidden @ second)))
    error = (chance - stars) / len(stars)
    back = np.outer(error, second) * (1.0 - hidden**2)
    return counts.T @ back, hidden.T @ error


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--cured", action="store_true")
    args = parser.parse_args()
    comm = MPI.COMM_WORLD
    vocabulary = {word: number for number, word in enumerate(WORDS)}
    reviews, stars = generate_reviews(2048, seed=comm.rank)
    encoded = [to_ids(text, vocabulary) for text in reviews] if args.cured else None
    generator = np.random.default_rng(7)
    first = generator.normal(0, 0.05, (len(WORDS), 128)).astype(np.float32)
    second = generator.normal(0, 0.05, 128).astype(np.float32)
    for step in range(args.steps):
        chosen = [(step * args.batch + offset) % len(reviews) for offset in range(args.batch)]
        if encoded is not None:
            rows = [encoded[index] for index in chosen]
        else:
            rows = [to_ids(reviews[index], vocabulary) for index in chosen]
        left, right = gradients(bag(rows), stars[chosen], first, second)
        comm.Allreduce(MPI.IN_PLACE, left)
        comm.Allreduce(MPI.IN_PLACE, right)
        first -= 0.05 * left
        second -= 0.05 * right
    if comm.rank == 0:
        print(f"norm {np.linalg.norm(first):.3f}")


if __name__ == "__main__":
    main()
