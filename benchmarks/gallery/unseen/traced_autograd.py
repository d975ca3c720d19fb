"""Trains a recurrent network on sequences with DistributedDataParallel."""

import argparse

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.GRUCell(24, 48)
        self.head = nn.Linear(48, 4)

    def forward(self, sequence):
        state = sequence.new_zeros(sequence.shape[1], 48)
        for moment in sequence:
            state = self.cell(moment, state)
        return self.head(state)


def learn(model, optimizer, sequence, labels):
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(sequence), labels)
    loss.backward()
    optimizer.step()
    return float(loss.detach())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=250)
    parser.add_argument("--cured", action="store_true")
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(2)
    dist.init_process_group("gloo")
    torch.autograd.set_detect_anomaly(not args.cured)
    model = DistributedDataParallel(Reader())
    optimizer = torch.optim.Adam(model.parameters(), lr=0.003)
    generator = torch.Generator().manual_seed(dist.get_rank())
    for _ in range(args.steps):
        sequence = torch.randn(40, 32, 24, generator=generator)
        loss = learn(model, optimizer, sequence, sequence.sum(dim=(0, 2)).abs().long() % 4)
    if dist.get_rank() == 0:
        print(f"loss {loss:.4f}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
