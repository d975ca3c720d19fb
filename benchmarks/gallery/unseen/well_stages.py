"""Rank 0 makes features of small parts of a batch; rank 1 trains on them meanwhile."""

import argparse

import numpy as np
from mpi4py import MPI

PARTS, ROWS = 6, 200


def make(comm, steps, generator):
    basis = np.random.default_rng(1).normal(size=(300, 500)).astype(np.float32)
    sending = []
    for _ in range(steps * PARTS):
        raw = generator.normal(size=(ROWS, 300)).astype(np.float32)
        features = np.maximum(raw @ basis, 0)
        sending.append((comm.Isend(features, dest=1), features))
        if len(sending) > 3:
            sending.pop(0)[0].Wait()
    for request, _ in sending:
        request.Wait()


def learn(comm, steps):
    weights = np.zeros((500, 120), dtype=np.float32)
    boxes = [np.empty((ROWS, 500), dtype=np.float32) for _ in range(2)]
    coming = comm.Irecv(boxes[0], source=0)
    for number in range(steps * PARTS):
        coming.Wait()
        features = boxes[number % 2]
        if number + 1 < steps * PARTS:
            coming = comm.Irecv(boxes[(number + 1) % 2], source=0)
        error = np.tanh(features @ weights) - np.tanh(features[:, :120])
        weights -= 0.001 * (features.T @ error) / ROWS
    return float((error**2).mean())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=500)
    args = parser.parse_args()
    comm = MPI.COMM_WORLD
    if comm.rank == 0:
        make(comm, args.steps, np.random.default_rng(5))
    else:
        print(f"error {learn(comm, args.steps):.4f}")
    comm.Barrier()


if __name__ == "__main__":
    main()
