"""Trains a generator and its critic in turn, on every rank."""

import argparse

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def network(into, out):
    return DistributedDataParallel(
        nn.Sequential(
            nn.Linear(into, 384), nn.ReLU(), nn.Linear(384, 384), nn.ReLU(), nn.Linear(384, out)
        )
    )


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=140)
    parser.add_argument("--cured", action="store_true")
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(7)
    dist.init_process_group("gloo")
    maker, critic = network(64, 64), network(64, 1)
    makes = torch.optim.Adam(maker.parameters(), lr=1e-4)
    judges = torch.optim.Adam(critic.parameters(), lr=1e-4)
    generator = torch.Generator().manual_seed(dist.get_rank())
    shown = 0.0
    for step in range(args.steps):
        real = torch.randn(512, 64, generator=generator) * 0.5 + 1
        judges.zero_grad()
        false = maker(torch.randn(512, 64, generator=generator)).detach()
        both = critic(torch.cat([real, false]))
        lost = (
            nn.functional.softplus(-both[:512]).mean() + nn.functional.softplus(both[512:]).mean()
        )
        lost.backward()
        judges.step()
        makes.zero_grad()
        nn.functional.softplus(
            -critic(maker(torch.randn(512, 64, generator=generator)))
        ).mean().backward()
        makes.step()
        if step % 20 == 0:
            shown = float(lost)
    if dist.get_rank() == 0:
        print(f"loss {shown:.4f}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
