"""A classifier under torchrun that goes on from its snapshot when its workers are started anew."""

import os
import time
from pathlib import Path

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

BATCH, EPOCHS, EXAMPLES, FEATURES, CLASSES = 32, 12, 1280, 256, 10
SNAPSHOT = Path("snapshot.pt").resolve()

dist.init_process_group("gloo")
rank, ranks = dist.get_rank(), dist.get_world_size()
attempt = int(os.environ["TORCHELASTIC_RESTART_COUNT"])
torch.manual_seed(0)
model = torch.nn.Sequential(
    torch.nn.Linear(FEATURES, 512), torch.nn.ReLU(), torch.nn.Linear(512, CLASSES)
)
first = 0
if SNAPSHOT.exists():
    snapshot = torch.load(SNAPSHOT)
    model.load_state_dict(snapshot["model"])
    first = snapshot["epoch"] + 1
model = DistributedDataParallel(model)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
inputs = torch.randn(EXAMPLES, FEATURES)
examples = torch.utils.data.TensorDataset(inputs, inputs[:, :CLASSES].argmax(dim=1))
sampler = torch.utils.data.DistributedSampler(examples, ranks, rank)
loader = torch.utils.data.DataLoader(examples, BATCH, sampler=sampler)
steps, seconds = 0, []
for epoch in range(first, EPOCHS):
    sampler.set_epoch(epoch)
    begin = time.time()
    for images, labels in loader:
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(images), labels).backward()
        optimizer.step()
        steps += 1
        if attempt == 0 and rank == 1 and steps == 50:
            print("a worker fails", flush=True)
            raise SystemExit(3)
    seconds.append(time.time() - begin)
    if rank == 0:
        torch.save({"model": model.module.state_dict(), "epoch": epoch}, SNAPSHOT)
        print(f"epoch {epoch}", flush=True)
if rank == 0:
    SNAPSHOT.unlink()
    print("steps", steps)
    print(f"samples/s {BATCH * ranks * steps / sum(seconds):.1f}", flush=True)
dist.destroy_process_group()
