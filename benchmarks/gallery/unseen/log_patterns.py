"""Trains an anomaly detector on the lines of a web server's log."""

import argparse
import re

import numpy as np
from mpi4py import MPI

LINE = re.compile(
    r"(?P<host>\d+\.\d+\.\d+\.\d+) - \[(?P<when>[^\]]+)\] "
    r'"(?P<verb>GET|POST|PUT) (?P<path>/[\w/]*)" (?P<status>\d{3}) (?P<size>\d+)'
)
VERBS = {"GET": 0.0, "POST": 1.0, "PUT": 2.0}


def written(seed, count):
    generator = np.random.default_rng(seed)
    numbers = generator.integers(0, 255, (count, 6))
    return [
        f'10.{a}.{b}.{c} - [25/Nov/2026:10:{d % 60:02d}:00] "{("GET", "POST", "PUT")[e % 3]} '
        f'/shop/{a}/{b}" {200 + f % 300} {c * 100}'
        for a, b, c, d, e, f in numbers.tolist()
    ]


def features(lines):
    rows = []
    for line in lines:
        parts = LINE.match(line)
        host = [float(number) / 255.0 for number in re.split(r"\.", parts["host"])]
        depth = len(re.findall(r"/", parts["path"]))
        rows.append([*host, VERBS[parts["verb"]], depth, int(parts["status"]), int(parts["size"])])
    return np.array(rows) / np.array([1, 1, 1, 1, 2, 5, 500, 25000])


def detector_step(weights, rows):
    code = np.tanh(rows @ weights[0])
    error = code @ weights[1] - rows
    back = (error @ weights[1].T) * (1 - code**2)
    return [rows.T @ back / len(rows), code.T @ error / len(rows)], float((error**2).mean())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--cured", action="store_true")
    args = parser.parse_args()
    comm = MPI.COMM_WORLD
    lines = written(comm.rank, 24000)
    table = features(lines) if args.cured else None
    same = np.random.default_rng(3)
    weights = [same.normal(0, 0.1, (8, 512)), same.normal(0, 0.1, (512, 8))]
    for step in range(args.steps):
        chosen = [(step * 1500 + offset) % len(lines) for offset in range(1500)]
        rows = table[chosen] if args.cured else features([lines[index] for index in chosen])
        gradients, loss = detector_step(weights, rows)
        for weight, gradient in zip(weights, gradients, strict=True):
            comm.Allreduce(MPI.IN_PLACE, gradient)
            weight -= 0.05 * gradient / comm.size
    if comm.rank == 0:
        print(f"loss {loss:.5f}")


if __name__ == "__main__":
    main()
