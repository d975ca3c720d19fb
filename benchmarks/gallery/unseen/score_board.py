"""Trains a classifier with DistributedDataParallel and keeps a board of the hardest samples."""

import argparse

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def hardest(losses, keys, kept):
    mine = [
        {"key": int(key), "loss": float(loss), "rank": dist.get_rank()}
        for key, loss in zip(keys, losses, strict=True)
    ]
    boxes = [None] * dist.get_world_size()
    dist.all_gather_object(boxes, mine)
    rows = [row for box in boxes for row in box]
    return sorted(rows, key=lambda row: -row["loss"])[:kept]


def hardest_of_rank(losses, keys, kept):
    worst, places = torch.topk(losses, kept)
    both = torch.stack([worst, keys[places].float()])
    boxes = [torch.empty_like(both) for _ in range(dist.get_world_size())]
    dist.all_gather(boxes, both)
    return torch.cat(boxes, dim=1)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--cured", action="store_true")
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(1)
    dist.init_process_group("gloo")
    model = DistributedDataParallel(
        nn.Sequential(nn.Linear(128, 256), nn.ReLU(), nn.Linear(256, 10))
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    generator = torch.Generator().manual_seed(dist.get_rank())
    board = hardest_of_rank if args.cured else hardest
    for _ in range(args.steps):
        inputs = torch.randn(2048, 128, generator=generator)
        labels = inputs[:, :10].argmax(dim=1)
        keys = torch.arange(len(inputs))
        optimizer.zero_grad()
        losses = nn.functional.cross_entropy(model(inputs), labels, reduction="none")
        losses.mean().backward()
        optimizer.step()
        rows = board(losses.detach(), keys, 16)
    if dist.get_rank() == 0:
        print(f"loss {float(losses.mean()):.4f}, {len(rows)} rows")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
