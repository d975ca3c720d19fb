"""PyTorch that trains in a thread other than the first."""

from collections.abc import Callable

import numpy as np

from perfscope.agent.perfscope_agent.recorder import Phase
from perfscope.readers.recording.reader import open_recording
from tests.agent.jobs import Job
from tests.support.environments import Environment

IN_A_THREAD = """
import os, threading
import torch
import torch.distributed as dist

def train():
    model = torch.nn.Linear(64, 64)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(20):
        model(torch.randn(16, 64)).sum().backward()
        optimizer.step()
        sum(range(200_000))

dist.init_process_group("gloo", "file://" + os.path.abspath("store"), rank=0, world_size=1)
waiting = threading.Timer(0.5, train)
waiting.start()
while waiting.is_alive():
    waiting.join(0.1)
dist.destroy_process_group()
os._exit(3)
"""


def test_a_thread_that_trains_is_the_one_of_the_program(
    job: Callable[..., Job], environment: Callable[[str], Environment]
) -> None:
    """The first thread only waits for it; what it did before is part of the same sequence."""
    done = job(IN_A_THREAD, python=environment("torch").python)
    assert done.exit_code == 3, done.stderr
    [rank] = open_recording(done.directory).ranks
    assert rank.main_tid != rank.pid
    assert len(rank.steps) == 20
    of_main = rank.phases[rank.phases["tid"] == rank.main_tid]
    assert np.count_nonzero(of_main["kind"] == Phase.BACKWARD) == 20
    stacks = rank.stacks[rank.stacks["tid"] == rank.main_tid]
    assert stacks["t"].min() < of_main["t0"].min()
    grown = np.diff(rank.main_samples["cpu_ns"])
    assert len(grown) > 5
    assert grown.min() >= 0
