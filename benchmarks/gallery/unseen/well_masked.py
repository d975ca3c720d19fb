"""Trains a model that fills in masked numbers, with Adam and a learning rate that falls."""

import argparse

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=130)
    parser.add_argument("--cured", action="store_true")
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(5)
    dist.init_process_group("gloo")
    layer = nn.TransformerEncoderLayer(64, 4, 128, batch_first=True)
    model = DistributedDataParallel(nn.TransformerEncoder(layer, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    falls = torch.optim.lr_scheduler.StepLR(optimizer, 40, 0.5)
    generator = torch.Generator().manual_seed(dist.get_rank())
    for step in range(args.steps):
        whole = torch.randn(32, 24, 64, generator=generator)
        hidden = torch.rand(32, 24, 1, generator=generator) < 0.15
        optimizer.zero_grad()
        filled = model(whole.masked_fill(hidden, 0.0))
        loss = ((filled - whole) ** 2 * hidden).mean()
        loss.backward()
        optimizer.step()
        falls.step()
        if step % 25 == 0 and dist.get_rank() == 0:
            print(f"{step} {float(loss):.4f}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
