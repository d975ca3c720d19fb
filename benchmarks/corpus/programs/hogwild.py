"""Processes that train one shared model at once, without locks."""

import torch
import torch.multiprocessing as mp
from torch import nn, optim

BATCHES, BATCH = 40, 32


class Net(nn.Module):
    """A small network."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 10))

    def forward(self, images):
        return self.layers(images)


def train(worker, model):
    """What each process does."""
    torch.manual_seed(worker)
    torch.set_num_threads(1)
    data = torch.utils.data.TensorDataset(
        torch.randn(BATCHES * BATCH, 784), torch.randint(10, (BATCHES * BATCH,))
    )
    loader = torch.utils.data.DataLoader(data, batch_size=BATCH, shuffle=True)
    optimizer = optim.SGD(model.parameters(), lr=0.01)
    for _epoch in range(2):
        for images, labels in loader:
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(images), labels).backward()
            optimizer.step()


def main():
    """Two processes."""
    mp.set_start_method("spawn", force=True)
    model = Net()
    model.share_memory()
    processes = [mp.Process(target=train, args=(worker, model)) for worker in range(2)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    print("steps", 2 * BATCHES, flush=True)


if __name__ == "__main__":
    main()
