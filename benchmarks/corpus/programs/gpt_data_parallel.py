"""A small GPT trained with DistributedDataParallel; the first rank estimates the loss."""

import os
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

WIDTH, BLOCK, BATCH, STEPS, EVERY = 64, 32, 16, 40, 10


class MLP(nn.Module):
    """Two layers."""

    def __init__(self) -> None:
        super().__init__()
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        return self.down(nn.functional.gelu(self.up(x)))


class Block(nn.Module):
    """Attention and MLP."""

    def __init__(self) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(WIDTH, 4, batch_first=True)
        self.mlp = MLP()

    def forward(self, x):
        x = x + self.attention(x, x, x, need_weights=False)[0]
        return x + self.mlp(x)


class GPT(nn.Module):
    """Embedding, blocks, head."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(100, WIDTH)
        self.blocks = nn.Sequential(Block(), Block())
        self.head = nn.Linear(WIDTH, 100)

    def forward(self, tokens, targets):
        logits = self.head(self.blocks(self.embedding(tokens)))
        return nn.functional.cross_entropy(logits.view(-1, 100), targets.reshape(-1))


data = torch.randint(100, (20000,), generator=torch.Generator().manual_seed(3))


def get_batch():
    """Random windows of the text."""
    starts = torch.randint(len(data) - BLOCK - 1, (BATCH,))
    windows = torch.stack([data[start : start + BLOCK + 1] for start in starts])
    return windows[:, :-1], windows[:, 1:]


@torch.no_grad()
def estimate_loss(model):
    """Mean loss of a few batches."""
    model.eval()
    losses = [model(*get_batch()).item() for _ in range(30)]
    model.train()
    return sum(losses) / len(losses)


dist.init_process_group("gloo")
rank = int(os.environ["RANK"])
torch.set_num_threads(1)
torch.manual_seed(rank)
model = DistributedDataParallel(GPT())
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
begin = time.time()
for step in range(STEPS):
    if step % EVERY == 0 and rank == 0:
        print(f"step {step}: loss {estimate_loss(model.module):.3f}")
    loss = model(*get_batch())
    loss.backward()
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
if rank == 0:
    print("steps", STEPS)
    print(f"seconds {time.time() - begin:.3f}", flush=True)
dist.destroy_process_group()
