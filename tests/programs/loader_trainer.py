"""A PyTorch loop whose loader's processes compute as much as the training does.

Usage: loader_trainer.py WORKERS STEPS
"""

import sys
import time

import torch
from torch.utils.data import DataLoader, Dataset

BATCH = 16
workers, steps = int(sys.argv[1]), int(sys.argv[2])


class Costly(Dataset):  # type: ignore[misc] # torch is not installed beside the tests
    """Samples that each need 2 ms of CPU time."""

    def __len__(self) -> int:
        return BATCH * steps

    def __getitem__(self, index: int) -> torch.Tensor:
        end = time.process_time() + 0.002
        while time.process_time() < end:
            pass
        return torch.full((64,), float(index))


torch.set_num_threads(1)
model = torch.nn.Sequential(torch.nn.Linear(64, 2048), torch.nn.Linear(2048, 2048))
optimizer = torch.optim.SGD(model.parameters(), lr=1e-9)
for batch in DataLoader(Costly(), batch_size=BATCH, num_workers=workers):
    end = time.process_time() + 0.02
    while time.process_time() < end:
        model(batch).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
