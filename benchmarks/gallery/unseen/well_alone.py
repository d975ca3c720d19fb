"""Learns the principal components of generated signals, on one process."""

import argparse

import numpy as np


def signals(generator, count, directions):
    strengths = generator.normal(size=(count, len(directions))).astype(np.float32)
    noise = generator.normal(0, 0.1, (count, directions.shape[1])).astype(np.float32)
    return strengths @ directions + noise


def oja(components, batch):
    scores = batch @ components
    return components + 1e-4 * (batch.T @ scores - components @ np.triu(scores.T @ scores))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=500)
    args = parser.parse_args()
    generator = np.random.default_rng(1)
    directions = generator.normal(0, 0.04, (16, 600)).astype(np.float32)
    components = generator.normal(0, 0.04, (600, 16)).astype(np.float32)
    for _ in range(args.steps):
        components = oja(components, signals(generator, 1024, directions))
    print(f"norm {np.linalg.norm(components):.4f}")


if __name__ == "__main__":
    main()
