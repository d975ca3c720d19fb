"""A forecast of electric load, trained data-parallel and validated every tenth step."""

import argparse
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


class Forecaster(nn.Module):
    def __init__(self, inputs, hidden):
        super().__init__()
        self.rnn = nn.GRU(inputs, hidden, batch_first=True)
        self.out = nn.Linear(hidden, 24)

    def forward(self, history):
        states, _ = self.rnn(history)
        return self.out(states[:, -1])


def make_series(count, hours, seed):
    gen = torch.Generator().manual_seed(seed)
    t = torch.arange(hours + 24)
    phase = torch.rand(count, 1, generator=gen) * 24
    noise = torch.randn(count, hours + 24, generator=gen)
    load = torch.sin((t + phase) * 2 * torch.pi / 24) + 0.1 * noise
    extra = torch.randn(count, hours, 7, generator=gen)
    return torch.cat([load[:, :hours, None], extra], dim=2), load[:, hours:]


@torch.no_grad()
def squared_error(model, history, target, batch):
    total = torch.zeros(1, dtype=torch.float64)
    for begin in range(0, len(history), batch):
        guess = model(history[begin : begin + batch])
        total += ((guess - target[begin : begin + batch]) ** 2).sum().double()
    return total


def validate(model, history, target, batch, rank):
    total = torch.zeros(1, dtype=torch.float64)
    if rank == 0:
        total = squared_error(model, history, target, batch)
    dist.broadcast(total, src=0)
    return total.item() / target.numel()


def validate_split(model, history, target, batch, rank):
    half = len(history) // 2
    part = slice(0, half) if rank == 0 else slice(half, None)
    total = squared_error(model, history[part], target[part], batch)
    dist.all_reduce(total)
    return total.item() / target.numel()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--every", type=int, default=10)
    parser.add_argument("--held-out", type=int, default=1280)
    parser.add_argument("--cured", action="store_true")
    args = parser.parse_args()

    rank = int(os.environ.get("RANK", os.environ.get("PMI_RANK", "0")))
    os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
    os.environ.setdefault("MASTER_PORT", "29612")
    dist.init_process_group("gloo", rank=rank, world_size=2)
    torch.manual_seed(0)

    history, target = make_series(4096, 72, 10 + rank)
    held_history, held_target = make_series(args.held_out, 72, 99)
    net = Forecaster(8, 96)
    model = DistributedDataParallel(net)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    schedule = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=3)
    check = validate_split if args.cured else validate
    gen = torch.Generator().manual_seed(rank)

    for step in range(1, args.steps + 1):
        rows = torch.randint(0, len(history), (args.batch,), generator=gen)
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(history[rows]), target[rows])
        loss.backward()
        optimizer.step()
        if step % args.every == 0:
            error = check(net, held_history, held_target, args.batch, rank)
            schedule.step(error)
            if rank == 0 and step % 50 == 0:
                print(f"step {step} validation {error:.6f}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
