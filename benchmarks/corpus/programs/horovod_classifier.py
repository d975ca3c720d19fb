"""A classifier trained with Horovod's optimizer, as its PyTorch examples do."""

import time

import horovod.torch as hvd
import torch
from torch import nn

SAMPLES, BATCH, EPOCHS = 2048, 32, 2


class Net(nn.Module):
    """Two convolutions and two layers."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(1, 10, 5), nn.Conv2d(10, 20, 5)
        self.fc1, self.fc2 = nn.Linear(320, 50), nn.Linear(50, 10)

    def forward(self, x):
        x = nn.functional.relu(nn.functional.max_pool2d(self.conv1(x), 2))
        x = nn.functional.relu(nn.functional.max_pool2d(self.conv2(x), 2))
        return nn.functional.log_softmax(self.fc2(nn.functional.relu(self.fc1(x.view(-1, 320)))), 1)


def test(model, loader):
    """Accuracy, averaged over the ranks."""
    model.eval()
    correct = 0
    with torch.no_grad():
        for images, labels in loader:
            correct += (model(images).argmax(1) == labels).sum().item()
    return hvd.allreduce(torch.tensor(float(correct)), name="accuracy").item()


hvd.init()
torch.set_num_threads(1)
torch.manual_seed(42)
images = torch.randn(SAMPLES, 1, 28, 28)
data = torch.utils.data.TensorDataset(images, torch.randint(10, (SAMPLES,)))
sampler = torch.utils.data.distributed.DistributedSampler(data, hvd.size(), hvd.rank())
loader = torch.utils.data.DataLoader(data, batch_size=BATCH, sampler=sampler)
model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.5)
hvd.broadcast_parameters(model.state_dict(), root_rank=0)
hvd.broadcast_optimizer_state(optimizer, root_rank=0)
optimizer = hvd.DistributedOptimizer(optimizer, named_parameters=model.named_parameters())
steps, begin = 0, time.time()
for epoch in range(EPOCHS):
    model.train()
    sampler.set_epoch(epoch)
    for images, labels in loader:
        optimizer.zero_grad()
        nn.functional.nll_loss(model(images), labels).backward()
        optimizer.step()
        steps += 1
    accuracy = test(model, loader)
    if hvd.rank() == 0:
        print(f"epoch {epoch}: {accuracy:.1f} right")
if hvd.rank() == 0:
    print("steps", steps)
    print(f"seconds {time.time() - begin:.3f}", flush=True)
