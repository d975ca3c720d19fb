"""What the agent does in a step of PyTorch, without the step; prints us of CPU time of each kind.

The functions that it puts around PyTorch's run one after the other, and what they are around does
nothing, but for an update of the parameters whose own time is taken off. In a program what it does
in between leaves them less of the caches.
"""

import sys
import time
from collections.abc import Callable
from types import SimpleNamespace

import torch

REPEATS, BURSTS = 500, 20
FIRST = 256
"""Steps in which a loop that updates its parameters itself is looked at each time."""

hooks = sys.modules["perfscope_agent.frameworks.torch_optimizers"]
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters())
loss = model(torch.ones(8, 4)).sum()
around = SimpleNamespace(backward=lambda _loss: None)
hooks.torch.install_backward(around)


class Batches:
    """An iterator that looks like a loader's."""

    _num_yielded = 0
    batch = torch.ones(8, 4), torch.ones(8)

    def __next__(self) -> tuple[torch.Tensor, torch.Tensor]:
        self._num_yielded += 1
        return self.batch


loader = SimpleNamespace(_BaseDataLoaderIter=Batches, DataLoader=SimpleNamespace(__iter__=iter))
hooks.torch.install_loader(loader)
batches = Batches()


def update() -> None:
    """What a program does to its parameters."""
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.sub_(0.001)


def own_update() -> None:
    """A step that updates the parameters itself."""
    around.backward(loss)
    update()


def with_optimizer() -> None:
    """A step of an optimizer."""
    around.backward(loss)
    hooks.torch.before_optimizer(optimizer, (), {})
    hooks._after_optimizer(optimizer, (), {})


def with_loader() -> None:
    """The same, of a batch that a loader delivers."""
    next(batches)
    with_optimizer()


def us_in(step: Callable[[], None], repeats: int) -> float:
    """CPU time of one step, the mean."""
    before = time.thread_time_ns()
    for _ in range(repeats):
        step()
    return (time.thread_time_ns() - before) / repeats / 1000


def us_each(step: Callable[[], None]) -> float:
    """CPU time of one step, the median of some bursts."""
    return sorted(us_in(step, REPEATS) for _ in range(BURSTS))[BURSTS // 2]


updates_us = us_each(update)
print("own_update_first", round(us_in(own_update, FIRST) - updates_us, 2))
for kind in (own_update, with_optimizer, with_loader):
    us_each(kind)  # what is looked at in the first steps
    print(kind.__name__, round(us_each(kind) - updates_us * (kind is own_update), 2))
