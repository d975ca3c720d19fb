"""Scores customers by rules given as text and learns the weight of every rule."""

import argparse
import math

import numpy as np
from mpi4py import MPI

FIELDS = ("age", "income", "visits", "debt")
SHAPES = ("sin({0}) + {1} * 0.3", "{0} * {1} - {2}", "exp(-abs({0} - {3}))", "max({0}, {2}) / 2")


def write_rules(count):
    return [
        SHAPES[number % len(SHAPES)].format(*(FIELDS[(number + k) % 4] for k in range(4)))
        for number in range(count)
    ]


def apply_rules(rules, customers):
    known = {name: getattr(math, name) for name in ("sin", "exp")}
    values = np.empty((len(customers), len(rules)))
    for row, customer in enumerate(customers):
        fields = dict(zip(FIELDS, customer, strict=True))
        for column, rule in enumerate(rules):
            values[row, column] = eval(rule, known, fields)
    return values


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("--cured", action="store_true")
    args = parser.parse_args()
    comm = MPI.COMM_WORLD
    rules = write_rules(24)
    if args.cured:
        rules = [compile(rule, "rule", "eval") for rule in rules]
    truth = np.linspace(-1.0, 1.0, len(rules))
    weights = np.zeros(len(rules))
    generator = np.random.default_rng(40 + comm.rank)
    for _ in range(args.steps):
        customers = generator.random((48, len(FIELDS))).tolist()
        values = apply_rules(rules, customers)
        error = values @ (weights - truth)
        gradient = values.T @ error / len(customers)
        comm.Allreduce(MPI.IN_PLACE, gradient)
        weights -= 0.05 * gradient / comm.size
    if comm.rank == 0:
        print(f"distance {np.abs(weights - truth).mean():.5f}")


if __name__ == "__main__":
    main()
