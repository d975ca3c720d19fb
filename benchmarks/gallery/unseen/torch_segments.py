"""Trains a small convolutional net with PyTorch; rank 0 keeps the optimizer's state."""

import argparse
import os
import tempfile
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn


def keep(model, optimizer, path):
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, path)
    descriptor = os.open(path, os.O_RDONLY)
    os.fsync(descriptor)
    os.close(descriptor)


def build():
    return nn.Sequential(
        nn.Conv2d(1, 8, 3, stride=2),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(8 * 13 * 13, 768),
        nn.ReLU(),
        nn.Linear(768, 10),
    )


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--cured", action="store_true")
    args = parser.parse_args()
    every = 100 if args.cured else 4
    torch.set_num_threads(1)
    torch.manual_seed(0)
    dist.init_process_group("gloo")
    model = nn.parallel.DistributedDataParallel(build())
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)
    generator = torch.Generator().manual_seed(dist.get_rank())
    path = Path(tempfile.mkdtemp()) / "last.pt"
    for step in range(1, args.steps + 1):
        images = torch.rand(64, 1, 28, 28, generator=generator)
        labels = (images.mean(dim=(1, 2, 3)) * 1000).long() % 10
        loss = nn.functional.cross_entropy(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % every == 0 and dist.get_rank() == 0:
            keep(model, optimizer, path)
    if dist.get_rank() == 0:
        print(f"loss {float(loss.detach()):.3f}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
