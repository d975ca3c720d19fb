"""The Ising model on two halves of a lattice, with a monitor of its magnetization."""

import argparse
import threading

import numpy as np
from mpi4py import MPI


class Monitor(threading.Thread):
    def __init__(self, spins, interval, measure):
        super().__init__(daemon=True)
        self.spins = spins
        self.interval = interval
        self.measure = measure
        self.stopping = threading.Event()
        self.latest = 0

    def run(self):
        while not self.stopping.wait(self.interval):
            self.latest = self.measure(self.spins)

    def close(self):
        self.stopping.set()
        self.join()


def magnetisation(spins):
    return sum(sum(row) for row in spins[1:-1].tolist())


def magnetisation_fast(spins):
    return int(spins[1:-1].sum(dtype=np.int64))


def swap_edges(comm, spins, other):
    comm.Sendrecv(spins[1], dest=other, recvbuf=spins[-1], source=other, sendtag=0, recvtag=0)
    comm.Sendrecv(spins[-2], dest=other, recvbuf=spins[0], source=other, sendtag=1, recvtag=1)


def sweep(spins, colour, beta, rng):
    mid = spins[1:-1]
    field = spins[:-2] + spins[2:]
    field += np.roll(mid, 1, axis=1)
    field += np.roll(mid, -1, axis=1)
    chance = np.exp((-2.0 * beta) * (field * mid).astype(np.float32))
    flip = (rng.random(mid.shape, dtype=np.float32) < chance) & colour
    np.negative(mid, out=mid, where=flip)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--sweeps", type=int, default=500)
    parser.add_argument("--rows", type=int, default=400)
    parser.add_argument("--cols", type=int, default=800)
    parser.add_argument("--cured", action="store_true")
    args = parser.parse_args()

    comm = MPI.COMM_WORLD
    rng = np.random.default_rng(9 + comm.rank)
    spins = rng.choice(np.array([-1, 1], dtype=np.int8), size=(args.rows + 2, args.cols))
    parity = np.add.outer(np.arange(args.rows), np.arange(args.cols)) % 2
    colours = [parity == 0, parity == 1]
    monitor = None
    if comm.rank == 0:
        monitor = Monitor(spins, 0.02, magnetisation_fast if args.cured else magnetisation)
        monitor.start()

    for index in range(args.sweeps):
        for colour in colours:
            swap_edges(comm, spins, 1 - comm.rank)
            sweep(spins, colour, 0.44, rng)
        if index % 100 == 99:
            total = comm.allreduce(magnetisation_fast(spins))
            if comm.rank == 0:
                print(f"sweep {index + 1} m {total}", flush=True)
    if monitor:
        monitor.close()


if __name__ == "__main__":
    main()
