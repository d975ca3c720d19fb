"""Learns what journeys cost from the hour and the day at which they begin."""

import argparse
from datetime import datetime, timedelta

import numpy as np
from mpi4py import MPI


def moment_of(text):
    return datetime.strptime(text, "%Y-%m-%d %H:%M:%S")  # noqa: DTZ007


def features_of(journeys):
    found = np.zeros((len(journeys), 24 + 7 + 12), dtype=np.float32)
    for row, text in enumerate(journeys):
        moment = moment_of(text)
        found[row, moment.hour] = 1
        found[row, 24 + moment.weekday()] = 1
        found[row, 30 + moment.month] = 1
    return found


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("--cured", action="store_true")
    args = parser.parse_args()
    comm = MPI.COMM_WORLD
    generator = np.random.default_rng(20 + comm.rank)
    begin = datetime(2021, 1, 1)  # noqa: DTZ001
    seconds = generator.integers(0, 300 * 86400, 20000)
    journeys = [str(begin + timedelta(seconds=int(one))) for one in seconds]
    ready = features_of(journeys) if args.cured else None
    width, hidden = 43, 900
    first = np.random.default_rng(5).normal(0, 0.1, (width, hidden)).astype(np.float32)
    second = np.zeros((hidden, 1), dtype=np.float32)
    for _ in range(args.steps):
        chosen = generator.integers(0, len(journeys), 1200)
        inputs = features_of([journeys[k] for k in chosen]) if ready is None else ready[chosen]
        costs = (inputs[:, 8:9] + 0.5 * inputs[:, 30:31] + 2).astype(np.float32)
        reached = np.tanh(inputs @ first)
        error = reached @ second - costs
        slopes = [
            inputs.T @ ((error @ second.T) * (1 - reached**2)) / len(inputs),
            reached.T @ error / len(inputs),
        ]
        for weights, slope in zip((first, second), slopes, strict=True):
            comm.Allreduce(MPI.IN_PLACE, slope)
            weights -= 0.01 * slope / comm.size
    if comm.rank == 0:
        print(f"error {float((error**2).mean()):.4f}")


if __name__ == "__main__":
    main()
