"""Trains a model of seismic traces that are whitened by their covariance."""

import argparse

import numpy as np
from mpi4py import MPI


def whiten(traces, covariance):
    return traces @ np.linalg.inv(np.linalg.cholesky(covariance)).T


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=90)
    parser.add_argument("--cured", action="store_true")
    args = parser.parse_args()
    comm = MPI.COMM_WORLD
    generator = np.random.default_rng(comm.rank)
    mixing = np.random.default_rng(4).normal(size=(360, 360))
    covariance = mixing @ mixing.T + 360 * np.eye(360)
    inverse = np.linalg.inv(np.linalg.cholesky(covariance)).T
    weights = np.random.default_rng(6).normal(0, 0.05, (360, 360))
    for _ in range(args.steps):
        change = np.zeros_like(weights)
        for _ in range(4):
            traces = generator.normal(size=(128, 360)) @ mixing.T
            white = traces @ inverse if args.cured else whiten(traces, covariance)
            hidden = np.tanh(white @ weights)
            change += white.T @ ((hidden - white) * (1 - hidden**2)) / len(white)
        comm.Allreduce(MPI.IN_PLACE, change)
        weights -= 0.01 * change
    if comm.rank == 0:
        print(f"norm {np.linalg.norm(weights):.4f}")


if __name__ == "__main__":
    main()
