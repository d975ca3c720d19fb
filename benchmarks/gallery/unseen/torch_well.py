"""Trains a perceptron with DistributedDataParallel on tensors held in memory."""

import argparse

import torch
import torch.distributed as dist
from torch import nn


def build():
    return nn.Sequential(
        nn.Linear(256, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 20)
    )


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=300)
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    dist.init_process_group("gloo")
    model = nn.parallel.DistributedDataParallel(build())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    generator = torch.Generator().manual_seed(dist.get_rank())
    table = torch.randn(16384, 256, generator=generator)
    labels = table[:, :20].argmax(dim=1)
    for step in range(args.steps):
        part = slice(step % 16 * 1024, (step % 16 + 1) * 1024)
        loss = nn.functional.cross_entropy(model(table[part]), labels[part])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if dist.get_rank() == 0:
        print(f"loss {float(loss.detach()):.4f}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
