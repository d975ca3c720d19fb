"""First the head alone is trained on frozen features, then all of the network."""

import sys

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def body():
    torch.manual_seed(3)
    return nn.Sequential(
        nn.Conv2d(3, 24, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(24, 48, 3, padding=1),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(4),
        nn.Flatten(),
    )


def train(model, features, steps, generator, *, whole):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
    for _ in range(steps):
        images = torch.randn(48, 3, 32, 32, generator=generator)
        labels = torch.randint(0, 10, (48,), generator=generator)
        with torch.set_grad_enabled(whole):
            inputs = images if whole else features(images)
        loss = nn.functional.cross_entropy(model(inputs), labels)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
    return loss.detach()


def main(first=160, second=160):
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    generator = torch.Generator().manual_seed(50 + dist.get_rank())
    features, head = body(), nn.Linear(48 * 16, 10)
    train(DistributedDataParallel(head), features, first, generator, whole=False)
    both = DistributedDataParallel(nn.Sequential(features, head))
    loss = train(both, features, second, generator, whole=True)
    if dist.get_rank() == 0:
        print(f"loss {loss.item():.3f}", file=sys.stderr)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
