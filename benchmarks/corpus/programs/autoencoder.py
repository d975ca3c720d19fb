"""A variational autoencoder whose epochs end with a test and a sample, as the public one is."""

import torch
from torch import nn

SAMPLES, BATCH, EPOCHS = 2560, 128, 3


class Autoencoder(nn.Module):
    """An encoder to mean and variance, and a decoder."""

    def __init__(self) -> None:
        super().__init__()
        self.fc1, self.mean, self.spread = (
            nn.Linear(784, 200),
            nn.Linear(200, 20),
            nn.Linear(200, 20),
        )
        self.fc3, self.fc4 = nn.Linear(20, 200), nn.Linear(200, 784)

    def decode(self, z):
        """An image from its code."""
        return torch.sigmoid(self.fc4(nn.functional.relu(self.fc3(z))))

    def forward(self, x):
        hidden = nn.functional.relu(self.fc1(x.view(-1, 784)))
        mean, spread = self.mean(hidden), self.spread(hidden)
        z = mean + torch.randn_like(spread) * torch.exp(0.5 * spread)
        return self.decode(z), mean, spread


def loss_of(result, x):
    """Reconstruction and divergence."""
    found, mean, spread = result
    error = nn.functional.binary_cross_entropy(found, x.view(-1, 784), reduction="sum")
    return error - 0.5 * torch.sum(1 + spread - mean.pow(2) - spread.exp())


torch.set_num_threads(1)
torch.manual_seed(1)
data = torch.utils.data.TensorDataset(torch.rand(SAMPLES, 1, 28, 28))
loader = torch.utils.data.DataLoader(data, batch_size=BATCH, shuffle=True)
model = Autoencoder()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
steps = 0
for epoch in range(EPOCHS):
    model.train()
    for (images,) in loader:
        optimizer.zero_grad()
        loss = loss_of(model(images), images)
        loss.backward()
        optimizer.step()
        steps += 1
    model.eval()
    with torch.no_grad():
        tested = sum(loss_of(model(images), images).item() for (images,) in loader)
        model.decode(torch.randn(64, 20))
    print(f"epoch {epoch} loss {loss.item():.2f} test {tested / SAMPLES:.2f}")
print("steps", steps, flush=True)
