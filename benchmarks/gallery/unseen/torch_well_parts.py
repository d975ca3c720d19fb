"""Trains on batches taken in four parts whose gradients are exchanged once, with PyTorch."""

import argparse
from contextlib import nullcontext

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=250)
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(4)
    dist.init_process_group("gloo")
    model = DistributedDataParallel(
        nn.Sequential(
            nn.Linear(256, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 8)
        )
    )
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    generator = torch.Generator().manual_seed(dist.get_rank())
    for _ in range(args.steps):
        for part in range(4):
            inputs = torch.randn(256, 256, generator=generator)
            with nullcontext() if part == 3 else model.no_sync():
                lost = nn.functional.cross_entropy(model(inputs), inputs[:, :8].argmax(dim=1)) / 4
                lost.backward()
        optimizer.step()
        optimizer.zero_grad()
    if dist.get_rank() == 0:
        print(f"loss {float(lost.detach()):.4f}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
