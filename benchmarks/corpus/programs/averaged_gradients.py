"""Gradients averaged by the program itself, each with a call that is waited for later."""

import time

import torch
import torch.distributed as dist
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

BATCH, SAMPLES, EPOCHS = 32, 2048, 10


def average_gradients(model):
    """Starts all reductions, then waits for each."""
    works = [dist.all_reduce(parameter.grad, async_op=True) for parameter in model.parameters()]
    for work, parameter in zip(works, model.parameters(), strict=True):
        work.wait()
        parameter.grad /= dist.get_world_size()


def main():
    """Ten epochs."""
    dist.init_process_group()
    torch.manual_seed(1234)
    torch.set_num_threads(1)
    data = TensorDataset(torch.randn(SAMPLES, 256), torch.randint(10, (SAMPLES,)))
    loader = DataLoader(data, batch_size=BATCH, sampler=DistributedSampler(data))
    model = nn.Sequential(nn.Linear(256, 512), nn.ReLU(), nn.Linear(512, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.5)
    steps, seconds = 0, []
    for epoch in range(EPOCHS):
        begin, total = time.time(), 0.0
        for images, labels in loader:
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(images), labels)
            total += loss.item()
            loss.backward()
            average_gradients(model)
            optimizer.step()
            steps += 1
        seconds.append(time.time() - begin)
        if dist.get_rank() == 0:
            print(f"epoch {epoch}: loss {total / len(loader):.4f}")
    if dist.get_rank() == 0:
        print("steps", steps)
        print("rate from step", steps // EPOCHS)
        print(f"samples/s {SAMPLES * (EPOCHS - 1) / sum(seconds[1:]):.1f}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
