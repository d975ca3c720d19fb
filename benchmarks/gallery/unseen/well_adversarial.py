"""Trains a critic in each step and a forger in every second one."""

import argparse

import numpy as np
from mpi4py import MPI


def critic_slope(critic, real, forged):
    told_real = 1 / (1 + np.exp(-real @ critic))
    told_forged = 1 / (1 + np.exp(-forged @ critic))
    return (real.T @ (told_real - 1) + forged.T @ told_forged) / len(real)


def forger_slope(forger, critic, noise):
    forged = np.tanh(noise @ forger)
    told = 1 / (1 + np.exp(-forged @ critic))
    back = ((told - 1) @ critic.T) * (1 - forged * forged)
    return noise.T @ back / len(noise)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=700)
    args = parser.parse_args()
    comm = MPI.COMM_WORLD
    generator = np.random.default_rng(80 + comm.rank)
    draw = np.random.default_rng(2)
    forger = draw.normal(0, 0.1, (100, 400)).astype(np.float32)
    critic = draw.normal(0, 0.1, (400, 30)).astype(np.float32)
    for step in range(args.steps):
        real = np.tanh(generator.normal(0.2, 1, size=(900, 400))).astype(np.float32)
        noise = generator.normal(size=(900, 100)).astype(np.float32)
        slope = critic_slope(critic, real, np.tanh(noise @ forger))
        comm.Allreduce(MPI.IN_PLACE, slope)
        critic -= 0.02 * slope / comm.size
        if step % 2:
            slope = forger_slope(forger, critic, noise)
            comm.Allreduce(MPI.IN_PLACE, slope)
            forger -= 0.02 * slope / comm.size
    if comm.rank == 0:
        print(f"critic {float(np.abs(critic).mean()):.4f}")


if __name__ == "__main__":
    main()
