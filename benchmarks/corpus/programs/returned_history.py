"""Letters foretold by an LSTM; one function trains and validates, and returns its losses."""

import time

import torch
from torch import nn

LENGTH, BATCH, EPOCHS, EVERY, HELD = 32, 16, 3, 5, 4
TEXT = "the line that calls the training gets what it returns behind the last step; " * 220


class Letters(torch.utils.data.Dataset):
    """Pieces of a text, and the same one letter on."""

    def __init__(self, text):
        self.codes = torch.tensor([ord(one) for one in text])

    def __len__(self):
        return (len(self.codes) - 1) // LENGTH

    def __getitem__(self, number):
        begin = number * LENGTH
        return self.codes[begin : begin + LENGTH], self.codes[begin + 1 : begin + LENGTH + 1]


class Net(nn.Module):
    """An embedding, an LSTM, and a layer."""

    def __init__(self):
        super().__init__()
        self.embed, self.lstm = nn.Embedding(128, 48), nn.LSTM(48, 96, batch_first=True)
        self.head = nn.Linear(96, 128)

    def forward(self, x):
        return self.head(self.lstm(self.embed(x))[0])


def loss_of(net, x, y):
    """The mean over all letters of a batch."""
    return nn.functional.cross_entropy(net(x).flatten(0, 1), y.flatten())


def mean_loss(net, loader):
    """Of the first batches of a loader."""
    total = 0.0
    for number, (x, y) in enumerate(loader):
        if number == HELD:
            break
        total += loss_of(net, x, y).item()
    return total / HELD


def fit(net, loader, held_back, optimizer):
    """Trains; after every few steps both losses are found."""
    history, steps, spent = [], 0, 0.0
    for epoch in range(EPOCHS):
        net.train()
        begin = time.time()
        for x, y in loader:
            optimizer.zero_grad()
            loss = loss_of(net, x, y)
            loss.backward()
            optimizer.step()
            steps += 1
            if steps % EVERY == 0:
                spent += time.time() - begin
                net.eval()
                with torch.no_grad():
                    losses = mean_loss(net, loader), mean_loss(net, held_back)
                net.train()
                history.append(losses)
                begin = time.time()
        spent = spent + time.time() - begin if epoch else 0.0
        print(f"epoch {epoch} losses {history[-1][0]:.3f} {history[-1][1]:.3f}")
    return history, steps, spent


torch.set_num_threads(1)
torch.manual_seed(7)
cut = len(TEXT) * 9 // 10
loaders = [
    torch.utils.data.DataLoader(Letters(part), batch_size=BATCH, shuffle=True, drop_last=True)
    for part in (TEXT[:cut], TEXT[cut:])
]
net = Net()
history, steps, spent = fit(net, *loaders, torch.optim.AdamW(net.parameters(), lr=4e-3))
print("evaluations", len(history), "best", min(held for _, held in history) < 3.0)
print("steps", steps)
print("rate from step", steps // EPOCHS)
print(f"samples/s {steps // EPOCHS * (EPOCHS - 1) * BATCH / spent:.1f}", flush=True)
