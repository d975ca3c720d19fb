"""Digits told apart by convolutions, with a test after each epoch and a scheduler, as MNIST's."""

import time

import torch
from torch import nn

SAMPLES, BATCH, EPOCHS = 2048, 64, 2


class Net(nn.Module):
    """Two convolutions, dropout and two layers."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(1, 8, 3), nn.Conv2d(8, 16, 3)
        self.drop1, self.drop2 = nn.Dropout(0.25), nn.Dropout(0.5)
        self.fc1, self.fc2 = nn.Linear(2304, 64), nn.Linear(64, 10)

    def forward(self, x):
        x = nn.functional.relu(self.conv1(x))
        x = nn.functional.max_pool2d(nn.functional.relu(self.conv2(x)), 2)
        x = self.drop2(nn.functional.relu(self.fc1(self.drop1(torch.flatten(x, 1)))))
        return nn.functional.log_softmax(self.fc2(x), dim=1)


def train(model, loader, optimizer, epoch):
    """One epoch; returns its steps."""
    model.train()
    for index, (data, target) in enumerate(loader):
        optimizer.zero_grad()
        loss = nn.functional.nll_loss(model(data), target)
        loss.backward()
        optimizer.step()
        if index % 10 == 0:
            print(f"epoch {epoch} batch {index} loss {loss.item():.4f}")
    return len(loader)


def test(model, loader):
    """Prints how many are right."""
    model.eval()
    correct = 0
    with torch.no_grad():
        for data, target in loader:
            correct += model(data).argmax(dim=1).eq(target).sum().item()
    print(f"right {correct}")


torch.set_num_threads(1)
torch.manual_seed(1)
images = torch.randn(SAMPLES, 1, 28, 28)
digits = torch.utils.data.TensorDataset(images, torch.randint(10, (SAMPLES,)))
held_back = torch.utils.data.Subset(digits, range(256))
train_loader = torch.utils.data.DataLoader(digits, batch_size=BATCH, shuffle=True)
test_loader = torch.utils.data.DataLoader(held_back, batch_size=256)
model = Net()
optimizer = torch.optim.Adadelta(model.parameters(), lr=1.0)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.7)
steps = 0
spent = 0.0
for epoch in range(EPOCHS):
    begin = time.time()
    steps += train(model, train_loader, optimizer, epoch)
    spent += time.time() - begin
    test(model, test_loader)
    scheduler.step()
torch.save(model.state_dict(), "digits.pt")
print("steps", steps)
print(f"samples/s {SAMPLES * EPOCHS / spent:.1f}", flush=True)
