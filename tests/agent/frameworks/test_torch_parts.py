"""Batches that each rank loads as a whole and trains on a part of."""

from typing import Any

import pytest

from tests.agent.frameworks.torch_forks import ranks_of
from tests.agent.jobs import Process

# One process that is told of a second rank: nothing is exchanged.
PROGRAM = """
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.testing._internal.distributed.fake_pg import FakeStore
from torch.utils.data import DataLoader

def part(batch):
    return [[batch[: (len(batch) + 1) // 2]]]
def played(batch):
    with torch.no_grad():
        model(batch)
    return part(batch)
def whole(batch):
    return [[batch]]
def halves(batch):
    return [batch.chunk(2)]
def updates(batch):  # of which each takes a part of a batch of this rank
    return [[one] for one in batch.chunk(2)]
def turned(batch):  # time first and samples second, in as many steps as a rank's part has samples
    return [[batch.T[:4]]]
def third(batch):
    return [[batch[: len(batch) // 3]]]

dist.init_process_group("fake", store=FakeStore(), rank=0, world_size=2)
divide = NAME
count = 8 + 8 + (8 if divide is turned else 7)
model = DistributedDataParallel(torch.nn.Linear(8 if divide is turned else 5, 1))
optimizer = torch.optim.SGD(model.parameters())
data = torch.arange(5.0 * count).reshape(count, 5)
for batch in DataLoader(data * SCALE, batch_size=8):
    for inputs in divide(batch):
        optimizer.zero_grad()
        with model.no_sync():
            for each in inputs:
                model(each).sum().backward()
        optimizer.step()
dist.destroy_process_group()
"""
DELIVERED = {
    "part": [8, 8, 7],
    "played": [8, 8, 7],
    "whole": [8, 8, 7],
    "halves": [8, 8, 7],
    "updates": [8, 0, 8, 0, 7, 0],
    "turned": [8, 8, 8],
    "third": [8, 8, 7],
}
DIVIDED = {"part": (3, 0), "played": (3, 0), "updates": (3, 3)}
"""Steps that took a rank's part of what was loaded for them, and others."""


@pytest.fixture(scope="module")
def ranks(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Process]:
    """What was written where batches are divided in each way, and of one with other data."""
    programs = {name: PROGRAM.replace("NAME", name).replace("SCALE", "1.0") for name in DELIVERED}
    programs["other data"] = programs["part"].replace("data * 1.0", "data * 2.0")
    variables = {"PERFSCOPE_KEY": "07" * 16}
    found = ranks_of(programs, tmp_path_factory.mktemp("parts"), variables)
    notes = [note for rank in found.values() for note in rank.metadata["agent_notes"]]
    assert [note for note in notes if not note.startswith("recorded although")] == []
    return found


def seen(rank: Process) -> dict[str, Any]:
    return dict(rank.metadata["frameworks"]["torch"]["divided"])


@pytest.mark.parametrize("divided", DELIVERED)
def test_samples_are_what_the_loader_delivers(ranks: dict[str, Process], divided: str) -> None:
    """As a rank cannot know what the others load."""
    assert sum(step.sent for step in ranks[divided].steps()) == sum(DELIVERED[divided])


@pytest.mark.parametrize("divided", DELIVERED)
def test_steps_are_told_in_which_a_model_is_given_the_part_of_a_rank(
    ranks: dict[str, Process], divided: str
) -> None:
    told = seen(ranks[divided])
    assert told["ranks"] == 2
    assert (told["steps"], told["others"]) == DIVIDED.get(divided, (0, 3))


def test_digests_tell_whether_two_ranks_loaded_the_same(ranks: dict[str, Process]) -> None:
    """Those of the batches after the first, before which no model is known."""
    mine, same, other = (seen(ranks[name])["digests"] for name in ("part", "played", "other data"))
    assert len(mine) == len(set(mine)) == 2
    assert mine == same
    assert not set(mine) & set(other)
    assert seen(ranks["whole"])["digests"] == []
