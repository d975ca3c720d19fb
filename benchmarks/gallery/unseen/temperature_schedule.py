"""Simulated annealing of a spin glass on two halves; rank 0 decides the temperature."""

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np
from mpi4py import MPI


def publish(folder, step, temperature):
    draft = folder / f"draft{step}"
    draft.write_text(repr(temperature))
    draft.rename(folder / f"temperature{step}")


def fetch(folder, step):
    path = folder / f"temperature{step}"
    while not path.exists():
        time.sleep(0.05)
    return float(path.read_text())


def sweep(spins, couplings, temperature, generator):
    for _ in range(12):
        field = couplings @ spins
        change = 2.0 * spins * field
        accept = generator.random(spins.shape) < np.exp(-np.clip(change / temperature, 0, 50))
        spins = np.where(accept, -spins, spins)
    return spins, float(-(spins * (couplings @ spins)).sum())


def decide(energies, temperature):
    recent = np.array(energies[-200:])
    spread = np.std(np.sort(np.tile(recent, 200)))
    return max(0.05, temperature * (0.99 if spread > 1.0 else 0.995))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=350)
    parser.add_argument("--cured", action="store_true")
    args = parser.parse_args()
    comm = MPI.COMM_WORLD
    folder = Path(comm.bcast(tempfile.mkdtemp() if comm.rank == 0 else None))
    couplings = np.random.default_rng(3).normal(0, 0.1, (400, 400)).astype(np.float32)
    generator = np.random.default_rng(30 + comm.rank)
    spins = np.sign(generator.normal(size=(400, 64))).astype(np.float32)
    temperature, energies = 3.0, []
    for step in range(args.steps):
        spins, energy = sweep(spins, couplings, temperature, generator)
        energies.append(comm.allreduce(energy))
        if args.cured:
            temperature = decide(energies, temperature) if comm.rank == 0 else 0.0
            temperature = comm.bcast(temperature)
        elif comm.rank == 0:
            temperature = decide(energies, temperature)
            publish(folder, step, temperature)
        else:
            temperature = fetch(folder, step)
    if comm.rank == 0:
        print(f"energy {energies[-1]:.1f} temperature {temperature:.4f}")


if __name__ == "__main__":
    main()
