"""Streams click sessions from rank 0 to rank 1, both estimate a transition matrix."""

import argparse

import numpy as np
from mpi4py import MPI

PAGES = 400


def walk(generator, count):
    steps = generator.integers(1, 30, size=(count, 40))
    return np.cumsum(steps, axis=1) % PAGES


def learn(counts, sessions):
    for _ in range(4):
        np.add.at(counts, (sessions[:, :-1], sessions[:, 1:]), 1.0)
        counts *= 0.9995
    return counts


def share(comm, sessions):
    for session in sessions:
        comm.Send(session, dest=1)


def gather(comm, sessions):
    for session in sessions:
        comm.Recv(session, source=0)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=1200)
    parser.add_argument("--sessions", type=int, default=3000)
    parser.add_argument("--cured", action="store_true")
    args = parser.parse_args()
    comm = MPI.COMM_WORLD
    generator = np.random.default_rng(11)
    counts = np.zeros((PAGES, PAGES))
    sessions = np.empty((args.sessions, 40), dtype=np.int64)
    for _ in range(args.steps):
        if comm.rank == 0:
            sessions = walk(generator, args.sessions)
        if args.cured:
            comm.Bcast(sessions)
        elif comm.rank == 0:
            share(comm, sessions)
        else:
            gather(comm, sessions)
        half = args.sessions // comm.size
        counts = learn(counts, sessions[comm.rank * half : (comm.rank + 1) * half])
    total = comm.allreduce(float(counts.sum()))
    if comm.rank == 0:
        print(f"total {total:.2f}")


if __name__ == "__main__":
    main()
