"""Throughput of a model on data made up, as Horovod's synthetic benchmark measures it."""

import timeit

import horovod.torch as hvd
import torch
from torch import nn

BATCH, WARM_UP, BATCHES, ITERATIONS = 16, 10, 5, 6

hvd.init()
torch.set_num_threads(1)
torch.manual_seed(0)
layers = [nn.Conv2d(3, 16, 3), nn.ReLU(), nn.Conv2d(16, 16, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1)]
model = nn.Sequential(*layers, nn.Flatten(), nn.Linear(16, 10))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
optimizer = hvd.DistributedOptimizer(optimizer, named_parameters=model.named_parameters())
hvd.broadcast_parameters(model.state_dict(), root_rank=0)
data, target = torch.randn(BATCH, 3, 32, 32), torch.randint(10, (BATCH,))


def benchmark_step():
    """One batch."""
    optimizer.zero_grad()
    nn.functional.cross_entropy(model(data), target).backward()
    optimizer.step()


timeit.timeit(benchmark_step, number=WARM_UP)
seconds = [timeit.timeit(benchmark_step, number=BATCHES) for _ in range(ITERATIONS)]
if hvd.rank() == 0:
    rates = [hvd.size() * BATCH * BATCHES / one for one in seconds]
    print("steps", WARM_UP + ITERATIONS * BATCHES)
    print("rate from step", WARM_UP)
    print(f"samples/s on average of {ITERATIONS} rates: {sum(rates) / len(rates):.1f}")
    print(f"samples/s {hvd.size() * BATCH * BATCHES * ITERATIONS / sum(seconds):.1f}", flush=True)
