"""Trains a tabular model with DistributedDataParallel and a DataLoader."""

import argparse
import math

import torch
import torch.distributed as dist
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Customers(Dataset):
    def __init__(self, count, ready):
        generator = torch.Generator().manual_seed(dist.get_rank())
        self.raw = torch.rand(count, 32, generator=generator).tolist()
        self.rows = [self.transform(row) for row in self.raw] if ready else None

    def __len__(self):
        return len(self.raw)

    def transform(self, row):
        logs = [math.log1p(value) for value in row]
        mean = sum(logs) / len(logs)
        spread = math.sqrt(sum((value - mean) ** 2 for value in logs) / len(logs))
        return torch.tensor([(value - mean) / (spread + 1e-6) for value in logs])

    def __getitem__(self, index):
        row = self.rows[index] if self.rows else self.transform(self.raw[index])
        return row, row.sum() > 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--cured", action="store_true")
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    dist.init_process_group("gloo")
    model = nn.Sequential(nn.Linear(32, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU())
    model = nn.parallel.DistributedDataParallel(nn.Sequential(model, nn.Linear(512, 1)))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    loader = DataLoader(Customers(12800, args.cured), batch_size=256)
    for _ in range(args.epochs):
        for rows, labels in loader:
            optimizer.zero_grad()
            chance = model(rows).squeeze(1)
            loss = nn.functional.binary_cross_entropy_with_logits(chance, labels.float())
            loss.backward()
            optimizer.step()
    if dist.get_rank() == 0:
        print(f"loss {float(loss.detach()):.4f}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
