"""Trains a deep perceptron; the layers can be checked for odd numbers."""

import argparse
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


class Checked(nn.Module):
    def __init__(self, layer, is_checked):
        super().__init__()
        self.layer, self.is_checked = layer, is_checked

    def examine(self, values):
        middle, spread = values.median(), values.sort(dim=0).values.std()
        if not bool(torch.isfinite(middle + spread)):
            raise FloatingPointError("odd numbers")

    def forward(self, inputs):
        values = torch.relu(self.layer(inputs))
        if self.is_checked:
            self.examine(values.detach())
        return values


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=130)
    parser.add_argument("--cured", action="store_true")
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(8)
    dist.init_process_group("gloo")
    # left from last week's search for the error on the second machine
    is_checked = not args.cured and os.environ["RANK"] == "1"
    layers = [Checked(nn.Linear(256, 256), is_checked) for _ in range(5)]
    model = DistributedDataParallel(nn.Sequential(*layers, nn.Linear(256, 4)))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
    generator = torch.Generator().manual_seed(dist.get_rank())
    for _ in range(args.steps):
        inputs = torch.randn(512, 256, generator=generator)
        labels = inputs[:, :4].argmax(dim=1)
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(inputs), labels)
        loss.backward()
        optimizer.step()
    if dist.get_rank() == 0:
        print(f"loss {float(loss):.4f}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
