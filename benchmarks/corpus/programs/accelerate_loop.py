"""An image classifier in a loop with Accelerate: prepare, gather for metrics, save the state."""

import time

import torch
from accelerate import Accelerator
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

BATCH, EPOCHS, EXAMPLES = 16, 3, 1024

accelerator = Accelerator(cpu=True, gradient_accumulation_steps=2)
torch.set_num_threads(1)
torch.manual_seed(0)
images, labels = torch.randn(EXAMPLES, 3, 24, 24), torch.randint(10, (EXAMPLES,))
training = DataLoader(TensorDataset(images, labels), BATCH, shuffle=True)
testing = DataLoader(TensorDataset(images[:128], labels[:128]), BATCH)
layers = [nn.Conv2d(3, 16, 3), nn.ReLU(), nn.Conv2d(16, 16, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1)]
model = nn.Sequential(*layers, nn.Flatten(), nn.Linear(16, 10))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 1e-2, total_steps=400)
model, optimizer, training, testing, schedule = accelerator.prepare(
    model, optimizer, training, testing, schedule
)
steps, seconds = 0, []
for epoch in range(EPOCHS):
    model.train()
    begin = time.time()
    for inputs, targets in training:
        with accelerator.accumulate(model):
            loss = nn.functional.cross_entropy(model(inputs), targets)
            accelerator.backward(loss)
            optimizer.step()
            schedule.step()
            optimizer.zero_grad()
            steps += accelerator.sync_gradients
    seconds.append(time.time() - begin)
    model.eval()
    right = 0
    for inputs, targets in testing:
        with torch.no_grad():
            answers = model(inputs).argmax(dim=-1)
        answers, targets = accelerator.gather_for_metrics((answers, targets))
        right += int((answers == targets).sum())
    accelerator.print(f"epoch {epoch}: {right} of 128")
    accelerator.save_state(f"epoch_{epoch}")
accelerator.print("steps", steps)
accelerator.print("rate from step", steps // EPOCHS)
accelerator.print(f"samples/s {EXAMPLES * (EPOCHS - 1) / sum(seconds[1:]):.1f}", flush=True)
accelerator.end_training()
