"""Waves continued by two LSTM cells and an optimizer that is given a closure, as the example is."""

import torch
from torch import nn

WAVES, LENGTH, STEPS = 12, 40, 8


class Sequence(nn.Module):
    """Two cells and a layer, one moment after the other."""

    def __init__(self) -> None:
        super().__init__()
        self.lstm1, self.lstm2 = nn.LSTMCell(1, 24), nn.LSTMCell(24, 24)
        self.linear = nn.Linear(24, 1)

    def forward(self, waves, future=0):
        first = second = (torch.zeros(len(waves), 24), torch.zeros(len(waves), 24))
        outputs = []
        for moment in range(waves.size(1) + future):
            known = moment < waves.size(1)
            first = self.lstm1(waves[:, moment : moment + 1] if known else outputs[-1], first)
            second = self.lstm2(first[0], second)
            outputs.append(self.linear(second[0]))
        return torch.cat(outputs, dim=1)


torch.set_num_threads(1)
torch.manual_seed(0)
moments = torch.arange(LENGTH) + torch.randint(-80, 80, (WAVES, 1))
waves = torch.sin(moments / 20)
model, criterion = Sequence(), nn.MSELoss()
optimizer = torch.optim.LBFGS(model.parameters(), lr=0.8, max_iter=6)


def closure():
    """The loss and its gradients."""
    optimizer.zero_grad()
    loss = criterion(model(waves[:, :-1]), waves[:, 1:])
    loss.backward()
    return loss


for step in range(STEPS):
    loss = optimizer.step(closure)
    with torch.no_grad():
        future = criterion(model(waves[:3, :-1], future=10)[:, : LENGTH - 1], waves[:3, 1:])
    print(f"step {step} loss {loss.item():.5f} test {future.item():.5f}")
print("steps", STEPS, flush=True)
