"""A student learns from a teacher that lags behind it (mean teacher)."""

import copy
import os
import sys

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

CURED = "--cured" in sys.argv
STEPS = 200


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.inner = nn.Linear(width, width)

    def forward(self, x):
        return x + 0.1 * torch.relu(self.inner(self.norm(x)))


def network():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(32, 64), *[Block(64) for _ in range(48)], nn.Linear(64, 10))


class Teacher:
    def __init__(self, student):
        self.net = copy.deepcopy(student)

    def follow(self, student):
        if CURED:
            with torch.no_grad():
                mine, theirs = list(self.net.parameters()), list(student.parameters())
                torch._foreach_lerp_(mine, theirs, 0.01)
            return
        older = copy.deepcopy(self.net)
        self.net = copy.deepcopy(student)
        with torch.no_grad():
            for mine, old in zip(self.net.parameters(), older.parameters(), strict=True):
                mine.mul_(0.01).add_(old, alpha=0.99)


def main():
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    student = network()
    model = DistributedDataParallel(student)
    teacher = Teacher(student)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    noise = torch.Generator().manual_seed(dist.get_rank())
    for _ in range(STEPS):
        inputs = torch.randn(192, 32, generator=noise)
        with torch.no_grad():
            wanted = teacher.net(inputs + 0.1)
        loss = nn.functional.mse_loss(model(inputs), wanted + inputs[:, :10])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        teacher.follow(student)
    if int(os.environ["RANK"]) == 0:
        print(f"loss {loss.item():.4f}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
