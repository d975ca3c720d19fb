"""Trains a recurrent tagger, one cell after the other."""

import argparse

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

LENGTH = 40


class Tagger(nn.Module):
    def __init__(self, whole):
        super().__init__()
        self.cell = nn.GRU(48, 48, batch_first=True) if whole else nn.GRUCell(48, 48)
        self.out = nn.Linear(48, 12)
        self.whole = whole

    def read(self, words):
        if self.whole:
            return self.cell(words)[0]
        states = []
        for row in range(len(words)):
            state = torch.zeros(1, 48)
            for place in range(words.shape[1]):
                state = self.cell(words[row : row + 1, place], state)
                states.append(state)
        return torch.cat(states).reshape(len(words), -1, 48)

    def forward(self, words):
        return self.out(self.read(words))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--cured", action="store_true")
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(1)
    dist.init_process_group("gloo")
    model = DistributedDataParallel(Tagger(args.cured))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    generator = torch.Generator().manual_seed(dist.get_rank())
    for _ in range(args.steps):
        words = torch.randn(16, LENGTH, 48, generator=generator)
        tags = words[..., :12].argmax(dim=-1)
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(words).reshape(-1, 12), tags.reshape(-1))
        loss.backward()
        optimizer.step()
    if dist.get_rank() == 0:
        print(f"loss {float(loss):.4f}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
