"""Trains a wide perceptron whose batches are taken in parts, with DistributedDataParallel."""

import argparse
from contextlib import nullcontext

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def part_of(model, inputs, labels, parts):
    loss = nn.functional.cross_entropy(model(inputs), labels) / parts
    loss.backward()
    return float(loss.detach())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=90)
    parser.add_argument("--cured", action="store_true")
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(6)
    dist.init_process_group("gloo")
    model = DistributedDataParallel(
        nn.Sequential(
            nn.Linear(512, 1536), nn.ReLU(), nn.Linear(1536, 1024), nn.ReLU(), nn.Linear(1024, 10)
        )
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    generator = torch.Generator().manual_seed(dist.get_rank())
    parts = 8
    for _ in range(args.steps):
        optimizer.zero_grad()
        for part in range(parts):
            inputs = torch.randn(32, 512, generator=generator)
            labels = inputs[:, :10].argmax(dim=1)
            last = part == parts - 1
            with model.no_sync() if args.cured and not last else nullcontext():
                lost = part_of(model, inputs, labels, parts)
        optimizer.step()
    if dist.get_rank() == 0:
        print(f"loss {lost:.4f}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
