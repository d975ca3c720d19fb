"""Two networks trained against each other on noise of their own making, as DCGAN is."""

import time

import torch
from torch import nn

BATCH, NOISE, WIDTH, STEPS = 64, 16, 128, 80


def layers(inputs, outputs):
    """A network of two layers."""
    return nn.Sequential(nn.Linear(inputs, WIDTH), nn.LeakyReLU(0.2), nn.Linear(WIDTH, outputs))


torch.set_num_threads(1)
torch.manual_seed(999)
generator, discriminator = layers(NOISE, 32), layers(32, 1)
criterion = nn.BCEWithLogitsLoss()
real_label, fake_label = torch.ones(BATCH, 1), torch.zeros(BATCH, 1)
generator_optimizer = torch.optim.Adam(generator.parameters(), lr=0.0002)
discriminator_optimizer = torch.optim.Adam(discriminator.parameters(), lr=0.0002)
first = time.time()
for step in range(STEPS):
    if step == 1:
        first = time.time()
    discriminator.zero_grad()
    real_loss = criterion(discriminator(torch.randn(BATCH, 32) + 1), real_label)
    real_loss.backward()
    fake = generator(torch.randn(BATCH, NOISE))
    fake_loss = criterion(discriminator(fake.detach()), fake_label)
    fake_loss.backward()
    discriminator_optimizer.step()
    generator.zero_grad()
    loss = criterion(discriminator(fake), real_label)
    loss.backward()
    generator_optimizer.step()
    if step % 20 == 0:
        print(f"[{step}/{STEPS}] {real_loss + fake_loss:.4f} {loss:.4f}")
print("steps", STEPS)
print(f"samples/s {BATCH * (STEPS - 1) / (time.time() - first):.1f}", flush=True)
