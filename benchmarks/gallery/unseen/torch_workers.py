"""Rank 0 deals out parameter settings, the other ranks train them with PyTorch."""

import argparse
import time

import torch
import torch.distributed as dist
from torch import nn

SETTINGS = 240


def trial(number):
    torch.manual_seed(number)
    model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.001 * (1 + number % 10))
    inputs = torch.rand(2000, 64)
    for _ in range(12):
        loss = ((model(inputs) - inputs.mean(dim=1, keepdim=True)) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return float(loss.detach())


def deal(cured):
    losses = torch.zeros(SETTINGS)
    message = torch.zeros(2)
    for number in range(SETTINGS + 3):
        source = dist.recv(message)
        if message[0] >= 0:
            losses[int(message[0])] = message[1]
        if not cured:
            time.sleep(0.04)
        following = number if number < SETTINGS else -1
        dist.send(torch.tensor([float(following)]), dst=source)
    return losses


def work():
    answer = torch.tensor([-1.0, 0.0])
    task = torch.zeros(1)
    while True:
        dist.send(answer, dst=0)
        dist.recv(task, src=0)
        if task[0] < 0:
            return
        answer = torch.tensor([float(task[0]), trial(int(task[0]))])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cured", action="store_true")
    args = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    if dist.get_rank() == 0:
        losses = deal(args.cured)
        print(f"best {int(losses.argmin())} {float(losses.min()):.5f}")
    else:
        work()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
