"""Batches that each rank loads as a whole and trains on a part of."""

import pytest

from tests.agent.jobs import RANK_ZERO, run
from tests.support import environments

# One process that is told of a second rank: nothing is exchanged.
PROGRAM = """
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.testing._internal.distributed.fake_pg import FakeStore
from torch.utils.data import DataLoader

def part(batch):
    return [batch[: (len(batch) + 1) // 2]]
def played(batch):
    with torch.no_grad():
        model(batch)
    return part(batch)
def whole(batch):
    return [batch]
def halves(batch):
    return batch.chunk(2)
def turned(batch):  # time first and samples second, in as many steps as a rank's part has samples
    return [batch.T[:4]]
def third(batch):
    return [batch[: len(batch) // 3]]

dist.init_process_group("fake", store=FakeStore(), rank=0, world_size=2)
for divide in part, played, whole, halves, turned, third:
    model = DistributedDataParallel(torch.nn.Linear(8 if divide is turned else 5, 1))
    optimizer = torch.optim.SGD(model.parameters())
    for batch in DataLoader(torch.ones(8 + 8 + (8 if divide is turned else 7), 5), batch_size=8):
        optimizer.zero_grad()
        with model.no_sync():
            for each in divide(batch):
                model(each).sum().backward()
        optimizer.step()
dist.destroy_process_group()
"""
EXPECTED = {
    "part": [4, 4, 4],
    "played": [4, 4, 4],
    "whole": [8, 8, 7],
    "halves": [8, 8, 7],
    "turned": [8, 8, 8],
    "third": [8, 8, 7],
}


@pytest.fixture(scope="module")
def samples(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[int]]:
    """Samples of the three steps in which batches are divided in each way."""
    place = tmp_path_factory.mktemp("parts")
    (place / "program.py").write_text(PROGRAM, encoding="utf-8")
    python = environments.environment("torch").python
    job = run([place / "program.py"], place / "trace", python=python, variables=RANK_ZERO)
    assert job.exit_code == 0, job.stderr
    (rank,) = job.of_role("rank")
    assert rank.metadata["agent_notes"] == []
    found = [step.sent for step in rank.steps()]
    assert len(found) == 3 * len(EXPECTED)
    return {name: found[3 * at : 3 * at + 3] for at, name in enumerate(EXPECTED)}


@pytest.mark.parametrize("divided", EXPECTED)
def test_samples_are_those_that_the_model_of_a_rank_is_given(
    samples: dict[str, list[int]], divided: str
) -> None:
    assert samples[divided] == EXPECTED[divided]
