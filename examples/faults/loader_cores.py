"""A PyTorch loop whose DataLoader's processes compute on the CPU of the training.

    perfscope run -- taskset -c 0 python examples/faults/loader_cores.py --workers 2

Bound to one CPU, training and input processes take turns on it: the fault. The cure is one worker
and a CPU for it, `taskset -c 0,1` and `--workers 1`.
"""

from __future__ import annotations

import argparse
import time

import torch
from torch.utils.data import DataLoader, Dataset

BATCH, VALUES, WIDTH = 16, 64, 2048
SAMPLE_S, STEP_S = 0.0015, 0.06  # CPU time of making a sample, and of a training step


def compute_until(seconds: float) -> None:
    """Uses the CPU up to so many seconds of this process's CPU time."""
    while time.process_time() < seconds:
        pass


class Costly(Dataset[torch.Tensor]):
    """Samples that each need CPU time."""

    def __init__(self, count: int) -> None:
        self.count = count

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> torch.Tensor:
        compute_until(time.process_time() + SAMPLE_S)
        return torch.full((VALUES,), float(index))


def train(workers: int, steps: int) -> None:
    """Steps of gradient descent that each take a fixed CPU time."""
    torch.set_num_threads(1)
    model = torch.nn.Sequential(torch.nn.Linear(VALUES, WIDTH), torch.nn.Linear(WIDTH, WIDTH))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-9)
    for batch in DataLoader(Costly(BATCH * steps), batch_size=BATCH, num_workers=workers):
        end = time.process_time() + STEP_S
        while time.process_time() < end:
            model(batch).sum().backward()
        optimizer.step()
        optimizer.zero_grad()


def main() -> None:
    """Trains as the command line says."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--workers", type=int, default=2, help="processes of the DataLoader")
    parser.add_argument("--steps", type=int, default=150)
    options = parser.parse_args()
    train(options.workers, options.steps)


if __name__ == "__main__":
    main()
