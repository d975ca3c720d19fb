"""Learns a filter for sonar echoes; gains depend on the distance by a rule of the trade."""

import argparse

import numpy as np
from mpi4py import MPI


@np.vectorize
def rule(distance):
    return min(2.0, 0.4 + distance * distance) if distance > 0.1 else 0.4


def quick_rule(distance):
    return np.where(distance > 0.1, np.minimum(2.0, 0.4 + distance * distance), 0.4)


def slope_of(echoes, taps, gain):
    clear = np.tanh((echoes * gain) @ taps)
    return echoes.T @ (clear - 0.3 * echoes) / len(echoes)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--cured", action="store_true")
    args = parser.parse_args()
    comm = MPI.COMM_WORLD
    water = np.random.default_rng(80 + comm.rank)
    taps = np.random.default_rng(3).normal(0, 0.04, (420, 420))
    for _ in range(args.steps):
        echoes = water.normal(size=(220, 420))
        distances = np.abs(water.normal(size=(220, 210)))
        gain = np.repeat((quick_rule if args.cured else rule)(distances), 2, axis=1)
        slope = slope_of(echoes, taps, gain)
        comm.Allreduce(MPI.IN_PLACE, slope)
        taps -= 0.02 * slope / comm.size
    if comm.rank == 0:
        print(f"taps {np.linalg.norm(taps):.4f}")


if __name__ == "__main__":
    main()
