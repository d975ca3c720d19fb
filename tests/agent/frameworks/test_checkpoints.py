"""Checkpoints of several threads: each thread's outermost save counts."""

import pytest

from perfscope.agent.perfscope_agent.recorder import Phase
from tests.agent.frameworks.torch_forks import ran
from tests.agent.jobs import RANK_ZERO, Process

# The thread's save ends only after the main thread's has.
SLOW = """
import io, threading
import torch

begun, done = threading.Event(), threading.Event()

class Slow(io.BytesIO):
    def write(self, data):
        begun.set()
        done.wait()
        return super().write(data)

model = torch.nn.Linear(2, 2)
thread = threading.Thread(target=torch.save, args=(model.state_dict(), Slow()))
"""
SAVING = """
thread.start()
begun.wait()
torch.save(model.state_dict(), io.BytesIO())
done.set()
thread.join()
torch.save(model.state_dict(), io.BytesIO())
"""

EVALUATING = """
begun.clear(), done.clear()
thread = threading.Thread(target=torch.save, args=(model.state_dict(), Slow()))
from torch.utils.data import DataLoader, TensorDataset
batches = DataLoader(TensorDataset(torch.ones(8, 2)), batch_size=4)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

def train():
    model.train()
    for (x,) in batches:
        optimizer.zero_grad()
        model(x).sum().backward()
        optimizer.step()

train()
thread.start()
begun.wait()
model.eval()
with torch.no_grad():
    for (x,) in batches:
        model(x)
train()
done.set()
thread.join()
"""


@pytest.fixture(scope="module")
def rank(tmp_path_factory: pytest.TempPathFactory) -> Process:
    """What was written about a program that does the one and then the other."""
    place = tmp_path_factory.mktemp("checkpoints")
    done = ran(SLOW + SAVING + EVALUATING, place, variables=RANK_ZERO)
    (rank,) = done.of_role("rank")
    return rank


def test_a_thread_that_saves_hides_no_other_save(rank: Process) -> None:
    (name,) = {name for name, kind in rank.phases() if kind == Phase.CHECKPOINT}
    own = [record for record in rank.phase_records(name) if record.tid == rank.metadata["pid"]]
    assert (len(rank.phase_records(name)), len(own)) == (4, 2)


def test_what_is_evaluated_while_a_thread_saves_is_told(rank: Process) -> None:
    assert Phase.EVALUATE in {kind for _, kind in rank.phases()}
