"""Trains a wide perceptron with PyTorch and gloo on the threads of the node."""

import argparse

import torch
import torch.distributed as dist
from torch import nn


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--cured", action="store_true")
    args = parser.parse_args()
    torch.set_num_threads(1 if args.cured else 8)
    torch.manual_seed(0)
    dist.init_process_group("gloo")
    layers = [part for _ in range(4) for part in (nn.Linear(384, 384), nn.GELU())]
    model = nn.Sequential(*layers)
    generator = torch.Generator().manual_seed(dist.get_rank())
    for _ in range(args.steps):
        inputs = torch.rand(512, 384, generator=generator)
        loss = ((model(inputs) - inputs.flip(1)) ** 2).mean()
        model.zero_grad()
        loss.backward()
        flat = torch.cat([p.grad.reshape(-1) for p in model.parameters()])
        dist.all_reduce(flat)
        start = 0
        with torch.no_grad():
            for parameter in model.parameters():
                end = start + parameter.numel()
                parameter -= 0.05 * flat[start:end].view_as(parameter)
                start = end
    if dist.get_rank() == 0:
        print(f"loss {float(loss.detach()):.3f}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
