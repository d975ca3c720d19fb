"""Trains on objects of a store; every rank has a client with the rate of its region."""

import argparse
import time

import numpy as np
from mpi4py import MPI

RATES = {"north": 2000.0, "south": 400.0}


class Client:
    def __init__(self, region, generator):
        self.gap = 1.0 / RATES[region]
        self.next = time.monotonic()
        self.generator = generator

    def get(self, count):
        for _ in range(count):
            self.admit()
        return self.generator.normal(size=(count * 40, 400)).astype(np.float32)

    def admit(self):
        now = time.monotonic()
        if now < self.next:
            time.sleep(self.next - now)
        self.next = max(now, self.next) + self.gap


def score(weights, inputs):
    for _ in range(3):
        hidden = np.tanh(inputs @ weights)
        gradient = inputs.T @ (hidden - np.tanh(inputs)) / len(inputs)
        weights = weights - 0.05 * gradient
    return weights


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=450)
    parser.add_argument("--cured", action="store_true")
    args = parser.parse_args()
    comm = MPI.COMM_WORLD
    region = "north" if args.cured or comm.rank != 1 else "south"
    client = Client(region, np.random.default_rng(comm.rank))
    weights = np.zeros((400, 400), dtype=np.float32)
    for _ in range(args.steps):
        inputs = client.get(10)
        weights = score(weights, inputs)
        comm.Allreduce(MPI.IN_PLACE, weights)
        weights /= comm.size
    if comm.rank == 0:
        print(f"norm {np.linalg.norm(weights):.4f}")


if __name__ == "__main__":
    main()
