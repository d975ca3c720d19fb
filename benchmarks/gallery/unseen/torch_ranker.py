"""Trains a ranking model with PyTorch and gloo; every rank keeps the same order of items."""

import argparse

import torch
import torch.distributed as dist
from torch import nn


def order_of(epoch_step, items, drawn_alone):
    if drawn_alone:
        generator = torch.Generator().manual_seed(epoch_step)
        return torch.randperm(items, generator=generator).tolist()
    box = [None]
    if dist.get_rank() == 0:
        generator = torch.Generator().manual_seed(epoch_step)
        box = [torch.randperm(items, generator=generator).tolist()]
    dist.broadcast_object_list(box, src=0)
    return box[0]


def train_batch(model, optimizer, items):
    optimizer.zero_grad()
    better, worse = model(items[::2]), model(items[1::2])
    loss = nn.functional.softplus(worse - better).mean()
    loss.backward()
    flat = torch.cat([p.grad.reshape(-1) for p in model.parameters()])
    dist.all_reduce(flat)
    start = 0
    for parameter in model.parameters():
        length = parameter.numel()
        parameter.grad.copy_(
            flat[start : start + length].view_as(parameter) / dist.get_world_size()
        )
        start += length
    optimizer.step()
    return float(loss.detach())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--items", type=int, default=200_000)
    parser.add_argument("--cured", action="store_true")
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    dist.init_process_group("gloo")
    model = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    table = torch.randn(args.items, 64)
    loss = 0.0
    for step in range(args.steps):
        order = order_of(step, args.items, args.cured)
        start = dist.get_rank() * 1024
        loss = train_batch(model, optimizer, table[torch.tensor(order[start : start + 1024])])
    if dist.get_rank() == 0:
        print(f"loss {loss:.4f}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
