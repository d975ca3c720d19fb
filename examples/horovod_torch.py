"""Training in PyTorch with Horovod's DistributedOptimizer, on CPUs.

    perfscope run -- mpirun -n 2 python examples/horovod_torch.py

Horovod adds up each gradient in a thread of its own as soon as the backward pass has it. With
`--slow-rank` one rank is late in each step, which no overlap can hide.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import horovod.torch as hvd
import torch
from torch import nn

FEATURES = 64
CLASSES = 10


def parse_options() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--batch", type=int, default=32, help="samples per step and rank")
    parser.add_argument("--hidden", type=int, default=256)
    parser.add_argument("--slow-rank", type=int, default=-1)
    parser.add_argument("--slow-ms", type=float, default=50.0)
    # Not --log: horovodrun takes what could be short for an option of its own.
    parser.add_argument("--timings", metavar="FILE", help="appends what each rank lost in a step")
    return parser.parse_args()


def build(options: argparse.Namespace) -> nn.Module:
    """A perceptron, the same on every rank."""
    torch.manual_seed(7)
    return nn.Sequential(
        nn.Linear(FEATURES, options.hidden),
        nn.ReLU(),
        nn.Linear(options.hidden, options.hidden),
        nn.ReLU(),
        nn.Linear(options.hidden, CLASSES),
    )


def main() -> None:
    """Trains on points around one center a class; rank 0 prints the result."""
    options = parse_options()
    hvd.init()
    torch.set_num_threads(1)
    model = build(options)
    optimizer = hvd.DistributedOptimizer(
        torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9),
        named_parameters=model.named_parameters(),
    )
    hvd.broadcast_parameters(model.state_dict(), root_rank=0)
    centers = torch.randn(CLASSES, FEATURES, generator=torch.Generator().manual_seed(1))
    random = torch.Generator().manual_seed(100 + hvd.rank())
    timings = []
    loss = torch.zeros(())
    for step in range(options.steps):
        labels = torch.randint(CLASSES, (options.batch,), generator=random)
        points = centers[labels] + torch.randn(options.batch, FEATURES, generator=random)
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(points), labels)
        begin = time.monotonic()
        if hvd.rank() == options.slow_rank:
            time.sleep(options.slow_ms / 1000.0)
        ready = time.monotonic()
        timings.append(
            {"rank": hvd.rank(), "step": step, "lost_s": ready - begin, "ready_s": ready}
        )
        loss.backward()
        optimizer.step()
    shown = float(hvd.allreduce(loss.detach(), name="loss"))
    if options.timings:
        with Path(options.timings).open("a", encoding="utf-8") as file:
            file.write("".join(json.dumps(row) + "\n" for row in timings))
    if hvd.rank() == 0:
        print(f"result: loss {shown:.6f}", flush=True)


if __name__ == "__main__":
    main()
