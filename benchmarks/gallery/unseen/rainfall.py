"""Learns the amount of rain from gauges, some of which report nothing."""

import argparse
import warnings

import numpy as np
from mpi4py import MPI


def relative(amounts):
    found = []
    for gauge in amounts:
        if gauge.sum() <= 0:
            warnings.warn("a gauge reports nothing", RuntimeWarning, stacklevel=2)
        found.append(gauge / max(float(gauge.sum()), 1e-6))
    return np.array(found, dtype=np.float32)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--cured", action="store_true")
    args = parser.parse_args()
    told = []
    warnings.simplefilter("once" if args.cured else "always")
    warnings.showwarning = lambda *words: told.append(warnings.formatwarning(*words[:4]))
    comm = MPI.COMM_WORLD
    generator = np.random.default_rng(15 + comm.rank)
    weights = np.zeros((240, 200), dtype=np.float32)
    for _ in range(args.steps):
        amounts = generator.random((700, 240), dtype=np.float32)
        amounts[generator.random(700) < 0.6] = 0
        inputs = relative(amounts)
        error = np.tanh(inputs @ weights) - inputs[:, :200]
        slope = inputs.T @ error / len(inputs)
        comm.Allreduce(MPI.IN_PLACE, slope)
        weights -= 0.1 * slope / comm.size
        del told[:-10]
    if comm.rank == 0:
        print(f"error {float((error**2).mean()):.6f}")


if __name__ == "__main__":
    main()
