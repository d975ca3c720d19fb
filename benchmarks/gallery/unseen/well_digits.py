"""Trains a perceptron on generated digits, data parallel, with evaluation now and then."""

import argparse

import numpy as np
from mpi4py import MPI


def images_of(generator, count, prototypes):
    labels = generator.integers(0, 10, count)
    noise = generator.normal(size=(count, 784)).astype(np.float32)
    return prototypes[labels] + noise, labels


def forward(weights, images):
    hidden = np.maximum(images @ weights[0], 0.0)
    return hidden, hidden @ weights[1]


def backward(weights, images, labels):
    hidden, scores = forward(weights, images)
    chances = np.exp(scores - scores.max(axis=1, keepdims=True))
    chances /= chances.sum(axis=1, keepdims=True)
    chances[np.arange(len(labels)), labels] -= 1.0
    back = (chances @ weights[1].T) * (hidden > 0)
    flat = np.concatenate([(images.T @ back).ravel(), (hidden.T @ chances).ravel()])
    return flat / len(labels)


def evaluate(comm, weights, images, labels):
    right = int((forward(weights, images)[1].argmax(axis=1) == labels).sum())
    return comm.allreduce(right) / (comm.size * len(labels))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=500)
    args = parser.parse_args()
    comm = MPI.COMM_WORLD
    generator = np.random.default_rng(comm.rank)
    same = np.random.default_rng(8)
    prototypes = same.normal(size=(10, 784)).astype(np.float32)
    weights = [
        same.normal(0, 0.03, (784, 256)).astype(np.float32),
        same.normal(0, 0.03, (256, 10)).astype(np.float32),
    ]
    test = images_of(generator, 2000, prototypes)
    accuracy = 0.0
    for step in range(1, args.steps + 1):
        flat = backward(weights, *images_of(generator, 512, prototypes))
        comm.Allreduce(MPI.IN_PLACE, flat)
        first, second = np.split(flat, [784 * 256])
        weights[0] -= 0.05 * first.reshape(784, 256)
        weights[1] -= 0.05 * second.reshape(256, 10)
        if step % 100 == 0:
            accuracy = evaluate(comm, weights, *test)
    if comm.rank == 0:
        print(f"accuracy {accuracy:.4f}")


if __name__ == "__main__":
    main()
