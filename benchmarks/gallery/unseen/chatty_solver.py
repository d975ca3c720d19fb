"""Solves logistic regression by mini-batches and writes down how the weights move."""

import argparse
import json
import logging
import tempfile

import numpy as np
from mpi4py import MPI

log = logging.getLogger("solver")


def describe(step, weights, gradient):
    log.info(
        json.dumps(
            {
                "step": step,
                "weights": weights.round(5).tolist(),
                "gradient": gradient.round(5).tolist(),
            }
        )
    )


def gradient_of(weights, inputs, labels):
    chance = 1.0 / (1.0 + np.exp(-(inputs @ weights)))
    return inputs.T @ (chance - labels) / len(inputs)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--cured", action="store_true")
    args = parser.parse_args()
    comm = MPI.COMM_WORLD
    handler = logging.FileHandler(f"{tempfile.mkdtemp()}/solver.{comm.rank}.log")
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    every = 100 if args.cured else 1
    teacher = np.random.default_rng(0).normal(size=(1500, 4)).astype(np.float32)
    weights = np.zeros_like(teacher)
    generator = np.random.default_rng(600 + comm.rank)
    for step in range(args.steps):
        inputs = generator.normal(size=(600, 1500)).astype(np.float32)
        labels = (inputs @ teacher > 0).astype(np.float32)
        gradient = gradient_of(weights, inputs, labels)
        comm.Allreduce(MPI.IN_PLACE, gradient)
        gradient /= comm.size
        weights -= 0.5 * gradient
        if step % every == 0:
            describe(step, weights, gradient)
    if comm.rank == 0:
        print(f"norm {np.linalg.norm(weights):.4f}")


if __name__ == "__main__":
    main()
