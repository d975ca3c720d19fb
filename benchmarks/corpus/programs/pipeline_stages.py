"""A transformer in two stages, one a rank, through which parts of each batch go one by one."""

import time

import torch
import torch.distributed as dist
from torch.distributed.pipelining import PipelineStage, ScheduleGPipe

BATCH, PARTS, STEPS, LENGTH, WIDTH, WORDS = 32, 4, 40, 32, 64, 500


class Stage(torch.nn.Module):
    """Some layers, behind the embedding in the first stage, before the output in the last one."""

    def __init__(self, is_first, is_last):
        super().__init__()
        self.embedding = torch.nn.Embedding(WORDS, WIDTH) if is_first else None
        self.layers = torch.nn.ModuleList(
            torch.nn.TransformerEncoderLayer(WIDTH, 4, 128, dropout=0.0, batch_first=True)
            for _ in range(2)
        )
        self.output = torch.nn.Linear(WIDTH, WORDS) if is_last else None

    def forward(self, x):
        x = x if self.embedding is None else self.embedding(x)
        for layer in self.layers:
            x = layer(x)
        return x if self.output is None else self.output(x)


def loss_of(output, target):
    """Cross entropy over all words."""
    return torch.nn.functional.cross_entropy(output.reshape(-1, WORDS), target.reshape(-1))


dist.init_process_group("gloo")
rank, ranks = dist.get_rank(), dist.get_world_size()
torch.manual_seed(rank)
model = Stage(rank == 0, rank == ranks - 1)
stage = PipelineStage(model, rank, ranks, torch.device("cpu"))
schedule = ScheduleGPipe(stage, n_microbatches=PARTS, loss_fn=loss_of)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
generator = torch.Generator().manual_seed(0)
steps, begin = 0, 0.0
for _ in range(STEPS):
    words = torch.randint(WORDS, (BATCH, LENGTH), generator=generator)
    optimizer.zero_grad()
    if rank == 0:
        schedule.step(words)
    else:
        schedule.step(target=words, losses=[])
    optimizer.step()
    steps += 1
    begin = begin or time.time()
if rank == ranks - 1:
    print("steps", steps)
    print(f"samples/s {BATCH * (steps - 1) / (time.time() - begin):.1f}", flush=True)
dist.destroy_process_group()
