"""Trains a deep narrow net on three ranks with PyTorch and gloo."""

import argparse

import torch
import torch.distributed as dist
from torch import nn


def synchronize(model, together):
    size = dist.get_world_size()
    grads = [parameter.grad for parameter in model.parameters()]
    if together:
        flat = torch.cat([grad.reshape(-1) for grad in grads])
        dist.all_reduce(flat)
        parts = flat.split([grad.numel() for grad in grads])
        for grad, part in zip(grads, parts, strict=True):
            grad.copy_(part.view_as(grad) / size)
        return
    for grad in grads:
        for row in grad.reshape(-1, grad.shape[-1]):
            dist.all_reduce(row)
        grad /= size


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=250)
    parser.add_argument("--cured", action="store_true")
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    dist.init_process_group("gloo")
    layers = [part for _ in range(10) for part in (nn.Linear(24, 24), nn.Tanh())]
    model = nn.Sequential(*layers)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    generator = torch.Generator().manual_seed(dist.get_rank())
    for _ in range(args.steps):
        inputs = torch.rand(2000, 24, generator=generator)
        loss = ((model(inputs) - inputs.sin()) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        synchronize(model, together=args.cured)
        optimizer.step()
    if dist.get_rank() == 0:
        print(f"loss {float(loss.detach()):.4f}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
