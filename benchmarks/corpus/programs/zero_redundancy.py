"""A classifier whose optimizer's state is divided over the ranks by DeepSpeed, on CPUs."""

import os
import time

os.environ.setdefault("DS_ACCELERATOR", "cpu")

import deepspeed
import torch

BATCH, EPOCHS, EXAMPLES, FEATURES, CLASSES = 16, 12, 640, 128, 10

# an extension for exchange in shared memory would be compiled first, for minutes
deepspeed.ops.__compatible_ops__["deepspeed_shm_comm"] = False

torch.manual_seed(0)
model = torch.nn.Sequential(
    torch.nn.Linear(FEATURES, 256), torch.nn.ReLU(), torch.nn.Linear(256, CLASSES)
)
settings = {
    "train_micro_batch_size_per_gpu": BATCH,
    "optimizer": {"type": "Adam", "params": {"lr": 1e-3, "torch_adam": True}},
    "zero_optimization": {"stage": 1},
}
inputs = torch.randn(EXAMPLES, FEATURES)
examples = torch.utils.data.TensorDataset(inputs, inputs[:, :CLASSES].argmax(dim=1))
deepspeed.init_distributed("gloo")
engine, _, loader, _ = deepspeed.initialize(
    model=model, model_parameters=model.parameters(), training_data=examples, config=settings
)
ranks, steps, seconds = torch.distributed.get_world_size(), 0, []
for _epoch in range(EPOCHS):
    begin = time.time()
    for images, labels in loader:
        loss = torch.nn.functional.cross_entropy(engine(images), labels)
        engine.backward(loss)
        engine.step()
        steps += 1
    seconds.append(time.time() - begin)
if torch.distributed.get_rank() == 0:
    print("steps", steps)
    print("rate from step", steps // EPOCHS)
    print(f"samples/s {BATCH * ranks * steps / EPOCHS * (EPOCHS - 1) / sum(seconds[1:]):.1f}")
