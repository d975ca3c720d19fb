"""Data-parallel training that computes and prints its error on all ranks after every epoch.

    perfscope run -- mpirun -n 2 python examples/faults/progress_output.py --print-every 1

A small network learns handwritten-like digits: in each epoch every rank walks through its share of
the data in batches, then the ranks average their parameters. After each epoch `print_progress`
copies the whole share again, computes the error over it, adds it up over the ranks and prints it on
each of them: the fault. `--print-every 30` is the cure; nobody reads more.
"""

from __future__ import annotations

import argparse
import os
import time

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")  # before numpy is loaded

import numpy as np  # noqa: E402
import numpy.typing as npt  # noqa: E402
from mpi4py import MPI  # noqa: E402

Floats = npt.NDArray[np.float32]
PIXELS, HIDDEN, CLASSES = 784, 128, 10
BATCH = 64
RATE = np.float32(0.05)


class Network:
    """One hidden layer; `parameters` is one array that the ranks average."""

    def __init__(self) -> None:
        random = np.random.default_rng(7)
        count = PIXELS * HIDDEN + HIDDEN * CLASSES
        self.parameters = random.normal(0.0, 0.05, count).astype(np.float32)
        self.first = self.parameters[: PIXELS * HIDDEN].reshape(PIXELS, HIDDEN)
        self.second = self.parameters[PIXELS * HIDDEN :].reshape(HIDDEN, CLASSES)

    def scores(self, images: Floats) -> tuple[Floats, Floats]:
        """Hidden values (n, HIDDEN) and the share of each class (n, CLASSES)."""
        hidden = np.tanh(images @ self.first)
        scores = np.exp(hidden @ self.second)
        return hidden, scores / scores.sum(axis=1, keepdims=True)

    def learn(self, images: Floats, wanted: Floats) -> None:
        """One step of gradient descent."""
        hidden, scores = self.scores(images)
        wrong = (scores - wanted) / np.float32(len(images))
        back = (wrong @ self.second.T) * (1 - hidden * hidden)
        self.second -= RATE * (hidden.T @ wrong)
        self.first -= RATE * (images.T @ back)


def make_share(samples: int, rank: int) -> tuple[Floats, Floats]:
    """Images (n, PIXELS) of this rank and their classes (n, CLASSES): blots that it can learn."""
    patterns = np.random.default_rng(1).random((CLASSES, PIXELS), np.float32)
    random = np.random.default_rng((2, rank))
    classes = random.integers(0, CLASSES, samples)
    images = patterns[classes] - 0.5 + random.normal(0.0, 0.5, (samples, PIXELS))
    return images.astype(np.float32), np.eye(CLASSES, dtype=np.float32)[classes]


def train_epoch(network: Network, share: tuple[Floats, Floats], *, part: int) -> None:
    """Learns from one part in `part` of the share, then averages the parameters of the ranks."""
    images, wanted = share
    for start in range(0, len(images) // part, BATCH):
        network.learn(images[start : start + BATCH], wanted[start : start + BATCH])
    MPI.COMM_WORLD.Allreduce(MPI.IN_PLACE, network.parameters)
    network.parameters /= MPI.COMM_WORLD.size


def print_progress(
    network: Network, share: tuple[Floats, Floats], epoch: int, *, is_quiet: bool
) -> float:
    """Computes the error over copies of the whole share, on all ranks, and prints it on each."""
    images, wanted = np.array(share[0], np.float64), np.array(share[1], np.float64)
    _, scores = network.scores(images.astype(np.float32))
    right = scores.argmax(axis=1) == wanted.argmax(axis=1)
    counts = np.array([np.count_nonzero(~right), len(right)], np.float64)
    MPI.COMM_WORLD.Allreduce(MPI.IN_PLACE, counts)
    error = float(counts[0] / counts[1])
    if not is_quiet:
        print(f"epoch {epoch:4d}  rank {MPI.COMM_WORLD.rank}  error {error:.4f}", flush=True)
    return error


def main() -> None:
    """Trains as the command line says; rank 0 prints the result."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--epochs", type=int, default=120)
    parser.add_argument("--print-every", type=int, default=1, metavar="EPOCHS")
    parser.add_argument("--samples", type=int, default=8000, help="of each rank")
    parser.add_argument("--part", type=int, default=1, help="an epoch is 1/PART of the samples")
    parser.add_argument("--quiet", action="store_true", help="compute all errors, print the last")
    options = parser.parse_args()
    network, share = Network(), make_share(options.samples, MPI.COMM_WORLD.rank)
    MPI.COMM_WORLD.Barrier()
    began = time.monotonic()
    error = float("nan")
    for epoch in range(1, options.epochs + 1):
        train_epoch(network, share, part=options.part)
        if epoch % options.print_every == 0:
            error = print_progress(network, share, epoch, is_quiet=options.quiet)
    MPI.COMM_WORLD.Barrier()
    seconds = time.monotonic() - began
    if MPI.COMM_WORLD.rank == 0:
        print(f"result: error {error:.4f}  seconds {seconds:.2f}", flush=True)


if __name__ == "__main__":
    main()
