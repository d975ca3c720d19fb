"""Actor and critic that learn to balance a pole, an episode a step, as the examples for it do."""

import math
import random

import torch
from torch import nn

EPISODES, LONGEST = 60, 60


class Pole:
    """A pole on a cart, by Euler's method."""

    def reset(self):
        """Almost upright."""
        self.state = [random.uniform(-0.05, 0.05) for _ in range(4)]
        return self.state

    def step(self, action):
        """The next state, and whether the pole has fallen."""
        place, speed, angle, turn = self.state
        force = 10.0 if action else -10.0
        push = (force + 0.05 * turn * turn * math.sin(angle)) / 1.1
        bend = (9.8 * math.sin(angle) - math.cos(angle) * push) / 0.62
        speed, turn = speed + 0.02 * push, turn + 0.02 * bend
        self.state = [place + 0.02 * speed, speed, angle + 0.02 * turn, turn]
        return self.state, abs(self.state[2]) > 0.21


class Policy(nn.Module):
    """Actor and critic over one layer."""

    def __init__(self) -> None:
        super().__init__()
        self.layer, self.actor, self.critic = (
            nn.Linear(4, 128),
            nn.Linear(128, 2),
            nn.Linear(128, 1),
        )

    def forward(self, x):
        x = nn.functional.relu(self.layer(x))
        return nn.functional.softmax(self.actor(x), dim=-1), self.critic(x)


torch.set_num_threads(1)
torch.manual_seed(543)
random.seed(543)
model, pole = Policy(), Pole()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-2)
for episode in range(EPISODES):
    state, saved = pole.reset(), []
    for _ in range(LONGEST):
        chances, value = model(torch.tensor(state))
        chosen = torch.distributions.Categorical(chances)
        action = chosen.sample()
        state, is_over = pole.step(action.item())
        saved.append((chosen.log_prob(action), value))
        if is_over:
            break
    returns = torch.tensor([sum(0.99**k for k in range(len(saved) - i)) for i in range(len(saved))])
    returns = (returns - returns.mean()) / (returns.std() + 1e-6)
    losses = []
    for (chance, value), worth in zip(saved, returns, strict=True):
        losses.append(-chance * (worth - value.item()))
        losses.append(nn.functional.smooth_l1_loss(value, worth.view(1)))
    optimizer.zero_grad()
    torch.stack([loss.sum() for loss in losses]).sum().backward()
    optimizer.step()
    if episode % 20 == 0:
        print(f"episode {episode} length {len(saved)}")
print("steps", EPISODES, flush=True)
