"""A polynomial fitted with an update by hand until the loss is small, as the regression example."""

import itertools
import time

import torch

DEGREE, BATCH = 4, 512
torch.set_num_threads(1)
torch.manual_seed(0)
weights, bias = torch.randn(DEGREE, 1) * 5, torch.randn(1) * 5


def get_batch():
    """Powers of random numbers and the polynomial's values."""
    random = torch.randn(BATCH).unsqueeze(1)
    x = torch.cat([random**power for power in range(1, DEGREE + 1)], 1)
    return x, x.mm(weights) + bias


model = torch.nn.Linear(DEGREE, 1)
begin = time.time()
for batch in itertools.count(1):
    x, y = get_batch()
    model.zero_grad()
    loss = torch.nn.functional.smooth_l1_loss(model(x), y)
    loss.backward()
    for parameter in model.parameters():
        parameter.data.add_(-0.1 * parameter.grad)
    if loss.item() < 1e-2 or batch == 900:
        break
print(f"loss {loss.item():.4f} after {batch} batches")
print("steps", batch)
print(f"samples/s {batch * BATCH / (time.time() - begin):.1f}", flush=True)
