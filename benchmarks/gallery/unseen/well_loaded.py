"""Trains with DistributedDataParallel and a loader whose worker stays for all epochs."""

import argparse

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset


def epoch_of(model, optimizer, loader):
    loss = 0.0
    for inputs, labels in loader:
        optimizer.zero_grad()
        lost = nn.functional.cross_entropy(model(inputs), labels)
        lost.backward()
        optimizer.step()
        loss = float(lost.detach())
    return loss


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=8)
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(5)
    dist.init_process_group("gloo")
    generator = torch.Generator().manual_seed(dist.get_rank())
    inputs = torch.randn(60 * 256, 128, generator=generator)
    rows = TensorDataset(inputs, inputs[:, :8].argmax(dim=1))
    model = DistributedDataParallel(
        nn.Sequential(
            nn.Linear(128, 1024), nn.ReLU(), nn.Linear(1024, 512), nn.ReLU(), nn.Linear(512, 8)
        )
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    loader = DataLoader(rows, batch_size=256, num_workers=1, persistent_workers=True)
    for _ in range(args.epochs):
        loss = epoch_of(model, optimizer, loader)
    if dist.get_rank() == 0:
        print(f"loss {loss:.4f}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
