"""A PyTorch program on one device with one fault: its DataLoader is slower than the device.

    perfscope run --torch-profiler 20:30 -- python examples/faults/starved_gpu.py --workers 0
    perfscope run --torch-profiler 20:30 -- python examples/faults/starved_gpu.py --workers 4

A sample takes `--sample-ms` to make. With 0 workers the training process makes each batch itself
while the device has nothing to do; enough workers, with pinned memory, are the cure.
"""

from __future__ import annotations

import argparse
import time

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

FEATURES, CLASSES = 1024, 16


class Slow(Dataset[tuple[torch.Tensor, int]]):
    """Random points, each of which takes a while."""

    def __init__(self, count: int, sample_ms: float) -> None:
        self._count = count
        self._sample_s = sample_ms / 1000

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        time.sleep(self._sample_s)
        generator = torch.Generator().manual_seed(index)
        return torch.randn(FEATURES, generator=generator), index % CLASSES


def options() -> argparse.Namespace:
    """What the command line says."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--sample-ms", type=float, default=1.0, help="to make one sample")
    parser.add_argument("--workers", type=int, default=0, help="of the DataLoader")
    parser.add_argument("--hidden", type=int, default=4096)
    parser.add_argument("--passes", type=int, default=8, help="hidden layers: work of the device")
    parser.add_argument("--device", default="cuda")
    return parser.parse_args()


def main() -> None:
    """Trains and prints the loss and the seconds of the loop."""
    chosen = options()
    torch.manual_seed(0)
    layers: list[nn.Module] = [nn.Linear(FEATURES, chosen.hidden), nn.ReLU()]
    for _ in range(chosen.passes):
        layers += [nn.Linear(chosen.hidden, chosen.hidden), nn.ReLU()]
    model = nn.Sequential(*layers, nn.Linear(chosen.hidden, CLASSES)).to(chosen.device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    loader = DataLoader(
        Slow(chosen.steps * chosen.batch, chosen.sample_ms),
        batch_size=chosen.batch,
        num_workers=chosen.workers,
        pin_memory=chosen.device != "cpu",
    )
    start = time.monotonic()
    loss = torch.zeros(())
    for points, labels in loader:
        target = labels.to(chosen.device, non_blocking=True)
        scores = model(points.to(chosen.device, non_blocking=True))
        loss = nn.functional.cross_entropy(scores, target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"result: loss {float(loss):.6f}  seconds {time.monotonic() - start:.3f}", flush=True)


if __name__ == "__main__":
    main()
